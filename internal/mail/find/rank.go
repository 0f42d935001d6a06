package find

import (
	"bytes"
	"cmp"
	"slices"
)

// near is within how many bytes of folded text words stand near each other: two lines or so.
const near = 160

// Rank says how well a message that has what q asks for fits, among those of its conversation: 2 if the subject has
// all of it, 1 if all of it stands near each other, 0 if it is scattered.
func (q Query) Rank(subject, body string) int {
	s := Fold(nil, subject)
	switch {
	case q.In(s):
		return 2
	case q.span(s) <= near, q.span(Fold(nil, body)) <= near:
		return 1
	}
	return 0
}

// span returns the length of the shortest part of a text that has all terms, and more than near if none has.
func (q Query) span(text []byte) int {
	type hit struct{ at, term int }
	var hits []hit
	for i, term := range q.terms {
		for at := 0; ; at++ {
			next := bytes.Index(text[at:], term)
			if next < 0 {
				break
			}
			at += next
			hits = append(hits, hit{at, i})
		}
	}
	slices.SortFunc(hits, func(a, b hit) int { return cmp.Compare(a.at, b.at) })
	last := make([]int, len(q.terms)) // where each term began last, and 1
	best := near + 1
	for _, h := range hits {
		last[h.term] = h.at + 1
		if first := slices.Min(last); first > 0 {
			best = min(best, h.at+len(q.terms[h.term])-(first-1))
		}
	}
	return best
}
