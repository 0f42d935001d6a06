package mailroom

import (
	"cmp"
	"maps"
	"slices"

	"pennypost/internal/mail"
)

// checkpoint returns what the events until now said about everything but the hot messages, their receipts and spent
// keys.
func (s *state) checkpoint() *mail.Checkpoint {
	c := &mail.Checkpoint{After: s.seq, Rotation: s.rotationInUse(), Last: s.last, Settled: s.settledByGone()}
	forgotten := s.longRetired()
	for _, name := range slices.Sorted(maps.Keys(s.members)) {
		if m := s.members[name]; m.Name == name && m.Registered != 0 && !forgotten[m] {
			c.Agents = append(c.Agents, cloneRecord(m.AgentRecord))
		}
	}
	for _, r := range s.byEvents {
		c.Bound = append(c.Bound, r.binding())
	}
	c.Bridges, c.Workspaces = slices.Clone(s.bridges), slices.Clone(s.workspaces)
	c.Grants = slices.Clone(s.grants)
	if s.shared() {
		c.Machines, c.Upkeep, c.UpkeepAt = slices.Clone(s.machines), s.upkeep, s.upkeepAt
		c.Void = slices.Clone(s.void)
		c.Doors, c.Rules = s.allDoors(), s.allRules()
	}
	return c
}

// unmentioned takes those out of some members of whom hot messages tell, or keys that outlive theirs.
func (s *state) unmentioned(members map[*member]bool) {
	delete(members, s.members[mail.User])
	maps.DeleteFunc(members, func(m *member, _ bool) bool { return len(m.all)+len(m.rest)+len(m.sent) > 0 })
	for k := range s.spent.all() {
		delete(members, k.from)
	}
}

// maxRetired is how many agents that were taken off the roster, and of whom no message tells any more, are remembered:
// whoever comes back under such a name finds its roles and tags. Clients with many short-lived agents retire hundreds
// a day.
const maxRetired = 1000

// longRetired returns those of the retired agents that nothing mentions and that are too many, the first to go first.
func (s *state) longRetired() map[*member]bool {
	candidates := make(map[*member]bool)
	for m := range maps.Values(s.members) {
		if m.Retired && m.Registered != 0 {
			candidates[m] = true
		}
	}
	if len(candidates) <= maxRetired {
		return nil
	}
	s.unmentioned(candidates)
	retired := slices.Collect(maps.Keys(candidates))
	slices.SortFunc(retired, func(a, b *member) int {
		return cmp.Or(cmp.Compare(b.Since, a.Since), cmp.Compare(a.Name, b.Name))
	})
	out := make(map[*member]bool)
	for _, m := range retired[min(maxRetired, len(retired)):] {
		out[m] = true
	}
	return out
}

// rotationInUse leaves out roles that nobody has: agents name them as they like, and a new holder may as well begin.
func (s *state) rotationInUse() map[string]mail.Name {
	out := make(map[string]mail.Name)
	for role, last := range s.rotation {
		if slices.ContainsFunc(s.roles[role], (*member).listed) {
			out[role] = last
		}
	}
	return out
}

// cloneRecord copies a record so that the state can go on changing its own.
func cloneRecord(a mail.AgentRecord) mail.AgentRecord {
	a.Roles, a.Tags = slices.Clone(a.Roles), slices.Clone(a.Tags)
	a.Freezes, a.Aliases = slices.Clone(a.Freezes), slices.Clone(a.Aliases)
	return a
}

// boundByEvents reports whether r's audience follows from the roster as it was when r was sent.
func (r *record) boundByEvents() bool {
	return r.msg.Audience != "" || r.msg.Type.Rule().Stops ||
		slices.ContainsFunc(r.bound, func(b bound) bool { return b.isRole() })
}

func (r *record) binding() mail.Binding {
	out := mail.Binding{Message: r.msg.ID}
	for _, b := range r.bound {
		a := mail.BoundAddress{Address: b.address}
		for _, m := range b.members {
			a.Agents = append(a.Agents, m.Name)
		}
		out.To = append(out.To, a)
	}
	return out
}

// applyStep does what a step of retention says, at any place. One of a machine that does not look after the room any
// more does not count; nor, of another's, what was asked or put off since it was written.
func (s *state) applyStep(e *mail.Event) (counted bool) {
	ids := e.Checkpoint.Trimmed
	if by := e.Checkpoint.Upkeep; by != "" {
		if by != s.upkeep {
			return false
		}
		ids = slices.DeleteFunc(slices.Clone(ids), func(id mail.ID) bool {
			r := s.records[id]
			return r != nil && (r.open() || r.snoozedBy(s.members[mail.User], e.At) != 0)
		})
	}
	s.leave(ids)
	s.keep(e.Checkpoint.Spent, e.Seq)
	return true
}

// leave takes messages out of the mailboxes, on their way to the archive.
func (s *state) leave(trimmed []mail.ID) {
	for _, id := range trimmed {
		if r := s.records[id]; r != nil {
			s.leaving[id] = r
			if s.shared() {
				s.trims[id] = s.seq
			}
		}
	}
	s.forget(trimmed)
}

// applyCheckpoint replaces what replay of a compacted journal could not know. A state that no event is missing from
// knows all of it, and forgets only what the checkpoint does not have.
func (s *state) applyCheckpoint(c *mail.Checkpoint, at mail.Time) {
	s.ended = true
	s.leave(c.Trimmed) // as older versions wrote it, and Spent
	s.keep(c.Spent, 0)
	s.spent.prune(at)
	s.stale += s.garbage
	s.garbage, s.marked = 0, s.seq
	s.recent, s.formerly = nil, s.recent
	s.rotation = maps.Clone(c.Rotation)
	if s.rotation == nil {
		s.rotation = make(map[string]mail.Name)
	}
	if s.exact {
		s.forgetNames(c)
		return
	}
	if c.Last != 0 { // as it is where an older version wrote it
		s.last = c.Last
	}
	s.bridges, s.workspaces = slices.Clone(c.Bridges), slices.Clone(c.Workspaces)
	s.grants = slices.Clone(c.Grants)
	s.machines, s.upkeep, s.upkeepAt = slices.Clone(c.Machines), c.Upkeep, c.UpkeepAt
	if s.shared() {
		s.void = slices.Clone(c.Void)
		s.erasedSomewhere()
	}
	s.setAllDoors(c.Doors)
	clear(s.rules)
	for _, r := range c.Rules {
		s.rules[r.Machine] = r.Rules
	}
	clear(s.tokens)
	clear(s.programs)
	for m := range maps.Values(s.members) {
		if !m.isUser() {
			m.AgentRecord = mail.AgentRecord{Name: m.Name, Retired: true}
		}
	}
	for _, a := range c.Agents {
		m := s.member(a.Name)
		m.AgentRecord = cloneRecord(a)
		if m.TokenSum != "" {
			s.tokens[m.TokenSum] = m
		}
		if m.Process != "" {
			s.programs[m.Process] = append(s.programs[m.Process], m)
		}
	}
	s.nameAll(c)
	for _, st := range c.Settled {
		s.applySettled(st, at)
	}
	s.rebind(c.Bound)
	s.listAnew()
	s.refileAll(at)
	s.forgetNames(c)
}

// forgetNames lets go of mailboxes that nothing leads to any more: of agents that the checkpoint does not know, and of
// names that mail was sent to or by, which nobody bore, once that has gone.
func (s *state) forgetNames(c *mail.Checkpoint) {
	lost := make(map[*member]bool)
	for m := range maps.Values(s.members) {
		lost[m] = true
	}
	for _, a := range c.Agents {
		delete(lost, s.members[a.Name])
	}
	s.unmentioned(lost)
	maps.DeleteFunc(s.members, func(_ mail.Name, m *member) bool { return lost[m] })
	maps.DeleteFunc(s.tokens, func(_ string, m *member) bool { return lost[m] })
	for m := range lost {
		s.leaveProgram(m)
		move(s.bases, m, []string{string(m.Base)}, nil)
		move(s.roles, m, m.Roles, nil)
		move(s.tags, m, m.Tags, nil)
	}
}

// spentOf is keyOf for a key that is kept: its sender is known as long as it is.
func (s *state) spentOf(from mail.Address, key string) sentKey {
	return sentKey{s.member(from.Signer()), key}
}

// nameAll makes each name that an agent of the checkpoint had lead to it. A name is never given to a second agent, so
// that holds for the events before the checkpoint too.
func (s *state) nameAll(c *mail.Checkpoint) {
	for _, a := range c.Agents {
		for _, old := range a.Aliases {
			s.members[old] = s.member(a.Name)
		}
	}
}

// divides reports whether the state takes two names for two agents of which the checkpoint says that they are one:
// compaction has taken away the event that renamed it, and kept receipts under both.
func (s *state) divides(c *mail.Checkpoint) bool {
	return slices.ContainsFunc(c.Agents, func(a mail.AgentRecord) bool {
		return slices.ContainsFunc(a.Aliases, func(old mail.Name) bool {
			return s.members[old] != nil && s.members[old] != s.members[a.Name]
		})
	})
}

func (s *state) rebind(bindings []mail.Binding) {
	for _, b := range bindings {
		r := s.records[b.Message]
		if r == nil || len(r.bound) != len(b.To) {
			continue
		}
		if r.audience == r.msg.shared { // where an older version wrote it
			r.audience = &audience{sender: r.sender, bound: slices.Clone(r.bound), dynamic: r.dynamic}
		}
		for i, a := range b.To {
			r.bound[i].members = nil
			for _, n := range a.Agents {
				r.bound[i].members = append(r.bound[i].members, s.member(n))
			}
		}
	}
}

// refileAll builds mailboxes and the lists of held and dynamic mail from records alone.
func (s *state) refileAll(at mail.Time) {
	clear(s.held)
	s.dynamic, s.index.many = s.dynamic[:0], nil
	for m := range maps.Values(s.members) {
		m.unread, m.urgent = box{}, box{}
		for _, l := range m.lists() {
			*l = nil
		}
	}
	for _, r := range s.order {
		r.sender.sent.add(r)
		s.fileOpen(r)
		for i := range r.bound {
			if b := &r.bound[i]; b.isRole() && b.holder() == nil {
				s.hold(b.address.Value(), r)
			}
		}
		for i := range r.marks {
			s.refile(r, r.marks[i].who)
		}
		if len(r.dynamic) > 0 && !s.allPast(r, at) {
			s.dynamic = append(s.dynamic, r)
			s.deliver(r)
			continue
		}
		for _, b := range r.bound {
			for _, m := range b.members {
				s.refile(r, m)
			}
		}
	}
}
