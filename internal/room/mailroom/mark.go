package mailroom

import (
	"context"
	"slices"

	"pennypost/internal/mail"
)

// Mark implements mail.Marker.
func (v *view) Mark(ctx context.Context, q mail.Marking) (mail.Marked, error) {
	if err := v.checkMarking(q); err != nil {
		return mail.Marked{}, err
	}
	out := mail.Marked{Marked: []mail.ID{}}
	events, cold, err := v.toMark(ctx, q, &out)
	if err != nil {
		return mail.Marked{}, err
	}
	v.stillOpen(q, &out)
	if n := len(out.NotFound) + len(out.NotYours); !q.All && n == len(q.IDs) {
		return out, v.noneMarked(q, out)
	}
	if len(out.Marked) == 0 {
		return out, nil
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

// toMark returns the receipts for what is to be marked, and those of the messages that are in the archive.
func (v *view) toMark(ctx context.Context, q mail.Marking, out *mail.Marked) (events []mail.Event,
	cold map[mail.ID]*archivedRecord, err error) {
	for missed := true; missed && err == nil; {
		if cold, err = v.coldToMark(ctx, q); err != nil {
			return nil, nil, err
		}
		v.read(func(s *state, now mail.Time) {
			m := v.me(s)
			if missed = s.missed(q.IDs, cold); missed {
				return
			}
			if m == nil {
				_, err = v.mailbox(s, v.caller)
				return
			}
			events = v.pulse(s, now)
			if q.All {
				events = append(events, v.markAll(s, m, q, now, out)...)
			} else {
				events = append(events, v.markSome(s, m, q, cold, now, out)...)
			}
		})
	}
	return events, cold, err
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
		if r := v.state.records[id]; r != nil {
			for i := range r.bound {
				if h := r.bound[i].holder(); h != nil && r.bound[i].isRole() {
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

func (v *view) checkMarking(q mail.Marking) error {
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
	if err := v.checkSnooze(q); err != nil {
		return err
	}
	if q.All == (len(q.IDs) > 0) {
		return mail.Errorf(mail.Invalid, "say which messages to mark: either their ids or all")
	}
	return nil
}

// checkSnooze refuses agents: the end of a snooze is no event, so that nobody would wake them then.
func (v *view) checkSnooze(q mail.Marking) error {
	now := v.now()
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

func (v *view) noneMarked(q mail.Marking, out mail.Marked) error {
	if len(out.NotYours) > 0 {
		return mail.Errorf(mail.Denied, "%s is not in %s's mailbox, and nobody marks another's mail", out.NotYours[0],
			v.caller)
	}
	return mail.Errorf(mail.NotFound, "there is no message %q in room %s; nothing was marked", out.NotFound[0], v.name)
}

// cold looks up those of some messages that are not in the mailboxes. It has nil for those that are not in the archive
// either.
func (r *Room) cold(ctx context.Context, ids []mail.ID) (map[mail.ID]*archivedRecord, error) {
	r.mu.RLock()
	ids = slices.DeleteFunc(slices.Clone(ids), func(id mail.ID) bool { return r.state.records[id] != nil })
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

// missed reports whether one of some messages has left the mailboxes since cold was looked up: it is in neither.
func (s *state) missed(ids []mail.ID, cold map[mail.ID]*archivedRecord) bool {
	return slices.ContainsFunc(ids, func(id mail.ID) bool {
		_, known := cold[id]
		return !known && s.records[id] == nil
	})
}

// coldToMark returns those messages to be marked that are in the archive. There they stay: a mark tells how they
// stand, and brings none back to a mailbox.
func (v *view) coldToMark(ctx context.Context, q mail.Marking) (map[mail.ID]*archivedRecord, error) {
	cold, err := v.cold(ctx, q.IDs)
	back := q.Mark == mail.MarkUnread && !q.InArchive || q.Mark == mail.MarkSnoozed
	if err != nil || !back {
		return cold, err
	}
	for _, id := range q.IDs {
		if cold[id] != nil {
			return nil, mail.Errorf(mail.Conflict,
				"%s has left the mailboxes for the archive and cannot come back as %s: nothing was marked. It can be "+
					"read there (pennypost history --archive), answered, and marked read or archived", id, q.Mark)
		}
	}
	return cold, nil
}

// markSome returns the receipts for the messages that were named.
func (v *view) markSome(s *state, m *member, q mail.Marking, cold map[mail.ID]*archivedRecord, now mail.Time,
	out *mail.Marked) []mail.Event {
	var events []mail.Event
	asked := make(map[mail.ID]bool, len(q.IDs))
	for _, id := range q.IDs {
		if asked[id] {
			continue
		}
		asked[id] = true
		r, old := s.records[id], cold[id]
		yours := r != nil && (r.reaches(m) || r.marksOf(m) != nil)
		if r == nil && old != nil {
			r, yours = &old.record, old.wasFor(m)
		}
		switch {
		case r == nil:
			out.NotFound = append(out.NotFound, id)
		case !yours:
			out.NotYours = append(out.NotYours, id)
		case !r.changes(m, q.Mark, q.Until, now):
			out.Already = append(out.Already, id)
		default:
			out.Marked = append(out.Marked, id)
			events = append(events, r.receipts(m, q, now)...)
		}
	}
	return events
}

// markAll returns the receipts for everything in the mailbox that the mark would change.
func (v *view) markAll(s *state, m *member, q mail.Marking, now mail.Time, out *mail.Marked) []mail.Event {
	from := m.all
	if q.Mark == mail.MarkRead || q.Mark == mail.MarkSnoozed {
		from = m.unread.list
	}
	if q.Mark == mail.MarkUnarchived {
		from = m.rest
	}
	var events []mail.Event
	for _, r := range from {
		if (s.visible(r, m, now) || r.settledBy(m)) && r.changes(m, q.Mark, q.Until, now) {
			out.Marked = append(out.Marked, r.msg.ID)
			events = append(events, r.receipts(m, q, now)...)
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
	for missed := true; missed; {
		cold, err := r.cold(ctx, ids)
		if err != nil {
			return 0, err
		}
		r.mu.RLock()
		if missed = r.state.missed(ids, cold); !missed {
			events = r.noted(receipts, cold, now)
		}
		r.mu.RUnlock()
	}
	last, err := r.commit(ctx, events...)
	return len(events) - len(r.lost(last, events)), err
}

// noted returns the events of the receipts that change something. The caller holds the state.
func (r *Room) noted(receipts []mail.Receipt, cold map[mail.ID]*archivedRecord, now mail.Time) (events []mail.Event) {
	for i := range receipts {
		rc := &receipts[i]
		rec, m := r.state.records[rc.Message], r.state.known(rc.Reader.Signer())
		if rec == nil {
			old := cold[rc.Message]
			if old == nil || rc.Mark == mail.MarkSnoozed {
				continue
			}
			rec, m = &old.record, old.marksOfName(m).who
		}
		if _, counts := rec.takenBy(m); rc.Mark == mail.MarkRead && !counts {
			continue
		}
		if rc.Mark == mail.MarkNotified {
			rc.Machine = r.opts.Machine
		}
		if rec.changes(m, rc.Mark, rc.Until, now) {
			events = append(events, mail.Event{At: now, Receipt: rc})
		}
	}
	return events
}

// receipts returns what records a mark. What is put off is made unread first, and taken out of the archive, so that
// everybody who follows the journal and knows nothing of snoozing understands that much.
func (r *record) receipts(m *member, q mail.Marking, now mail.Time) (events []mail.Event) {
	add := func(k mail.Mark, door string, until mail.Time) {
		rc := &mail.Receipt{Message: r.msg.ID, Reader: mail.AgentAddress(m.Name), Mark: k, Door: door, Until: until}
		events = append(events, mail.Event{At: now, Receipt: rc})
	}
	if has := r.marksOf(m); q.Mark == mail.MarkSnoozed && has != nil {
		if has.read != 0 {
			add(mail.MarkUnread, "", 0)
		}
		if has.archived != 0 {
			add(mail.MarkUnarchived, "", 0)
		}
	}
	add(q.Mark, q.Door, q.Until)
	return events
}

// changes reports whether a mark by m would change anything.
func (r *record) changes(m *member, k mail.Mark, until, now mail.Time) bool {
	has := r.marksOf(m)
	if has == nil {
		has = &marks{}
	}
	switch k {
	case mail.MarkRead:
		return has.read == 0
	case mail.MarkUnread:
		return has.read != 0 || has.shown().snoozed > now
	case mail.MarkArchived:
		return has.archived == 0
	case mail.MarkUnarchived:
		return has.archived != 0
	case mail.MarkSnoozed:
		return has.read != 0 || has.archived != 0 || has.shown().snoozed != until
	case mail.MarkUntold:
		return has.shown().told != 0 || has.shown().notified != 0
	case mail.MarkTold:
		return !r.keptBy(m) // or only to another session of the agent
	case mail.MarkPresented:
		return !r.keptBy(m) || has.shown().told != 0
	}
	return true
}
