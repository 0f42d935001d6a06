package fold

import (
	"cmp"
	"iter"
	"slices"

	"pennypost/internal/mail"
)

// index narrows a query to few records. Each of its lists may hold records that the query does not want, and lacks
// none that it does.
type index struct {
	to      map[mail.Address]List // by the address of a role, a tag or all, as the message has it
	threads map[mail.ID]List      // the replies of a thread, by the message that began it
	many    List                  // open questions with an audience that is found out on each look
	zones   []zone                // of State.Order
	bits    map[mail.Type]uint32
}

// zone bounds the records of a stretch of the journal, so that a query can skip all of it. Records that have gone may
// count among them.
type zone struct {
	from        mail.Seq  // where it begins
	first, last mail.Time // sent
	types       uint32    // a bit for each type in it, as index.bit gives it
}

const zoneSize = 1024 // sequence numbers

func newIndex() index {
	return index{to: make(map[mail.Address]List), threads: make(map[mail.ID]List), bits: make(map[mail.Type]uint32)}
}

// add notes a new message.
func (x *index) add(r *Record) {
	for _, a := range r.Msg.To {
		if k := a.Kind(); k == mail.ToAgent || k == mail.ToPerson {
			continue // it is in the lists of a member
		}
		l := x.to[a]
		l.Add(r)
		x.to[a] = l
	}
	if root := r.Msg.ThreadRoot(); root != r.Msg.ID {
		l := x.threads[root]
		l.Add(r)
		x.threads[root] = l
	}
	r.Sender.Sent.Add(r)
	x.zone(r)
}

func (x *index) zone(r *Record) {
	if n := len(x.zones); n == 0 || r.Seq >= x.zones[n-1].from+zoneSize {
		x.zones = append(x.zones, zone{from: r.Seq, first: r.Msg.Sent, last: r.Msg.Sent})
	}
	z := &x.zones[len(x.zones)-1]
	z.first, z.last = min(z.first, r.Msg.Sent), max(z.last, r.Msg.Sent)
	if x.bits[r.Msg.Type] == 0 {
		x.bits[r.Msg.Type] = 1 << min(len(x.bits), 31) // the last is shared
	}
	z.types |= x.bits[r.Msg.Type]
}

// forget drops the records that are gone. order is the rest.
func (x *index) forget(gone, order List) {
	first, last := gone[0].Seq, gone[len(gone)-1].Seq
	to, threads := make(map[mail.Address]bool), make(map[mail.ID]bool)
	for _, r := range gone {
		for _, a := range r.Msg.To {
			to[a] = true
		}
		threads[r.Msg.ThreadRoot()] = true
	}
	dropAll(x.to, to, first, last)
	dropAll(x.threads, threads, first, last)
	x.many.DropGone(first, last)
	n := 0
	for n < len(x.zones) && (len(order) == 0 || x.zones[n].from+zoneSize <= order[0].Seq) {
		n++
	}
	x.zones = slices.Delete(x.zones, 0, n)
}

// dropAll drops from some lists of a map the records that are gone between two sequence numbers.
func dropAll[K comparable](lists map[K]List, some map[K]bool, first, last mail.Seq) {
	for k := range some {
		l := lists[k]
		if l.DropGone(first, last); len(l) == 0 {
			delete(lists, k)
		} else {
			lists[k] = l
		}
	}
}

// Candidates yields, in the order that f wants and from a sequence number on, records that include all those that f
// accepts.
func (s *State) Candidates(f *Filter, from mail.Seq) iter.Seq[*Record] {
	var best []List
	size := len(s.Order)
	consider := func(lists ...List) {
		n := 0
		for i := range lists {
			lists[i] = f.after(lists[i], from)
			n += len(lists[i])
		}
		if n <= size {
			best, size = lists, n
		}
	}
	if f.Q.Open {
		consider(s.Open)
	}
	if f.Root != "" {
		consider(s.thread(f.Root)...)
	}
	if m := s.Members[f.From.Signer()]; m != nil && plain(f.From) {
		consider(m.Sent)
	}
	if lists := s.sentTo(f.To); lists != nil {
		consider(lists...)
	}
	if f.Agent != nil {
		consider(s.about(f.Agent)...)
	}
	newest := f.Newest
	switch {
	case f.Q.BySent && best == nil:
		return s.bySent([]List{s.Order}, f.Span)
	case f.Q.BySent:
		return s.bySent(best, f.Span)
	case best == nil:
		return s.inZones(f, from)
	}
	return merged(best, newest)
}

// thread returns the lists of a thread: its first message, and the replies.
func (s *State) thread(root mail.ID) []List {
	if r := s.Records[root]; r != nil {
		return []List{{r}, s.index.threads[root]}
	}
	return []List{s.index.threads[root]}
}

// sentTo returns the lists that have the mail sent to an address; nil if there are none for it alone.
func (s *State) sentTo(a mail.Address) []List {
	if !plain(a) {
		return nil
	}
	if k := a.Kind(); k != mail.ToAgent && k != mail.ToPerson {
		return []List{s.index.to[a]}
	}
	if m := s.Members[a.Signer()]; m != nil {
		return []List{m.All, m.Rest}
	}
	return nil
}

// after returns the part of a list after a sequence number or, if the newest come first, before it.
func (f *Filter) after(l List, from mail.Seq) List {
	if f.Newest {
		return l.After(f.After).Before(from)
	}
	return l.After(from).Before(f.Before)
}

// plain reports whether SameAddress holds between an address and itself only.
func plain(a mail.Address) bool {
	_, _, far := a.Far()
	return a != "" && !far && a.Value() != string(mail.Orchestrator)
}

// about lists the mail sent by or delivered to m, and that of its tags.
func (s *State) about(m *Member) []List {
	lists := []List{m.Sent, m.All, m.Rest, s.index.to[mail.ToAll]}
	for _, tag := range m.Tags {
		lists = append(lists, s.index.to[mail.Address(tag)])
	}
	return lists
}

// inZones yields all records except those of zones in which f accepts none.
func (s *State) inZones(f *Filter, from mail.Seq) iter.Seq[*Record] {
	var types uint32
	for _, t := range f.Q.Types {
		types |= s.index.bits[t]
	}
	order, newest := f.after(s.Order, from), f.Newest
	return func(yield func(*Record) bool) {
		for n := range len(s.index.zones) {
			i := n
			if newest {
				i = len(s.index.zones) - 1 - n
			}
			z := &s.index.zones[i]
			if len(f.Q.Types) > 0 && z.types&types == 0 || z.last < f.Q.Since ||
				f.Q.Until != 0 && z.first >= f.Q.Until {
				continue
			}
			for _, r := range order.After(z.from - 1).Before(z.from + zoneSize).InOrder(newest) {
				if !yield(r) {
					return
				}
			}
		}
	}
}

// merged yields the records of several lists in journal order, or newest first, each once. It consumes no more of
// them than it yields.
func merged(lists []List, newest bool) iter.Seq[*Record] {
	next := func(l List) *Record {
		if newest {
			return l[len(l)-1]
		}
		return l[0]
	}
	return func(yield func(*Record) bool) {
		left := slices.DeleteFunc(slices.Clone(lists), func(l List) bool { return len(l) == 0 })
		var last *Record
		for len(left) > 0 {
			at := 0
			for i := range left {
				c := cmp.Compare(next(left[i]).Seq, next(left[at]).Seq)
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
