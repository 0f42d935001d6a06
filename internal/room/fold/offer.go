package fold

import (
	"slices"

	"pennypost/internal/mail"
)

// Mail to a role is given to one holder at a time or, with AudienceHolders, offered to all live holders at once: it
// is in the mailboxes of all of them. The first of them to read or archive it takes it, and it leaves the others'
// mailboxes. If the reader takes that back, or held mail finds holders, it is offered again. Bound says to whom it is
// offered, and the marks whether it was taken, so there is nothing else to remember.

// isOffer reports whether all live holders of a role see r until one has read it. A cancel stops one holder.
func (r *Record) isOffer() bool {
	return r.Msg.Audience == mail.AudienceHolders && !r.Msg.Type.Rule().Stops
}

// offered reports whether role mail at b is offered to holders and none has taken it.
func (r *Record) offered(b *bound) bool {
	return r.isOffer() && b.IsRole() && len(b.members) > 0 && !slices.ContainsFunc(b.members, r.SettledBy)
}

// offer offers the role mail at r.Bound[i] to the live holders, or holds it. A holder that has read it through
// another address is not asked to read it again.
func (s *State) offer(r *Record, i int) {
	b := &r.Bound[i]
	role := b.address.Value()
	var to []*Member
	for _, name := range s.holders(role, r.Sender) {
		if m := s.Agent(name); !r.SettledBy(m) {
			to = append(to, m)
		}
	}
	here := func(m *Member) bool { return slices.Contains(b.members, m) }
	if len(to) != len(b.members) || !all(to, here) {
		s.give(r, b, to)
	}
	now, before := s.Offered, s.Held
	if len(to) == 0 {
		now, before = before, now
	}
	remove(before, role, r)
	insert(now, role, r)
}

// offerTo offers the mail that the other holders of a role are offered to m, who has become one of them. All of it
// has the same holders, except its senders and readers: so if m is a holder of one message it is one of all.
func (s *State) offerTo(m *Member, role string) {
	for _, r := range s.Offered[role] {
		if r.Sender != m && !r.SettledBy(m) {
			if r.offeredTo(m, role) {
				return
			}
			break
		}
	}
	for _, r := range slices.Clone(s.Offered[role]) {
		for i := range r.Bound {
			if b := &r.Bound[i]; r.offered(b) && b.address.Value() == role {
				s.offer(r, i)
			}
		}
		s.deliver(r)
	}
}

// offeredTo reports whether r is offered to m as a holder of a role.
func (r *Record) offeredTo(m *Member, role string) bool {
	return slices.ContainsFunc(r.Bound, func(b bound) bool {
		return b.IsRole() && b.address.Value() == role && slices.Contains(b.members, m)
	})
}

// takeOffers makes m, who reads or archives r, its only holder where it is offered to m.
func (s *State) takeOffers(r *Record, m *Member) {
	for i := range r.Bound {
		if b := &r.Bound[i]; r.offered(b) && slices.Contains(b.members, m) {
			s.takeAt(r, b, m)
		}
	}
}

// takeAt makes m the holder of the role mail at b.
func (s *State) takeAt(r *Record, b *bound, m *Member) {
	remove(s.Held, b.address.Value(), r)
	remove(s.Offered, b.address.Value(), r)
	s.give(r, b, []*Member{m})
}

// offerAgain offers mail again that m had taken, and takes back with a mark that it has read it.
func (s *State) offerAgain(r *Record, m *Member, mark mail.Mark) {
	if mark != mail.MarkUnread && mark != mail.MarkUnarchived || r.SettledBy(m) {
		return
	}
	for i := range r.Bound {
		if b := &r.Bound[i]; r.offered(b) {
			s.offer(r, i)
			s.deliver(r)
		}
	}
}

// Taker returns the holder of a role who has read r, nil if none has.
func (r *Record) Taker() *Member {
	for i := range r.Bound {
		if h := r.Bound[i].Holder(); r.Bound[i].IsRole() && h != nil && r.SettledBy(h) {
			return h
		}
	}
	return nil
}

// offerMerged offers r again after one of its holders or its sender has become another. If one of the holders now has
// read it, that one took it.
func (s *State) offerMerged(r *Record) {
	if !r.isOffer() {
		return
	}
	for i := range r.Bound {
		b := &r.Bound[i]
		if !b.IsRole() {
			continue
		}
		switch taker := slices.IndexFunc(b.members, r.SettledBy); {
		case taker < 0:
			s.offer(r, i)
		case len(b.members) > 1:
			s.takeAt(r, b, b.members[taker])
		default: // by this very one, which may have been one of several until now
			remove(s.Offered, b.address.Value(), r)
		}
	}
	s.deliver(r)
}

// all reports whether a condition holds for all of some members.
func all(members []*Member, holds func(*Member) bool) bool {
	return !slices.ContainsFunc(members, func(m *Member) bool { return !holds(m) })
}

// insert adds r to the list of a role.
func insert(lists map[string]List, role string, r *Record) {
	l := lists[role]
	l.Add(r)
	lists[role] = l
}

// remove takes r out of the list of a role.
func remove(lists map[string]List, role string, r *Record) {
	l, ok := lists[role]
	if !ok {
		return
	}
	if l.remove(r); len(l) == 0 {
		delete(lists, role)
		return
	}
	lists[role] = l
}
