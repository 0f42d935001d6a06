package mailroom

import (
	"cmp"
	"container/heap"
	"iter"
	"slices"

	"pennypost/internal/mail"
)

// Lists are in order of arrival. Bridges and imports bring in mail that was sent long before; who asks for mail by
// time of sending gets it from the zones of the index, of which few reach into the time of a page.

// span is a part of what there is in order of sending. Among messages of one time the order is that of the journal:
// after and before are places among those of since and until. A before of 0 excludes all of until; an until of 0 is no
// end.
type span struct {
	since, until  mail.Time
	after, before mail.Seq
}

func (w span) has(r *record) bool {
	sent := r.msg.Sent
	return (w.since == 0 || sent > w.since || sent == w.since && r.seq > w.after) &&
		(w.until == 0 || sent < w.until || sent == w.until && r.seq < w.before)
}

// sentWithin reports whether a time is not before since and, unless that is 0, before until.
func sentWithin(sent, since, until mail.Time) bool {
	return sent >= since && (until == 0 || sent < until)
}

// bySent yields the records of several lists that lie in a span, those that were sent last first, each once. It looks
// at no more zones than it must, so a page of mail that arrived as it was sent costs the same wherever it is.
func (s *state) bySent(lists []list, in span) iter.Seq[*record] {
	zones := slices.DeleteFunc(slices.Clone(s.index.zones), func(z zone) bool {
		return z.last < in.since || in.until != 0 && z.first > in.until
	})
	slices.SortFunc(zones, func(a, b zone) int {
		return cmp.Or(cmp.Compare(b.last, a.last), cmp.Compare(b.from, a.from))
	})
	return func(yield func(*record) bool) {
		var ahead latest // of the zones so far
		var last *record
		for i, z := range zones {
			for _, l := range lists {
				for _, r := range l.after(z.from - 1).before(z.from + zoneSize) {
					if in.has(r) {
						heap.Push(&ahead, r)
					}
				}
			}
			for len(ahead) > 0 && (i+1 == len(zones) || zones[i+1].before(ahead[0])) {
				r := heap.Pop(&ahead).(*record)
				if r != last && !yield(r) {
					return
				}
				last = r
			}
		}
	}
}

// before reports whether all that is in a zone was sent before e.
func (z *zone) before(e entry) bool {
	return z.last < e.sent || z.last == e.sent && z.from+zoneSize <= e.seq
}

// entry is a record with what it is ordered by, which is compared more often than the record is looked at.
type entry struct {
	sent mail.Time
	seq  mail.Seq
	*record
}

// latest is a heap: what was sent last comes first.
type latest []entry

func (h latest) Len() int { return len(h) }
func (h latest) Less(i, j int) bool {
	return h[i].sent > h[j].sent || h[i].sent == h[j].sent && h[i].seq > h[j].seq
}
func (h latest) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *latest) Push(x any) {
	r := x.(*record)
	*h = append(*h, entry{r.msg.Sent, r.seq, r})
}
func (h *latest) Pop() any {
	n := len(*h) - 1
	r := (*h)[n].record
	*h = (*h)[:n]
	return r
}

func bySentTime(a, b mail.Item) int {
	return cmp.Or(cmp.Compare(a.Sent, b.Sent), cmp.Compare(a.Seq, b.Seq))
}
