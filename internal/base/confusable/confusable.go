// Package confusable maps characters to the ASCII characters that they look like.
package confusable

//go:generate go run generate.go confusables.txt

import (
	"slices"
	"strings"
)

type entry struct {
	r  rune
	as byte // and marked
}

// marked is set in an entry whose character has a stroke or hook that the ASCII character lacks, as đ and ø have.
const marked = 0x80

// Like returns the ASCII letter, digit, bracket, slash, bar, hyphen or equals sign that r looks like, 0 if there is
// none, and whether r has a mark that tells them apart on a second look. Case is kept. The table omits characters that
// Unicode decomposes: normalise to NFKD or NFKC first.
func Like(r rune) (like byte, mark bool) {
	if r < 0x80 {
		return 0, false
	}
	i, found := slices.BinarySearchFunc(table[:], r, func(e entry, r rune) int { return int(e.r - r) })
	if !found {
		return 0, false
	}
	return table[i].as &^ marked, table[i].as&marked != 0
}

// Skeleton returns ASCII text with look-alikes folded to one letter: I, i, 1 and | to l, 0 to o, rn to m. Upper case
// becomes lower case.
func Skeleton(s string) string {
	s = strings.Map(func(r rune) rune {
		switch r {
		case 'I', 'i', '1', '|':
			return 'l'
		case '0':
			return 'o'
		}
		if r >= 'A' && r <= 'Z' {
			return r | 0x20
		}
		return r
	}, s)
	return strings.ReplaceAll(s, "rn", "m")
}
