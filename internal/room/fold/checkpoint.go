package fold

import (
	"cmp"
	"maps"
	"slices"

	"pennypost/internal/mail"
)

// Checkpoint returns a summary of the events until now, except hot messages, their receipts and spent keys.
func (s *State) Checkpoint() *mail.Checkpoint {
	c := &mail.Checkpoint{After: s.Seq, Rotation: s.rotationInUse(), Last: s.Last, Settled: s.settledByGone()}
	forgotten := s.longRetired()
	for _, name := range slices.Sorted(maps.Keys(s.Members)) {
		m := s.Members[name]
		person := m.IsUser() && len(m.Aliases)+len(m.Claims)+len(m.Awaits) > 0
		if m.Name == name && (m.Registered != 0 || person) && !forgotten[m] {
			c.Agents = append(c.Agents, cloneRecord(m.AgentRecord))
		}
	}
	for _, r := range s.byEvents {
		c.Bound = append(c.Bound, r.binding())
	}
	c.Bridges, c.Workspaces = slices.Clone(s.Bridges), slices.Clone(s.Workspaces)
	c.Grants, c.Scheduled, c.Entries = slices.Clone(s.Grants), s.scheduledAt(), s.entries()
	if s.Shared() {
		c.Machines, c.Upkeep, c.UpkeepAt = slices.Clone(s.Machines), s.Upkeep, s.UpkeepAt
		c.Void = slices.Clone(s.Void)
		c.Doors, c.Rules = s.allDoors(), s.allRules()
	}
	return c
}

// unmentioned removes from members those that hot messages mention, or keys that outlive their messages.
func (s *State) unmentioned(members map[*Member]bool) {
	delete(members, s.Members[mail.User])
	maps.DeleteFunc(members, func(m *Member, _ bool) bool { return len(m.All)+len(m.Rest)+len(m.Sent) > 0 })
	for k := range s.Spent.All() {
		delete(members, k.from)
	}
	for _, c := range s.Scheduled {
		delete(members, s.Members[c.From])
	}
}

// MaxRetired is how many retired agents that no message mentions any more are remembered: an agent that comes back
// under such a name finds its roles and tags. Clients with many short-lived agents retire hundreds a day.
const MaxRetired = 1000

// longRetired returns the retired agents that nothing mentions and that exceed the limit, the earliest first.
func (s *State) longRetired() map[*Member]bool {
	candidates := make(map[*Member]bool)
	for m := range maps.Values(s.Members) {
		if m.Retired && m.Registered != 0 {
			candidates[m] = true
		}
	}
	if len(candidates) <= MaxRetired {
		return nil
	}
	s.unmentioned(candidates)
	retired := slices.Collect(maps.Keys(candidates))
	slices.SortFunc(retired, func(a, b *Member) int {
		return cmp.Or(cmp.Compare(b.Since, a.Since), cmp.Compare(a.Name, b.Name))
	})
	out := make(map[*Member]bool)
	for _, m := range retired[min(MaxRetired, len(retired)):] {
		out[m] = true
	}
	return out
}

// rotationInUse leaves out roles that no one has: agents name them as they like, and a new holder may as well begin.
func (s *State) rotationInUse() map[string]mail.Name {
	out := make(map[string]mail.Name)
	for role, last := range s.Rotation {
		if slices.ContainsFunc(s.Roles[role], (*Member).Listed) {
			out[role] = last
		}
	}
	return out
}

// cloneRecord copies a record so that the state can keep changing its own.
func cloneRecord(a mail.AgentRecord) mail.AgentRecord {
	a.Roles, a.Tags = slices.Clone(a.Roles), slices.Clone(a.Tags)
	a.Freezes, a.Dialogs = slices.Clone(a.Freezes), slices.Clone(a.Dialogs)
	a.Aliases, a.Merged = slices.Clone(a.Aliases), slices.Clone(a.Merged)
	a.Claims, a.Awaits = slices.Clone(a.Claims), slices.Clone(a.Awaits)
	return a
}

// boundByEvents reports whether r's audience follows from the roster as it was when r was sent.
func (r *Record) boundByEvents() bool {
	return r.Msg.Audience != "" || r.Msg.Type.Rule().Stops ||
		slices.ContainsFunc(r.Bound, func(b bound) bool { return b.IsRole() })
}

func (r *Record) binding() mail.Binding {
	out := mail.Binding{Message: r.Msg.ID}
	for _, b := range r.Bound {
		a := mail.BoundAddress{Address: b.address}
		for _, m := range b.members {
			a.Agents = append(a.Agents, m.Name)
		}
		out.To = append(out.To, a)
	}
	return out
}

// applyStep applies a step of retention, anywhere in the journal. A step of a machine that no longer looks after the
// room does not count; nor does one apply to messages that were asked or put off since it was written.
func (s *State) applyStep(e *mail.Event) (counted bool) {
	ids := e.Checkpoint.Trimmed
	if by := e.Checkpoint.Upkeep; by != "" {
		if by != s.Upkeep {
			return false
		}
		ids = slices.DeleteFunc(slices.Clone(ids), func(id mail.ID) bool {
			r := s.Records[id]
			return r != nil && (r.Open() || r.SnoozedBy(s.Members[mail.User], e.At) != 0)
		})
	}
	s.leave(ids)
	s.keep(e.Checkpoint.Spent, e.Seq)
	return true
}

// leave takes messages out of the mailboxes, on their way to the archive.
func (s *State) leave(trimmed []mail.ID) {
	for _, id := range trimmed {
		if r := s.Records[id]; r != nil {
			s.Leaving[id] = r
			if s.Shared() {
				s.Trims[id] = s.Seq
			}
		}
	}
	s.forget(trimmed)
}

// applyCheckpoint replaces the parts that replay of a compacted journal could not know. A state without missing
// events knows all of it, and only forgets what the checkpoint does not have.
func (s *State) applyCheckpoint(c *mail.Checkpoint, at mail.Time) {
	s.Ended = true
	s.leave(c.Trimmed) // as older versions wrote it, and Spent
	s.keep(c.Spent, 0)
	s.Spent.prune(at)
	s.Stale += s.Garbage
	s.Garbage, s.Marked = 0, s.Seq
	s.recent, s.formerly = nil, s.recent
	s.Rotation = maps.Clone(c.Rotation)
	if s.Rotation == nil {
		s.Rotation = make(map[string]mail.Name)
	}
	if s.Exact {
		s.forgetNames(c)
		return
	}
	if c.Last != 0 { // as it is where an older version wrote it
		s.Last = c.Last
	}
	s.Bridges, s.Workspaces = slices.Clone(c.Bridges), slices.Clone(c.Workspaces)
	s.Grants = slices.Clone(c.Grants)
	s.reschedule(c.Scheduled, c.Entries)
	s.Machines, s.Upkeep, s.UpkeepAt = slices.Clone(c.Machines), c.Upkeep, c.UpkeepAt
	if s.Shared() {
		s.Void = slices.Clone(c.Void)
		s.erasedSomewhere()
	}
	s.setAllDoors(c.Doors)
	clear(s.Rules)
	for _, r := range c.Rules {
		s.Rules[r.Machine] = r.Rules
	}
	clear(s.Tokens)
	clear(s.Programs)
	s.askers, s.claimants = nil, nil
	for m := range maps.Values(s.Members) {
		if m.Claims, m.Awaits = nil, nil; !m.IsUser() {
			m.AgentRecord = mail.AgentRecord{Name: m.Name, Retired: true, Merged: m.Merged}
		}
	}
	for _, a := range c.Agents {
		m := s.member(a.Name)
		m.AgentRecord = cloneRecord(a)
		if m.TokenSum != "" {
			s.Tokens[m.TokenSum] = m
		}
		if len(m.Dialogs) > 0 {
			s.ask(m)
		}
		s.claims(m)
		if m.Process != "" {
			s.Programs[m.Process] = append(s.Programs[m.Process], m)
		}
	}
	s.NameAll(c)
	for _, st := range c.Settled {
		s.applySettled(st, at)
	}
	s.rebind(c.Bound)
	s.relist()
	s.refileAll(at)
	s.forgetNames(c)
}

// forgetNames forgets mailboxes that nothing leads to any more: of agents that the checkpoint does not know, and of
// names that mail was sent to or by, which no one bore, once that mail has gone.
func (s *State) forgetNames(c *mail.Checkpoint) {
	lost := make(map[*Member]bool)
	for m := range maps.Values(s.Members) {
		lost[m] = true
	}
	for _, a := range c.Agents {
		delete(lost, s.Members[a.Name])
	}
	s.unmentioned(lost)
	maps.DeleteFunc(s.Members, func(_ mail.Name, m *Member) bool { return lost[m] })
	maps.DeleteFunc(s.Tokens, func(_ string, m *Member) bool { return lost[m] })
	for m := range lost {
		s.leaveProgram(m)
		move(s.Bases, m, []string{string(m.Base)}, nil)
		move(s.Roles, m, m.Roles, nil)
		move(s.Tags, m, m.Tags, nil)
	}
}

// spentOf is KeyOf for a key that is kept: its sender is known while it is kept.
func (s *State) spentOf(from mail.Address, key string) SentKey {
	return keyOf(s.member(from.Signer()), from, key)
}

// NameAll makes each name that an agent of the checkpoint had lead to it. A name is never given to a second agent, so
// that holds for the events before the checkpoint too.
func (s *State) NameAll(c *mail.Checkpoint) {
	for _, a := range c.Agents {
		for _, old := range a.Aliases {
			s.Members[old] = s.member(a.Name)
		}
		s.member(a.Name).Merged = a.Merged
	}
}

// Divides reports whether the state takes two names for two agents that are one according to the checkpoint:
// compaction has removed the event that renamed or merged it, and kept receipts under both. Nor must the state take
// for an agent's own what another one that was merged into it has signed.
func (s *State) Divides(c *mail.Checkpoint) bool {
	return slices.ContainsFunc(c.Agents, func(a mail.AgentRecord) bool {
		m := s.Members[a.Name]
		if m != nil && !slices.Equal(m.Merged, a.Merged) {
			return true
		}
		return slices.ContainsFunc(a.Aliases, func(old mail.Name) bool {
			return s.Members[old] != nil && s.Members[old] != m
		})
	})
}

func (s *State) rebind(bindings []mail.Binding) {
	for _, b := range bindings {
		r := s.Records[b.Message]
		if r == nil || len(r.Bound) != len(b.To) {
			continue
		}
		if r.audience == r.Msg.shared { // where an older version wrote it
			r.audience = &audience{Sender: r.Sender, Bound: slices.Clone(r.Bound), dynamic: r.dynamic}
		}
		for i, a := range b.To {
			r.Bound[i].members = nil
			for _, n := range a.Agents {
				r.Bound[i].members = append(r.Bound[i].members, s.member(n))
			}
		}
	}
}

// refileAll builds mailboxes and the lists of held and dynamic mail from records alone.
func (s *State) refileAll(at mail.Time) {
	clear(s.Held)
	clear(s.Offered)
	s.dynamic, s.index.many = s.dynamic[:0], nil
	for m := range maps.Values(s.Members) {
		m.Unread, m.Urgent = box{}, box{}
		for _, l := range m.lists() {
			*l = nil
		}
	}
	for _, r := range s.Order {
		r.Sender.Sent.Add(r)
		s.fileOpen(r)
		for i := range r.Bound {
			switch b := &r.Bound[i]; {
			case b.IsRole() && b.Holder() == nil:
				insert(s.Held, b.address.Value(), r)
			case r.offered(b):
				insert(s.Offered, b.address.Value(), r)
			}
		}
		for i := range r.marks {
			s.refile(r, r.marks[i].Who)
		}
		if len(r.dynamic) > 0 && !s.allPast(r, at) {
			s.dynamic = append(s.dynamic, r)
			s.deliver(r)
			continue
		}
		for _, b := range r.Bound {
			for _, m := range b.members {
				s.refile(r, m)
			}
		}
	}
}

// Misses reports whether an event did not count that counted according to a checkpoint of a shared room.
func (s *State) Misses(c *mail.Checkpoint) bool {
	return len(c.Machines) > 0 && slices.ContainsFunc(s.Void, func(seq mail.Seq) bool { return !IsAmong(c.Void, seq) })
}
