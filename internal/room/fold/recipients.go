package fold

import (
	"cmp"
	"slices"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
)

// recipient is a member whom a record is for, and the address through which; who is nil if the address leads to no
// one.
type recipient struct {
	address mail.Address
	who     *Member
}

// recipients puts into out, which is empty, whom r is for, each once, through the first address that reaches them.
func (s *State) recipients(out []recipient, r *Record) []recipient {
	var known map[*Member]bool
	if len(r.Bound)+len(r.dynamic) > 1 || r.Msg.Type.Rule().Stops {
		known = make(map[*Member]bool)
	}
	add := func(a mail.Address, members []*Member) {
		if len(members) == 0 {
			out = append(out, recipient{a, nil})
		}
		for _, m := range members {
			if !known[m] {
				out = append(out, recipient{a, m})
			}
			if known != nil {
				known[m] = true
			}
		}
	}
	for i := range r.Bound {
		add(r.Bound[i].address, r.Bound[i].members)
	}
	for _, a := range r.dynamic {
		add(a, s.audience(r, a))
	}
	return out
}

// Deliveries returns the state of r for each of its recipients.
func (s Sight) Deliveries(r *Record, now mail.Time) []mail.Delivery {
	to := s.recipients(nil, r)
	out := make([]mail.Delivery, len(to))
	for i, t := range to {
		out[i] = s.deliveryTo(r, t, now)
	}
	return out
}

func (s Sight) deliveryTo(r *Record, t recipient, now mail.Time) mail.Delivery {
	if t.who != nil {
		return s.delivery(r, t.address, t.who, now)
	}
	state := s.waiting(r, t.address, now)
	if t.address.Kind() == mail.ToRole && state == mail.Queued {
		d := mail.Delivery{Address: t.address, State: mail.Held}
		d.Wake, d.PutOff, d.Machine = s.wakeHeld(r, t.address.Value(), now)
		return d
	}
	return mail.Delivery{Address: t.address, State: state, Wake: mail.WakeNone}
}

// showDeliveries puts into it the deliveries that a list shows: if there are many, those with marks first, and how
// many others there are.
func (s Sight) showDeliveries(it *mail.Item, r *Record, now mail.Time) {
	to := s.recipients(nil, r)
	if n := len(to); n > mail.MaxDeliveries {
		marked := make(map[*Member]bool, len(r.marks))
		for i := range r.marks {
			marked[r.marks[i].Who] = true
			if r.SettledBy(r.marks[i].Who) {
				it.ReadBy++
			}
		}
		slices.SortStableFunc(to, func(a, b recipient) int {
			return cmp.Compare(rank(marked[a.who]), rank(marked[b.who]))
		})
		to, it.Others = to[:mail.MaxDeliveries], n-mail.MaxDeliveries
	}
	for _, t := range to {
		it.Deliveries = append(it.Deliveries, s.deliveryTo(r, t, now))
	}
}

func rank(first bool) int {
	if first {
		return 0
	}
	return 1
}

// audience returns the members whom a dynamic address reaches or reached: those who carry it now and were registered
// before it expired, by name, and those who left a mark, whatever became of them since, by name too.
func (s *State) audience(r *Record, a mail.Address) []*Member {
	expires := s.expiry(r, a, nil)
	var out []*Member
	for _, m := range s.carriers(a) {
		if m != r.Sender && m.Listed() && !policy.Past(expires, m.Registered) {
			out = append(out, m)
		}
	}
	if a != mail.ToAll { // the roster is in order
		slices.SortFunc(out, ByName)
	}
	there := len(out)
	for i := range r.marks {
		if m := r.marks[i].Who; !r.Reaches(m) {
			out = append(out, m)
		}
	}
	slices.SortFunc(out[there:], ByName) // compaction may have taken the first mark
	return out
}
