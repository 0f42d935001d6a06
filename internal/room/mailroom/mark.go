package mailroom

import (
	"context"
	"slices"

	"pennypost/internal/mail"
	"pennypost/internal/room/fold"
)

// Mark implements mail.Marker.
func (v *view) Mark(ctx context.Context, q mail.Marking) (mail.Marked, error) {
	if err := v.checkMarking(q, v.now()); err != nil {
		return mail.Marked{}, err
	}
	out := mail.Marked{Marked: []mail.ID{}}
	var events []mail.Event
	var cold map[mail.ID]*fold.ArchivedRecord
	var refused error
	if err := v.withCold(ctx, q.IDs, func(s *fold.State, found map[mail.ID]*fold.ArchivedRecord) {
		cold = found
		events, refused = v.on(s, v.use()).marking(q, cold, &out)
	}); err != nil {
		return out, err
	}
	if refused != nil || len(out.Marked) == 0 {
		return out, refused
	}
	last, err := v.commit(ctx, events...)
	if err != nil {
		return out, err
	}
	late, err := v.lateTakes(ctx, last, events, cold)
	if err != nil {
		return out, err
	}
	return out, v.takenFirst(append(v.lost(last, events), late...), &out)
}

// withCold has f look at the state, given those of some messages that are in the archive.
func (r *Room) withCold(ctx context.Context, ids []mail.ID,
	f func(*fold.State, map[mail.ID]*fold.ArchivedRecord)) error {
	for missed := true; missed; {
		cold, err := r.cold(ctx, ids)
		if err != nil {
			return err
		}
		r.mu.RLock()
		if missed = r.state.Missed(ids, cold); !missed {
			f(r.state, cold)
		}
		r.mu.RUnlock()
	}
	return nil
}

// marking returns the events by which what a caller wants to mark is marked. out says which that is, and which it is
// not; without a message that could be marked it is refused.
func (v *View) marking(q mail.Marking, cold map[mail.ID]*fold.ArchivedRecord, out *mail.Marked) ([]mail.Event, error) {
	if err := v.comesBack(q, cold); err != nil {
		return nil, err
	}
	m := v.me()
	if m == nil {
		_, err := v.mailbox(v.Who)
		return nil, err
	}
	events := v.pulse()
	if q.All {
		events = append(events, v.markAll(m, q, out)...)
	} else {
		events = append(events, v.markSome(m, q, cold, out)...)
	}
	v.stillOpen(m, q, out)
	if n := len(out.NotFound) + len(out.NotYours); !q.All && n == len(q.IDs) {
		return nil, v.noneMarked(q, *out)
	}
	return events, nil
}

// takenFirst takes out of the answer the role mail that another took while this was marked, and says who did, if
// nothing else was marked.
func (v *view) takenFirst(lost []*mail.Event, out *mail.Marked) (err error) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	for _, e := range lost {
		if e.Receipt == nil {
			continue
		}
		id := e.Receipt.Message
		out.Marked = slices.DeleteFunc(out.Marked, func(other mail.ID) bool { return other == id })
		out.NotYours = append(out.NotYours, id)
		taker := "another"
		if r := v.state.Records[id]; r != nil {
			for i := range r.Bound {
				if h := r.Bound[i].Holder(); h != nil && r.Bound[i].IsRole() {
					taker = string(h.Name)
				}
			}
		}
		err = mail.Errorf(mail.Denied, "%s was taken by %s at the same time; it is not yours", id, taker)
	}
	if len(out.Marked) > 0 {
		return nil
	}
	return err
}

func (v *Asker) checkMarking(q mail.Marking, now mail.Time) error {
	switch q.Mark {
	case mail.MarkPresented, mail.MarkNotified, mail.MarkTold:
		if q.Door == "" {
			return mail.Errorf(mail.Invalid, "the mark %s needs the door that was used", q.Mark)
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
		return mail.Errorf(mail.Invalid, "say which messages to mark: either their ids or all")
	}
	return nil
}

// checkSnooze refuses agents: the end of a snooze is no event, so that nobody would wake them then.
func (v *Asker) checkSnooze(q mail.Marking, now mail.Time) error {
	switch {
	case q.Mark != mail.MarkSnoozed && q.Until != 0:
		return mail.Errorf(mail.Invalid, "until belongs to the mark snoozed, not to %s", q.Mark)
	case q.Mark != mail.MarkSnoozed:
		return nil
	case !v.isUser():
		return v.needUser("snooze mail")
	case q.Until <= now || q.Until.Sub(now) > mail.MaxSnooze:
		return mail.Errorf(mail.Invalid,
			"the mark snoozed needs until: a time in the future, within a year. Nothing was marked")
	}
	return nil
}

func (v *Asker) noneMarked(q mail.Marking, out mail.Marked) error {
	if len(out.NotYours) > 0 {
		return mail.Errorf(mail.Denied, "%s is not in %s's mailbox, and nobody marks another's mail", out.NotYours[0],
			v.Who)
	}
	return mail.Errorf(mail.NotFound, "there is no message %q in room %s; nothing was marked", out.NotFound[0], v.Room)
}

// cold looks up those of some messages that are not in the mailboxes. It has nil for those that are not in the archive
// either.
func (r *Room) cold(ctx context.Context, ids []mail.ID) (map[mail.ID]*fold.ArchivedRecord, error) {
	r.mu.RLock()
	ids = slices.DeleteFunc(slices.Clone(ids), func(id mail.ID) bool { return r.state.Records[id] != nil })
	r.mu.RUnlock()
	if len(ids) == 0 {
		return nil, nil
	}
	cold, err := r.lookUp(ctx, ids...)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		if cold[id] == nil {
			cold[id] = nil // it was asked for
		}
	}
	return cold, nil
}

// comesBack refuses a mark that would bring a message from the archive back to a mailbox. There they stay: a mark tells
// how they stand.
func (v *View) comesBack(q mail.Marking, cold map[mail.ID]*fold.ArchivedRecord) error {
	if q.Mark != mail.MarkSnoozed && (q.Mark != mail.MarkUnread || q.InArchive) {
		return nil
	}
	for _, id := range q.IDs {
		if cold[id] != nil {
			return mail.Errorf(mail.Conflict,
				"%s has left the mailboxes for the archive and cannot come back as %s: nothing was marked. It can be "+
					"read there (pennypost history --archive), answered, and marked read or archived", id, q.Mark)
		}
	}
	return nil
}

// markSome returns the receipts for the messages that were named.
func (v *View) markSome(m *fold.Member, q mail.Marking, cold map[mail.ID]*fold.ArchivedRecord, out *mail.Marked) []mail.Event {
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

// Note records marks that readers made elsewhere, those that change something, and returns how many that were. Unlike
// Mark it is no sign of life of the reader, who need not be on the roster. Whoever calls has the word of the system in
// which they were made. Archived mail does not return to a mailbox, whatever its mark.
func (r *Room) Note(ctx context.Context, receipts []mail.Receipt) (int, error) {
	var events []mail.Event
	now := r.use()
	ids := make([]mail.ID, len(receipts))
	for i := range receipts {
		ids[i] = receipts[i].Message
	}
	if err := r.withCold(ctx, ids, func(s *fold.State, cold map[mail.ID]*fold.ArchivedRecord) {
		events = r.on(s, now).noted(receipts, cold)
	}); err != nil {
		return 0, err
	}
	last, err := r.commit(ctx, events...)
	return len(events) - len(r.lost(last, events)), err
}

// noted returns the events of the receipts that change something. The caller holds the state.
func (v *View) noted(receipts []mail.Receipt, cold map[mail.ID]*fold.ArchivedRecord) (events []mail.Event) {
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
