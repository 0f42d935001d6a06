package fold

import (
	"cmp"
	"maps"
	"slices"

	"pennypost/internal/mail"
)

// ToSend returns what is to be sent later, the first due first, and of what is due at one time what was made first.
func (s *State) ToSend() []*mail.Scheduling {
	return slices.SortedFunc(maps.Values(s.Scheduled), func(a, b *mail.Scheduling) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Seq, b.Seq))
	})
}

// applySchedule notes what is to be sent later, and what becomes of it. Of what is over, or was never known, nothing
// changes, nor if it is due at another time than the change was made for: another machine was first.
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
		moved := *known // which somebody may be sending
		moved.At = c.Due
		s.Scheduled[c.ID] = &moved
	}
	s.Garbage++
}

// applyEntry notes what the configuration says, and ends what the entry had sent before. It reports false if nothing
// is to be made: another machine was first, or the entry is gone.
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

// entries is what a checkpoint says of configurations.
func (s *State) entries() (all []mail.ScheduleEntry) {
	for _, name := range slices.Sorted(maps.Keys(s.Entries)) {
		all = append(all, s.Entries[name])
	}
	return all
}

// KeepsSchedule reports whether a change has the text of what still waits. Of what is over nothing is kept, and when
// the rest is due a checkpoint says.
func (s *State) KeepsSchedule(c *mail.ScheduleChange) bool {
	return c.Draft != nil && s.Scheduled[c.ID] != nil
}

// scheduledAt is what a checkpoint says of what is to be sent later.
func (s *State) scheduledAt() (all []mail.ScheduledAt) {
	for _, c := range s.ToSend() {
		all = append(all, mail.ScheduledAt{ID: c.ID, Due: c.At})
	}
	return all
}

// reschedule is applyCheckpoint for what is to be sent later: what it does not name is over.
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
