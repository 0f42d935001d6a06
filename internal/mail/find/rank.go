package find

import (
	"bytes"
	"cmp"
	"slices"
)

// near is the distance, in bytes of folded text, within which words are near each other: about two lines.
const near = 160

// Rank rates a message that matches q, among those of its conversation: 2 if the subject has all terms, 1 if all
// terms are near each other, 0 if they are scattered.
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

// span returns the length of the shortest part of a text that has all terms, or more than near if there is none
// that short.
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
	last := make([]int, len(q.terms)) // where each term last began, plus 1
	best := near + 1
	for _, h := range hits {
		last[h.term] = h.at + 1
		if first := slices.Min(last); first > 0 {
			best = min(best, h.at+len(q.terms[h.term])-(first-1))
		}
	}
	return best
}
