// Package confusable knows which ASCII character a reader takes a character for.
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

// marked is set in an entry whose character has a stroke or a hook that the ASCII character lacks, as đ and ø have.
const marked = 0x80

// Like returns the ASCII letter, digit, bracket, stroke, hyphen or equals sign that r looks like, 0 if it looks like
// none, and whether r bears a mark that tells them apart on a second look. Case is kept, and what Unicode decomposes
// is not here: normalise to NFKD or NFKC before.
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

// Skeleton returns ASCII text with one letter for all those that look alike in it: I, i, 1 and | for l, 0 for o, m
// for rn. Lower case stands for both.
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
