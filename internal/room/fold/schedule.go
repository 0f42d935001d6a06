package fold

import (
	"cmp"
	"maps"
	"slices"

	"pennypost/internal/mail"
)

// ToSend returns the scheduled messages, the first due first, and those due at one time in the order in which they
// were made.
func (s *State) ToSend() []*mail.Scheduling {
	return slices.SortedFunc(maps.Values(s.Scheduled), func(a, b *mail.Scheduling) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Seq, b.Seq))
	})
}

// applySchedule records a scheduled message, and what becomes of it. A change to one that is over, or was never
// known, changes nothing, nor does one made for another due time: another machine was first.
func (s *State) applySchedule(c *mail.ScheduleChange, at mail.Time) {
	if c.Entry != nil && !s.applyEntry(c) {
		return
	}
	known := s.Scheduled[c.ID]
	switch {
	case c.Draft != nil:
		if known == nil {
			s.member(c.From)
			s.Scheduled[c.ID] = &mail.Scheduling{Seq: s.Seq, Right: c.Right,
				Scheduled: mail.Scheduled{ID: c.ID, From: c.From, At: c.Due, Every: c.Every, Zone: c.Zone,
					Until: c.Until, Made: at, Draft: *c.Draft}}
			if c.Entry != nil {
				s.Scheduled[c.ID].Entry = c.Entry.Name
			}
		}
		return
	case known == nil, c.Was != 0 && c.Was != known.At:
	case c.End:
		delete(s.Scheduled, c.ID)
	default:
		moved := *known // which a caller may be sending
		moved.At = c.Due
		s.Scheduled[c.ID] = &moved
	}
	s.Garbage++
}

// applyEntry records an entry of the configuration, and ends the messages that it had scheduled before. It reports
// false if nothing must be made: another machine was first, or the entry is gone.
func (s *State) applyEntry(c *mail.ScheduleChange) bool {
	e := c.Entry
	known, ok := s.Entries[e.Name]
	if same := ok && known.Sum == e.Sum; same != c.End {
		return false
	}
	for id, o := range s.Scheduled {
		if o.Entry == e.Name {
			delete(s.Scheduled, id)
			s.Garbage++
		}
	}
	if c.End {
		delete(s.Entries, e.Name)
		s.Garbage++
		return false
	}
	s.Entries[e.Name] = *e
	return true
}

// entries returns the entries of configurations for a checkpoint.
func (s *State) entries() (all []mail.ScheduleEntry) {
	for _, name := range slices.Sorted(maps.Keys(s.Entries)) {
		all = append(all, s.Entries[name])
	}
	return all
}

// KeepsSchedule reports whether a change has the text of a message that still waits. Nothing is kept of those that
// are over, and a checkpoint says when the rest is due.
func (s *State) KeepsSchedule(c *mail.ScheduleChange) bool {
	return c.Draft != nil && s.Scheduled[c.ID] != nil
}

// scheduledAt returns the due times of scheduled messages for a checkpoint.
func (s *State) scheduledAt() (all []mail.ScheduledAt) {
	for _, c := range s.ToSend() {
		all = append(all, mail.ScheduledAt{ID: c.ID, Due: c.At})
	}
	return all
}

// reschedule is applyCheckpoint for scheduled messages: those it does not name are over.
func (s *State) reschedule(all []mail.ScheduledAt, entries []mail.ScheduleEntry) {
	clear(s.Entries)
	for _, e := range entries {
		s.Entries[e.Name] = e
	}
	told := make(map[mail.ID]*mail.Scheduling)
	for _, at := range all {
		if c := s.Scheduled[at.ID]; c != nil {
			c.At = at.Due
			told[at.ID] = c
		}
	}
	s.Scheduled = told
}
