package check

import (
	"cmp"
	"slices"

	"pennypost/internal/mail"
	"pennypost/internal/room/fold"
)

// Mark returns the events that mark what the caller wants marked. out says which messages are marked, and which are
// not; if none can be marked, the request is refused.
func (v *View) Mark(q mail.Marking, cold map[mail.ID]*fold.ArchivedRecord, out *mail.Marked) ([]mail.Event, error) {
	if err := v.comesBack(q, cold); err != nil {
		return nil, err
	}
	m := v.Me()
	if m == nil {
		return nil, cmp.Or(v.NotPerson(), v.NoAgent(v.Who))
	}
	events := v.Pulse()
	if q.All {
		events = append(events, v.markAll(m, q, out)...)
	} else {
		events = append(events, v.markSome(m, q, cold, out)...)
	}
	v.stillOpen(m, q, out)
	if !q.All && len(out.Marked)+len(out.Already) == 0 {
		return nil, v.noneMarked(q, *out)
	}
	return events, nil
}

// CheckMarking refuses a request that marks nothing, whatever the mailbox has.
func (v *Asker) CheckMarking(q mail.Marking, now mail.Time) error {
	switch q.Mark {
	case mail.MarkPresented, mail.MarkNotified, mail.MarkTold:
		if q.Door == "" {
			return mail.Errorf(mail.Invalid, "the mark %s needs a door", q.Mark)
		}
	default:
		if _, err := mail.ParseMark(string(q.Mark)); err != nil {
			return err
		}
	}
	if err := v.checkSnooze(q, now); err != nil {
		return err
	}
	if q.All == (len(q.IDs) > 0) {
		return mail.Errorf(mail.Invalid, "give either the ids of the messages to mark, or all")
	}
	return nil
}

// checkSnooze refuses agents: the end of a snooze is no event, so nothing would wake them then.
func (v *Asker) checkSnooze(q mail.Marking, now mail.Time) error {
	switch {
	case q.Mark != mail.MarkSnoozed && q.Until != 0:
		return mail.Errorf(mail.Invalid, "until is only for the mark snoozed, not for %s", q.Mark)
	case q.Mark != mail.MarkSnoozed:
		return nil
	case !v.IsUser():
		return v.NeedUser("snooze mail")
	case q.Until <= now || q.Until.Sub(now) > mail.MaxSnooze:
		return mail.Errorf(mail.Invalid,
			"the mark snoozed needs until, a time in the future, at most a year ahead. Nothing was marked")
	}
	return nil
}

func (v *View) noneMarked(q mail.Marking, out mail.Marked) error {
	if len(out.NotYours) > 0 {
		if r := v.Records[out.NotYours[0]]; r != nil && r.Taker() != nil {
			return TakenFirst(r, out.NotYours[0])
		}
		return mail.Errorf(mail.Denied, "%s is not in %s's mailbox, and nobody marks another's mail", out.NotYours[0],
			v.Who)
	}
	return mail.Errorf(mail.NotFound, "there is no message %q in room %s; nothing was marked", out.NotFound[0], v.Room)
}

// TakenFirst says who took a message for a role, which another reads now. r is nil if it has left the mailboxes.
func TakenFirst(r *fold.Record, id mail.ID) error {
	taker := "another holder of the role"
	if r != nil && r.Taker() != nil {
		taker = string(r.Taker().Name)
	}
	return mail.Errorf(mail.Denied, "%s was taken by %s, who read it first", id, taker)
}

// comesBack refuses a mark that would bring a message from the archive back to a mailbox. Archived messages stay
// there: a mark records how they stand.
func (v *View) comesBack(q mail.Marking, cold map[mail.ID]*fold.ArchivedRecord) error {
	if q.Mark != mail.MarkSnoozed && (q.Mark != mail.MarkUnread || q.InArchive) {
		return nil
	}
	for _, id := range q.IDs {
		if cold[id] != nil {
			return mail.Errorf(mail.Conflict,
				"%s is in the archive and cannot return as %s: nothing was marked. Archived messages can be read "+
					"(pennypost history --archive), answered, and marked read or archived", id, q.Mark)
		}
	}
	return nil
}

// markSome returns the receipts for the named messages.
func (v *View) markSome(m *fold.Member, q mail.Marking, cold map[mail.ID]*fold.ArchivedRecord,
	out *mail.Marked) []mail.Event {
	var events []mail.Event
	asked := make(map[mail.ID]bool, len(q.IDs))
	for _, id := range q.IDs {
		if asked[id] {
			continue
		}
		asked[id] = true
		r, old := v.Records[id], cold[id]
		yours := r != nil && (r.Reaches(m) || r.MarksOf(m) != nil)
		if r == nil && old != nil {
			r, yours = &old.Record, old.WasFor(m)
		}
		switch {
		case r == nil:
			out.NotFound = append(out.NotFound, id)
		case !yours:
			out.NotYours = append(out.NotYours, id)
		case !r.Changes(m, q.Mark, q.Until, v.Now):
			out.Already = append(out.Already, id)
		default:
			out.Marked = append(out.Marked, id)
			events = append(events, r.Receipts(m, q, v.Now)...)
		}
	}
	return events
}

// markAll returns the receipts for everything in the mailbox that the mark would change.
func (v *View) markAll(m *fold.Member, q mail.Marking, out *mail.Marked) []mail.Event {
	from := m.All
	if q.Mark == mail.MarkRead || q.Mark == mail.MarkSnoozed {
		from = m.Unread.List
	}
	if q.Mark == mail.MarkUnarchived {
		from = m.Rest
	}
	var events []mail.Event
	for _, r := range from {
		if (v.Visible(r, m, v.Now) || r.SettledBy(m)) && r.Changes(m, q.Mark, q.Until, v.Now) {
			out.Marked = append(out.Marked, r.Msg.ID)
			events = append(events, r.Receipts(m, q, v.Now)...)
		}
	}
	return events
}

// stillOpen says which of the messages that the caller marks read or archived are questions to it that it has not
// answered.
func (v *View) stillOpen(m *fold.Member, q mail.Marking, out *mail.Marked) {
	if q.Mark != mail.MarkRead && q.Mark != mail.MarkArchived {
		return
	}
	var open fold.List
	for _, id := range slices.Concat(out.Marked, out.Already) {
		if r := v.Records[id]; r != nil && r.Open() && r.Reaches(m) {
			open.Add(r)
		}
	}
	for _, r := range open {
		out.Open = append(out.Open, r.Msg.ID)
	}
}

// Note returns the events of the receipts that change something. The caller holds the state.
func (v *View) Note(receipts []mail.Receipt, cold map[mail.ID]*fold.ArchivedRecord) (events []mail.Event) {
	for i := range receipts {
		rc := &receipts[i]
		rec, m := v.Records[rc.Message], v.Known(rc.Reader.Signer())
		if rec == nil {
			old := cold[rc.Message]
			if old == nil || rc.Mark == mail.MarkSnoozed {
				continue
			}
			rec, m = &old.Record, old.MarksOfName(m).Who
		}
		if _, counts := rec.TakenBy(m); rc.Mark == mail.MarkRead && !counts {
			continue
		}
		if rc.Mark == mail.MarkNotified {
			rc.Machine = v.Machine
		}
		if rec.Changes(m, rc.Mark, rc.Until, v.Now) {
			events = append(events, mail.Event{At: v.Now, Receipt: rc})
		}
	}
	return events
}
