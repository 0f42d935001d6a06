package fold

import (
	"maps"
	"slices"

	"pennypost/internal/mail"
)

// merge makes one of two members, who turned out to be the same: m gets all that o had, and the names of o lead to m.
// It reports whether the event counts; it does not if one of them is no longer there, or if o has come to life
// meanwhile.
func (s *State) merge(c *mail.AgentChange, at mail.Time) (counted bool) {
	o, m := s.Members[c.Name], s.Members[c.Renamed]
	if o == nil || m == nil || o == m || o.IsUser() || o.Live(at) || !m.Listed() && !m.IsUser() {
		return c.Machine == ""
	}
	s.sit(o, "", false)
	shared := s.mentioning(o)
	s.takeNames(o, m)
	s.takeDuties(o, m, at)
	s.takeKeys(o, m)
	for _, r := range shared {
		r.rebind(o, m)
		s.fileOpen(r)
		if r.Sender == m {
			m.Sent.Add(r)
		}
		s.refile(r, m)
		s.offerMerged(r)
	}
	maps.DeleteFunc(s.Waited, func(a Arrival, _ struct{}) bool { return a.To == o })
	s.settle(m)
	return true
}

// mentioning returns the hot records that o sent, received or marked. Records on their way to the archive stay
// unchanged: there, names are read as they were written.
func (s *State) mentioning(o *Member) (all List) {
	for _, r := range s.Order {
		if r.Sender == o || r.BoundTo(o) != nil || r.MarksOf(o) != nil {
			all = append(all, r)
		}
	}
	return all
}

// rebind replaces o by m as the sender, recipient and reader of r.
func (r *Record) rebind(o, m *Member) {
	if r.Sender == o {
		r.Sender = m
	}
	for i := range r.Bound {
		b := &r.Bound[i]
		at := slices.Index(b.members, o)
		switch {
		case at < 0:
		case slices.Contains(b.members, m):
			b.members = slices.Delete(slices.Clone(b.members), at, at+1)
		default:
			b.members = slices.Clone(b.members)
			b.members[at] = m
		}
	}
	at := slices.IndexFunc(r.marks, func(k marks) bool { return k.Who == o })
	if at < 0 {
		return
	}
	theirs := r.marks[at]
	if mine := r.MarksOf(m); mine != nil {
		mine.join(theirs)
		r.marks = slices.Delete(slices.Clone(r.marks), at, at+1)
		return
	}
	r.marks[at].Who = m
}

// join merges the marks of another reader that is now the same: mail that either has read is read. If one has read
// mail that the other has not, the room records it in receipts after the merge (check.Merge), because a replay of a
// compacted journal treats both as one from the beginning, and the later mark as the last word.
func (k *marks) join(o marks) {
	k.read, k.Archived = max(k.read, o.read), max(k.Archived, o.Archived)
	was, other := k.Shown(), o.Shown()
	if other.Presented > was.Presented {
		was.Presented, was.presentedDoor = other.Presented, other.presentedDoor
	}
	k.setShown(was)
}

// MarkedByOne returns receipts that mark for m what o has read and archived, for mail that both have marked.
func (s *State) MarkedByOne(o, m *Member) (all []mail.Receipt) {
	reader := mail.AgentAddress(m.Name)
	for _, r := range s.mentioning(o) {
		theirs, mine := r.MarksOf(o), r.MarksOf(m)
		if theirs == nil || mine == nil {
			continue
		}
		if theirs.read != 0 && mine.read == 0 {
			all = append(all, mail.Receipt{Message: r.Msg.ID, Reader: reader, Mark: mail.MarkRead})
		}
		if theirs.Archived != 0 && mine.Archived == 0 {
			all = append(all, mail.Receipt{Message: r.Msg.ID, Reader: reader, Mark: mail.MarkArchived})
		}
	}
	return all
}

// takeNames makes all names of o lead to m, and takes o off the roster.
func (s *State) takeNames(o, m *Member) {
	for d := range s.Agents() {
		if d.Parent == o.Name {
			d.Parent = m.Name
			if d == m || m.IsUser() {
				d.Parent = ""
			}
		}
	}
	if o.Listed() {
		s.delist(o)
	}
	theirs := append(slices.Clone(o.Aliases), o.Name)
	for _, n := range theirs {
		s.Members[n] = m
	}
	m.Aliases, m.Merged = union(m.Aliases, theirs), append(m.Merged, theirs...)
	s.askers = slices.DeleteFunc(s.askers, func(a *Member) bool { return a == o })
}

// takeDuties gives m the roles and tags of o, except the role that only the person gives, and removes everything by
// which o could be reached and known.
func (s *State) takeDuties(o, m *Member, at mail.Time) {
	delete(s.Tokens, o.TokenSum)
	s.Ended = true
	s.leaveProgram(o)
	move(s.Bases, o, []string{string(o.Base)}, nil)
	move(s.Roles, o, o.Roles, nil)
	move(s.Tags, o, o.Tags, nil)
	given := slices.DeleteFunc(slices.Clone(o.Roles), func(r string) bool { return r == string(mail.Orchestrator) })
	s.setRoles(m, union(m.Roles, given))
	s.setTags(m, union(m.Tags, o.Tags), at)
}

// union returns the words of a, and those of b that are not among them.
func union[T comparable](a, b []T) []T {
	all := slices.Clone(a)
	for _, word := range b {
		if !slices.Contains(all, word) {
			all = append(all, word)
		}
	}
	return all
}

// describe gives the user, who is on no roster, the roles and tags that go with one of the names that lead to them.
func (s *State) describe(user *Member, c *mail.AgentChange, at mail.Time) {
	s.setRoles(user, c.Roles)
	if c.Tags != nil {
		s.setTags(user, slices.Clone(c.Tags), at)
	}
}

// takeKeys makes the idempotency keys of o those of m.
func (s *State) takeKeys(o, m *Member) {
	if m.keys == nil && len(o.keys) > 0 {
		m.keys = make(map[string]*Record)
	}
	for _, r := range o.keys {
		m.keys[r.keyOf(m)] = r
	}
	s.Spent.pass(o, m)
}
