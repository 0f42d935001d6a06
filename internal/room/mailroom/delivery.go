package mailroom

import (
	"slices"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
)

// deliveries says where r stands with everybody it is for, each once, through the first address that reaches them.
func (s *state) deliveries(r *record, now mail.Time) []mail.Delivery {
	out := make([]mail.Delivery, 0, len(r.bound)+len(r.dynamic))
	add := func(a mail.Address, m *member) {
		if !slices.ContainsFunc(out, func(d mail.Delivery) bool { return d.Agent == m.Name }) {
			out = append(out, s.delivery(r, a, m, now))
		}
	}
	for i := range r.bound {
		b := &r.bound[i]
		if len(b.members) == 0 {
			out = append(out, s.undelivered(r, b, now))
		}
		for _, m := range b.members {
			add(b.address, m)
		}
	}
	for _, a := range r.dynamic {
		audience := s.audience(r, a)
		for _, m := range audience {
			add(a, m)
		}
		if len(audience) == 0 {
			out = append(out, mail.Delivery{Address: a, State: s.waiting(r, a, now), Wake: mail.WakeNone})
		}
	}
	return out
}

// audience returns who is or was behind a dynamic address: those who carry it now and were registered before it
// expired, and those who left a mark, whatever became of them since.
func (s *state) audience(r *record, a mail.Address) []*member {
	expires := s.expiry(r, a, nil)
	var out []*member
	for m := range s.agents() {
		if m != r.sender && policy.Carries(m.Tags, a) && !policy.Past(expires, m.Registered) {
			out = append(out, m)
		}
	}
	slices.SortFunc(out, byName)
	for i := range r.marks {
		if m := r.marks[i].who; !r.reaches(m) {
			out = append(out, m)
		}
	}
	return out
}

// undelivered is the delivery of an address with nobody behind it.
func (s *state) undelivered(r *record, b *bound, now mail.Time) mail.Delivery {
	state := s.waiting(r, b.address, now)
	if b.isRole() && state == mail.Queued {
		return mail.Delivery{Address: b.address, State: mail.Held, Wake: s.wakeHeld(r, b.address.Value())}
	}
	return mail.Delivery{Address: b.address, State: state, Wake: mail.WakeNone}
}

func (s *state) waiting(r *record, a mail.Address, now mail.Time) mail.DeliveryState {
	if policy.Past(s.expiry(r, a, nil), now) {
		return mail.Expired
	}
	return mail.Queued
}

// delivery says where r stands with m, whom it reached through a.
func (s *state) delivery(r *record, a mail.Address, m *member, now mail.Time) mail.Delivery {
	d := mail.Delivery{Address: a, Agent: m.Name, Wake: mail.WakeNone}
	k := r.marksOf(m)
	if k == nil {
		k = &marks{}
	}
	standing := policy.DeliveryFacts{
		Archived: k.archived, Read: k.read, Presented: k.presented, Notified: k.notified,
		Expires: s.expiry(r, a, m), Direct: a.Kind() == mail.ToAgent, Away: m.away() && !s.hasDoor(m),
	}
	d.State, d.At = standing.State(now)
	switch d.State {
	case mail.Presented:
		d.Door = k.presentedDoor
	case mail.Notified:
		d.Door = k.notifiedDoor
	}
	if d.State == mail.Queued || d.State == mail.Notified {
		d.Wake, d.PutOff = s.wake(m, r, a, now)
	}
	return d
}

// away reports whether m is nobody who could read: its last session has ended, or it is not on the roster.
func (m *member) away() bool { return !m.isUser() && (m.Retired || m.State == mail.Gone) }

// item shows r as m sees it, or as nobody in particular does if m is nil.
func (s *state) item(r *record, m *member, now mail.Time) mail.Item {
	it := mail.Item{Message: r.msg, Seq: r.seq}
	it.Key = "" // the sender's connection needed it, and nobody else
	if m == nil {
		return it
	}
	it.Read = r.readBy(m)
	it.Snoozed = r.snoozedBy(m, now)
	if a, expires, ok := s.lasting(r, m); ok {
		it.Expires = expires
		it.State = s.delivery(r, a, m, now).State
	} else if k := r.marksOf(m); k != nil && k.read != 0 {
		it.State = mail.Read
	}
	return it
}

// settledEverywhere reports whether everybody that r reaches has read it or can no longer, and whether all have read
// it.
func (s *state) settledEverywhere(r *record, now mail.Time) (settled, read bool) {
	settled, read = true, true
	for _, d := range s.deliveries(r, now) {
		switch d.State {
		case mail.Read, mail.Archived:
		case mail.Expired, mail.Dead:
			read = false
		default:
			settled, read = false, false
		}
	}
	return settled, read
}

// unsettledRole reports whether r is role mail that still waits for its holder to read it.
func (s *state) unsettledRole(r *record, now mail.Time) bool {
	for i := range r.bound {
		b := &r.bound[i]
		if !b.isRole() || policy.Past(s.expiry(r, b.address, nil), now) {
			continue
		}
		if h := b.holder(); h == nil || !r.settledBy(h) {
			return true
		}
	}
	return false
}
