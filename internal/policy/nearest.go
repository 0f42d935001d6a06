package policy

import (
	"cmp"
	"slices"
	"strings"

	"pennypost/internal/mail"
)

// Nearest returns up to n of words that a person may have meant by word, nearest first: those within an edit distance
// of a third of its length (at least two), and those that contain it or that it contains. At equal distance, one with
// the same letters comes first. Case does not count. A word of more than maxWord bytes is near none: comparing a
// megabyte with a roster would take minutes.
func Nearest(word string, words []string, n int) []string {
	if len(word) > maxWord {
		return []string{}
	}
	type scored struct {
		word     string
		distance int
		swapped  int // 0: the same letters
	}
	var near []scored
	w := []rune(strings.ToLower(word))
	limit := max(2, len(w)/3)
	for _, c := range words {
		lower := strings.ToLower(c)
		_, bare, ok := strings.Cut(lower, ":")
		d := distance(w, []rune(lower))
		if ok {
			d = min(d, distance(w, []rune(bare)))
		}
		if d > limit && len(w) >= 2 && (strings.Contains(lower, string(w)) || strings.Contains(string(w), lower)) {
			d = limit
		}
		if d <= limit {
			near = append(near, scored{c, d, slices.Compare(letters(w), letters([]rune(lower)))})
		}
	}
	slices.SortStableFunc(near, func(a, b scored) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(a.swapped*a.swapped, b.swapped*b.swapped))
	})
	out := make([]string, 0, n)
	for _, s := range near[:min(n, len(near))] {
		out = append(out, s.word)
	}
	return out
}

// letters returns the sorted letters of a word.
func letters(word []rune) []rune { return slices.Sorted(slices.Values(word)) }

// maxWord is more than the length of the longest address, with its kind and room, in bytes.
const maxWord = 4 * mail.MaxName

// distance is the number of characters to insert, delete, replace or swap with their neighbour to turn a into b.
func distance(a, b []rune) int {
	before, last, this := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range a {
		this[0] = i + 1
		for j := range b {
			this[j+1] = min(last[j+1], this[j]) + 1
			if a[i] == b[j] {
				this[j+1] = min(this[j+1], last[j])
			} else {
				this[j+1] = min(this[j+1], last[j]+1)
			}
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				this[j+1] = min(this[j+1], before[j-1]+1)
			}
		}
		before, last, this = last, this, before
	}
	return last[len(b)]
}
