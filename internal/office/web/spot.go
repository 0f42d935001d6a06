package web

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"pennypost/internal/mail"
)

// spot is where a message stands in a list by time of sending; among those of one time the journal's order holds. The
// zero spot is none.
type spot struct {
	sent mail.Time
	seq  mail.Seq
}

func spotOf(it *mail.Item) spot { return spot{it.Sent, it.Seq} }

// String is the spot as it stands in addresses.
func (s spot) String() string { return fmt.Sprintf("%d-%d", s.sent, s.seq) }

// compare orders spots, the earlier first.
func (s spot) compare(o spot) int {
	return cmp.Or(cmp.Compare(s.sent, o.sent), cmp.Compare(s.seq, o.seq))
}

// before reports whether s stands before o, and so was sent earlier.
func (s spot) before(o spot) bool { return s.compare(o) < 0 }

// parseSpot reads a spot of an address; "" is none.
func parseSpot(text string) (spot, error) {
	if text == "" {
		return spot{}, nil
	}
	i := strings.LastIndexByte(text, '-')
	sent, err := strconv.ParseInt(text[:max(i, 0)], 10, 64)
	seq, err2 := strconv.ParseUint(text[i+1:], 10, 63)
	if err != nil || err2 != nil {
		return spot{}, mail.Errorf(mail.Invalid, "%q is no place in a list", text)
	}
	return spot{mail.Time(sent), mail.Seq(seq)}, nil
}
