package fold

import (
	"cmp"
	"container/heap"
	"iter"
	"slices"

	"pennypost/internal/mail"
)

// Lists are in order of arrival. Bridges and imports bring in mail that was sent long before; a query for mail by
// time of sending uses the zones of the index, few of which overlap the time of a page.

// Span is a range in order of sending. Messages of one time are in the order of the journal: after and before are
// sequence numbers among those of since and until. A before of 0 excludes all of until; an until of 0 is no end.
type Span struct {
	Since, Until  mail.Time
	After, Before mail.Seq
}

func (w Span) has(r *Record) bool {
	sent := r.Msg.Sent
	return (w.Since == 0 || sent > w.Since || sent == w.Since && r.Seq > w.After) &&
		(w.Until == 0 || sent < w.Until || sent == w.Until && r.Seq < w.Before)
}

// sentWithin reports whether a time is not before since and, unless that is 0, before until.
func sentWithin(sent, since, until mail.Time) bool {
	return sent >= since && (until == 0 || sent < until)
}

// bySent yields the records of several lists that lie in a span, the last sent first, each once. It looks at no more
// zones than it must, so a page of mail that arrived as it was sent costs the same wherever it is.
func (s *State) bySent(lists []List, in Span) iter.Seq[*Record] {
	zones := slices.DeleteFunc(slices.Clone(s.index.zones), func(z zone) bool {
		return z.last < in.Since || in.Until != 0 && z.first > in.Until
	})
	slices.SortFunc(zones, func(a, b zone) int {
		return cmp.Or(cmp.Compare(b.last, a.last), cmp.Compare(b.from, a.from))
	})
	return func(yield func(*Record) bool) {
		var ahead latest // of the zones so far
		var last *Record
		for i, z := range zones {
			for _, l := range lists {
				for _, r := range l.After(z.from - 1).Before(z.from + zoneSize) {
					if in.has(r) {
						heap.Push(&ahead, r)
					}
				}
			}
			for len(ahead) > 0 && (i+1 == len(zones) || zones[i+1].before(ahead[0])) {
				r := heap.Pop(&ahead).(*Record)
				if r != last && !yield(r) {
					return
				}
				last = r
			}
		}
	}
}

// before reports whether everything in a zone was sent before e.
func (z *zone) before(e entry) bool {
	return z.last < e.sent || z.last == e.sent && z.from+zoneSize <= e.seq
}

// entry is a record with its sort keys, which are compared more often than the record is looked at.
type entry struct {
	sent mail.Time
	seq  mail.Seq
	*Record
}

// latest is a heap: the record that was sent last comes first.
type latest []entry

func (h latest) Len() int { return len(h) }
func (h latest) Less(i, j int) bool {
	return h[i].sent > h[j].sent || h[i].sent == h[j].sent && h[i].seq > h[j].seq
}
func (h latest) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *latest) Push(x any) {
	r := x.(*Record)
	*h = append(*h, entry{r.Msg.Sent, r.Seq, r})
}
func (h *latest) Pop() any {
	n := len(*h) - 1
	r := (*h)[n].Record
	*h = (*h)[:n]
	return r
}

// BySentTime compares items by time of sending, those of one time by their sequence numbers.
func BySentTime(a, b mail.Item) int {
	return cmp.Or(cmp.Compare(a.Sent, b.Sent), cmp.Compare(a.Seq, b.Seq))
}

// SentBefore reports whether a message with this key was sent.
func (s *State) SentBefore(k SentKey) bool {
	_, spent := s.Spent.ByKey[k]
	return spent || k.Record() != nil
}
