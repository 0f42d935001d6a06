package mailroom

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"pennypost/internal/mail"
)

// keyLife is how long an idempotency key outlives a message that retention took. Retries come within minutes, but
// a client that slept through the night may come with one too.
const keyLife = 24 * time.Hour

// checkpoint returns what the events until now said about everything but the kept messages and their receipts.
func (s *state) checkpoint(trimmed []mail.ID, now mail.Time) *mail.Checkpoint {
	c := &mail.Checkpoint{After: s.seq, Rotation: s.rotationInUse(), Trimmed: trimmed, Last: s.last}
	going := make(map[mail.ID]bool, len(trimmed))
	for _, id := range trimmed {
		going[id] = true
	}
	c.Spent, c.Settled = s.spentKeys(trimmed, now), s.settledByGone(going)
	forgotten := s.longRetired(s.mentioned(going, c.Spent))
	for _, name := range slices.Sorted(maps.Keys(s.members)) {
		if m := s.members[name]; m.Name == name && m.Registered != 0 && !forgotten[m] {
			c.Agents = append(c.Agents, cloneRecord(m.AgentRecord))
		}
	}
	for _, r := range s.order {
		if !going[r.msg.ID] && r.boundByEvents() {
			c.Bound = append(c.Bound, r.binding())
		}
	}
	c.Bridges, c.Workspaces = slices.Clone(s.bridges), slices.Clone(s.workspaces)
	return c
}

// mentioned returns the members of whom hot messages tell, but for those that go, or keys that outlive theirs.
func (s *state) mentioned(going map[mail.ID]bool, spent []mail.SpentKey) map[*member]bool {
	out := map[*member]bool{s.members[mail.User]: true}
	for _, r := range s.order {
		if going[r.msg.ID] {
			continue
		}
		out[r.sender] = true
		for _, b := range r.bound {
			for _, m := range b.members {
				out[m] = true
			}
		}
		for i := range r.marks {
			out[r.marks[i].who] = true
		}
	}
	for _, k := range spent {
		out[s.members[k.From.Signer()]] = true
	}
	return out
}

// maxRetired is how many agents that were taken off the roster, and of whom no message tells any more, are remembered:
// whoever comes back under such a name finds its roles and tags. Clients with many short-lived agents retire hundreds
// a day.
const maxRetired = 1000

// longRetired returns those of the retired agents that nothing mentions and that are too many, the first to go first.
func (s *state) longRetired(mentioned map[*member]bool) map[*member]bool {
	var retired []*member
	for name, m := range s.members {
		if name == m.Name && m.Retired && m.Registered != 0 && !mentioned[m] {
			retired = append(retired, m)
		}
	}
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
	for m := range s.agents() {
		for _, role := range m.Roles {
			if last, ok := s.rotation[role]; ok {
				out[role] = last
			}
		}
	}
	return out
}

// spentKeys returns the keys that are still to be known when the given messages are gone, in the order of their
// messages.
func (s *state) spentKeys(trimmed []mail.ID, now mail.Time) []mail.SpentKey {
	out := slices.Collect(maps.Values(s.spent))
	for _, id := range trimmed {
		if r := s.records[id]; r != nil && r.msg.Key != "" {
			out = append(out, mail.SpentKey{From: r.msg.From, Key: r.msg.Key, Message: id, Seq: r.seq,
				Sent: r.msg.Sent})
		}
	}
	out = slices.DeleteFunc(out, func(k mail.SpentKey) bool { return now.Sub(k.Sent) > keyLife })
	slices.SortFunc(out, func(a, b mail.SpentKey) int { return cmp.Compare(a.Seq, b.Seq) })
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
	return r.msg.Audience == mail.AudiencePresent || r.msg.Type.Rule().Stops ||
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

// applyCheckpoint replaces what replay of a compacted journal could not know, and files everything anew. On the state
// that wrote the checkpoint it changes nothing but to forget what was trimmed.
func (s *state) applyCheckpoint(c *mail.Checkpoint, at mail.Time) {
	for _, id := range c.Trimmed {
		if r := s.records[id]; r != nil {
			s.leaving[id] = r
		}
	}
	s.forget(c.Trimmed)
	s.garbage = 0
	if c.Last != 0 { // as it is where an older version wrote it
		s.last = c.Last
	}
	s.bridges, s.workspaces = slices.Clone(c.Bridges), slices.Clone(c.Workspaces)
	s.rotation = maps.Clone(c.Rotation)
	if s.rotation == nil {
		s.rotation = make(map[string]mail.Name)
	}
	clear(s.tokens)
	for _, a := range c.Agents {
		m := s.member(a.Name)
		m.AgentRecord = cloneRecord(a)
		if m.TokenSum != "" {
			s.tokens[m.TokenSum] = m
		}
	}
	s.nameAll(c)
	clear(s.spent)
	for _, k := range c.Spent {
		s.spent[sentKey{s.member(k.From.Signer()), k.Key}] = k
	}
	for _, st := range c.Settled {
		s.applySettled(st, at)
	}
	s.rebind(c.Bound)
	s.forgetNames(c)
	s.refileAll(at)
}

// forgetNames lets go of mailboxes that nothing leads to any more: of agents that the checkpoint does not know, and of
// names that mail was sent to or by, which nobody bore, once that has gone.
func (s *state) forgetNames(c *mail.Checkpoint) {
	known := s.mentioned(nil, c.Spent)
	for _, a := range c.Agents {
		known[s.members[a.Name]] = true
	}
	maps.DeleteFunc(s.members, func(_ mail.Name, m *member) bool { return !known[m] })
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
	s.dynamic = s.dynamic[:0]
	for m := range maps.Values(s.members) {
		m.unread, m.cancels, m.told, m.all = nil, nil, nil, nil
	}
	for _, r := range s.order {
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
