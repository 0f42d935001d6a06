package fold

import (
	"slices"

	"pennypost/internal/mail"
)

// Missed reports whether a message has left the mailboxes since cold was looked up: it is in neither.
func (s *State) Missed(ids []mail.ID, cold map[mail.ID]*ArchivedRecord) bool {
	return slices.ContainsFunc(ids, func(id mail.ID) bool {
		_, known := cold[id]
		return !known && s.Records[id] == nil
	})
}

// Receipts returns the events that record a mark. A message that is put off is first made unread and taken out of the
// archive, so that everyone who follows the journal and knows nothing of snoozing understands that much.
func (r *Record) Receipts(m *Member, q mail.Marking, now mail.Time) (events []mail.Event) {
	add := func(k mail.Mark, door string, until mail.Time) {
		rc := &mail.Receipt{Message: r.Msg.ID, Reader: mail.AgentAddress(m.Name), Mark: k, Door: door, Until: until}
		events = append(events, mail.Event{At: now, Receipt: rc})
	}
	if has := r.MarksOf(m); q.Mark == mail.MarkSnoozed && has != nil {
		if has.read != 0 {
			add(mail.MarkUnread, "", 0)
		}
		if has.Archived != 0 {
			add(mail.MarkUnarchived, "", 0)
		}
	}
	add(q.Mark, q.Door, q.Until)
	return events
}

// Changes reports whether a mark by m would change anything.
func (r *Record) Changes(m *Member, k mail.Mark, until, now mail.Time) bool {
	has := r.MarksOf(m)
	if has == nil {
		has = &marks{}
	}
	switch k {
	case mail.MarkRead:
		return has.read == 0
	case mail.MarkUnread:
		return has.read != 0 || has.Shown().snoozed > now
	case mail.MarkArchived:
		return has.Archived == 0
	case mail.MarkUnarchived:
		return has.Archived != 0
	case mail.MarkSnoozed:
		return has.read != 0 || has.Archived != 0 || has.Shown().snoozed != until
	case mail.MarkUntold:
		return has.Shown().Told != 0 || has.Shown().notified != 0
	case mail.MarkTold:
		return !r.keptBy(m) // or only to another session of the agent
	case mail.MarkPresented:
		return !r.keptBy(m) || has.Shown().Told != 0
	}
	return true
}
