package mailroom

import (
	"context"

	"pennypost/internal/mail"
)

// Mark implements mail.Marker.
func (v *view) Mark(ctx context.Context, q mail.Marking) (mail.Marked, error) {
	if err := checkMarking(q); err != nil {
		return mail.Marked{}, err
	}
	out := mail.Marked{Marked: []mail.ID{}}
	var events []mail.Event
	var err error
	v.read(func(s *state, now mail.Time) {
		m := v.me(s)
		if m == nil {
			_, err = v.mailbox(s, v.caller)
			return
		}
		events = v.pulse(s, now)
		if q.All {
			events = append(events, v.markAll(s, m, q, now, &out)...)
		} else {
			events = append(events, v.markSome(s, m, q, now, &out)...)
		}
	})
	if err != nil {
		return mail.Marked{}, err
	}
	if n := len(out.NotFound) + len(out.NotYours); !q.All && n == len(q.IDs) {
		return out, v.noneMarked(q, out)
	}
	if len(out.Marked) == 0 {
		return out, nil
	}
	_, err = v.commit(ctx, events...)
	return out, err
}

func checkMarking(q mail.Marking) error {
	switch q.Mark {
	case mail.MarkPresented, mail.MarkNotified:
		if q.Door == "" {
			return mail.Errorf(mail.Invalid, "the mark %s needs the door that was used", q.Mark)
		}
	default:
		if _, err := mail.ParseMark(string(q.Mark)); err != nil {
			return err
		}
	}
	if q.All == (len(q.IDs) > 0) {
		return mail.Errorf(mail.Invalid, "say which messages to mark: either their ids or all")
	}
	return nil
}

func (v *view) noneMarked(q mail.Marking, out mail.Marked) error {
	if len(out.NotYours) > 0 {
		return mail.Errorf(mail.Denied, "%s is not in %s's mailbox, and nobody marks another's mail", out.NotYours[0], v.caller)
	}
	return mail.Errorf(mail.NotFound, "there is no message %q in room %s; nothing was marked", out.NotFound[0], v.name)
}

// markSome returns the receipts for the messages that were named.
func (v *view) markSome(s *state, m *member, q mail.Marking, now mail.Time, out *mail.Marked) []mail.Event {
	var events []mail.Event
	asked := make(map[mail.ID]bool, len(q.IDs))
	for _, id := range q.IDs {
		if asked[id] {
			continue
		}
		asked[id] = true
		r := s.records[id]
		switch {
		case r == nil:
			out.NotFound = append(out.NotFound, id)
		case !r.reaches(m) && r.marksOf(m) == nil:
			out.NotYours = append(out.NotYours, id)
		case !r.changes(m, q.Mark):
			out.Already = append(out.Already, id)
		default:
			out.Marked = append(out.Marked, id)
			events = append(events, receipt(id, m, q, now))
		}
	}
	return events
}

// markAll returns the receipts for everything in the mailbox that the mark would change.
func (v *view) markAll(s *state, m *member, q mail.Marking, now mail.Time, out *mail.Marked) []mail.Event {
	from := m.all
	if q.Mark == mail.MarkRead {
		from = m.unread
	}
	if q.Mark == mail.MarkUnarchived { // archived messages are in no list
		from = s.order
	}
	var events []mail.Event
	for _, r := range from {
		if (s.visible(r, m, now) || r.settledBy(m)) && r.changes(m, q.Mark) {
			out.Marked = append(out.Marked, r.msg.ID)
			events = append(events, receipt(r.msg.ID, m, q, now))
		}
	}
	return events
}

// Note records marks that readers made elsewhere, those that change something, and returns how many that were. Unlike Mark it is
// no sign of life of the reader, who need not be on the roster. Whoever calls has the word of the system in which they were made.
func (r *Room) Note(ctx context.Context, receipts []mail.Receipt) (int, error) {
	var events []mail.Event
	now := r.use()
	r.mu.RLock()
	for i := range receipts {
		rc := &receipts[i]
		rec := r.state.records[rc.Message]
		if rec == nil {
			continue
		}
		m := r.state.members[rc.Reader.Signer()]
		if m == nil {
			m = &member{AgentRecord: mail.AgentRecord{Name: rc.Reader.Signer()}}
		}
		if _, counts := rec.takenBy(m); rc.Mark == mail.MarkRead && !counts {
			continue
		}
		if rec.changes(m, rc.Mark) {
			events = append(events, mail.Event{At: now, Receipt: rc})
		}
	}
	r.mu.RUnlock()
	_, err := r.commit(ctx, events...)
	return len(events), err
}

func receipt(id mail.ID, m *member, q mail.Marking, now mail.Time) mail.Event {
	return mail.Event{At: now, Receipt: &mail.Receipt{Message: id, Reader: mail.AgentAddress(m.Name), Mark: q.Mark, Door: q.Door}}
}

// changes reports whether a mark by m would change anything.
func (r *record) changes(m *member, k mail.Mark) bool {
	has := r.marksOf(m)
	if has == nil {
		has = &marks{}
	}
	switch k {
	case mail.MarkRead:
		return has.read == 0
	case mail.MarkUnread:
		return has.read != 0
	case mail.MarkArchived:
		return has.archived == 0
	case mail.MarkUnarchived:
		return has.archived != 0
	case mail.MarkPresented:
		return has.presented == 0 || has.told <= m.Began // to another session of the agent
	}
	return true
}
