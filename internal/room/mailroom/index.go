package mailroom

import (
	"cmp"
	"iter"
	"slices"

	"pennypost/internal/mail"
)

// index finds the few records that a look is about among all that there are. Each of its lists may hold records that
// the look does not want, and lacks none that it does.
type index struct {
	to      map[mail.Address]list // by the address of a role, a tag or all, as it stands in the message
	threads map[mail.ID]list      // the replies of a thread, by the message that began it
	many    list                  // what is open and has an audience that is found out when somebody looks
	zones   []zone                // of state.order
	bits    map[mail.Type]uint32
}

// zone says what the records of a stretch of the journal lie between, so that a look can leave the whole of it out.
// Records that have gone may count among them.
type zone struct {
	from        mail.Seq  // where it begins
	first, last mail.Time // sent
	types       uint32    // a bit for each that is there, as index.bit gives it
}

const zoneSize = 1024 // places in the journal

func newIndex() index {
	return index{to: make(map[mail.Address]list), threads: make(map[mail.ID]list), bits: make(map[mail.Type]uint32)}
}

// add notes a new message.
func (x *index) add(r *record) {
	for _, a := range r.msg.To {
		if k := a.Kind(); k == mail.ToAgent || k == mail.ToPerson {
			continue // it stands in the lists of a member
		}
		l := x.to[a]
		l.add(r)
		x.to[a] = l
	}
	if root := r.msg.ThreadRoot(); root != r.msg.ID {
		l := x.threads[root]
		l.add(r)
		x.threads[root] = l
	}
	r.sender.sent.add(r)
	x.zone(r)
}

func (x *index) zone(r *record) {
	if n := len(x.zones); n == 0 || r.seq >= x.zones[n-1].from+zoneSize {
		x.zones = append(x.zones, zone{from: r.seq, first: r.msg.Sent, last: r.msg.Sent})
	}
	z := &x.zones[len(x.zones)-1]
	z.first, z.last = min(z.first, r.msg.Sent), max(z.last, r.msg.Sent)
	if x.bits[r.msg.Type] == 0 {
		x.bits[r.msg.Type] = 1 << min(len(x.bits), 31) // the last is shared
	}
	z.types |= x.bits[r.msg.Type]
}

// forget drops the records that are gone. order is what is left.
func (x *index) forget(gone, order list) {
	first, last := gone[0].seq, gone[len(gone)-1].seq
	to, threads := make(map[mail.Address]bool), make(map[mail.ID]bool)
	for _, r := range gone {
		for _, a := range r.msg.To {
			to[a] = true
		}
		threads[r.msg.ThreadRoot()] = true
	}
	dropAll(x.to, to, first, last)
	dropAll(x.threads, threads, first, last)
	x.many.dropGone(first, last)
	n := 0
	for n < len(x.zones) && (len(order) == 0 || x.zones[n].from+zoneSize <= order[0].seq) {
		n++
	}
	x.zones = slices.Delete(x.zones, 0, n)
}

// dropAll drops from some of the lists of a map what is gone between two places.
func dropAll[K comparable](lists map[K]list, some map[K]bool, first, last mail.Seq) {
	for k := range some {
		l := lists[k]
		if l.dropGone(first, last); len(l) == 0 {
			delete(lists, k)
		} else {
			lists[k] = l
		}
	}
}

// candidates yields, in the order in which f wants them and from a place on, the records among which all are that f
// accepts.
func (s *state) candidates(f *filter, from mail.Seq) iter.Seq[*record] {
	var best []list
	size := len(s.order)
	consider := func(lists ...list) {
		n := 0
		for i := range lists {
			lists[i] = f.behind(lists[i], from)
			n += len(lists[i])
		}
		if n <= size {
			best, size = lists, n
		}
	}
	if f.q.Open {
		consider(s.open)
	}
	if f.root != "" {
		root := list{}
		if r := s.records[f.root]; r != nil {
			root = list{r}
		}
		consider(root, s.index.threads[f.root])
	}
	if m := s.members[f.from.Signer()]; m != nil && plain(f.from) {
		consider(m.sent)
	}
	if plain(f.to) {
		k, m := f.to.Kind(), s.members[f.to.Signer()]
		switch {
		case k != mail.ToAgent && k != mail.ToPerson:
			consider(s.index.to[f.to])
		case m != nil:
			consider(m.all, m.rest)
		}
	}
	if f.agent != nil {
		consider(s.about(f.agent)...)
	}
	newest := f.newest
	switch {
	case f.q.BySent && best == nil:
		return s.bySent([]list{s.order}, f.span)
	case f.q.BySent:
		return s.bySent(best, f.span)
	case best == nil:
		return s.inZones(f, from)
	}
	return merged(best, newest)
}

// behind returns the part of a list behind a place or, where the newest come first, before it.
func (f *filter) behind(l list, from mail.Seq) list {
	if f.newest {
		return l.after(f.after).before(from)
	}
	return l.after(from).before(f.before)
}

// plain reports whether sameAddress holds between an address and itself only.
func plain(a mail.Address) bool {
	_, _, far := a.Far()
	return a != "" && !far && a.Value() != string(mail.Orchestrator)
}

// about lists what was sent by or delivered to m, and what its tags lead to.
func (s *state) about(m *member) []list {
	lists := []list{m.sent, m.all, m.rest, s.index.to[mail.ToAll]}
	for _, tag := range m.Tags {
		lists = append(lists, s.index.to[mail.Address(tag)])
	}
	return lists
}

// inZones yields all records but those of zones in which f accepts none.
func (s *state) inZones(f *filter, from mail.Seq) iter.Seq[*record] {
	var types uint32
	for _, t := range f.q.Types {
		types |= s.index.bits[t]
	}
	order, newest := f.behind(s.order, from), f.newest
	return func(yield func(*record) bool) {
		for n := range len(s.index.zones) {
			i := n
			if newest {
				i = len(s.index.zones) - 1 - n
			}
			z := &s.index.zones[i]
			if len(f.q.Types) > 0 && z.types&types == 0 || z.last < f.q.Since ||
				f.q.Until != 0 && z.first >= f.q.Until {
				continue
			}
			for _, r := range order.after(z.from - 1).before(z.from + zoneSize).inOrder(newest) {
				if !yield(r) {
					return
				}
			}
		}
	}
}

// merged yields the records of several lists in journal order, or newest first, each once. It takes no more of them
// than it yields.
func merged(lists []list, newest bool) iter.Seq[*record] {
	next := func(l list) *record {
		if newest {
			return l[len(l)-1]
		}
		return l[0]
	}
	return func(yield func(*record) bool) {
		left := slices.DeleteFunc(slices.Clone(lists), func(l list) bool { return len(l) == 0 })
		var last *record
		for len(left) > 0 {
			at := 0
			for i := range left {
				c := cmp.Compare(next(left[i]).seq, next(left[at]).seq)
				if newest && c > 0 || !newest && c < 0 {
					at = i
				}
			}
			r := next(left[at])
			if newest {
				left[at] = left[at][:len(left[at])-1]
			} else {
				left[at] = left[at][1:]
			}
			if len(left[at]) == 0 {
				left = slices.Delete(left, at, at+1)
			}
			if r != last && !yield(r) {
				return
			}
			last = r
		}
	}
}
