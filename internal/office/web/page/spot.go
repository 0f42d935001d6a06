package page

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"pennypost/internal/mail"
)

// Spot is the place of a message in a list by time of sending; among those of one time the journal's order holds. The
// zero spot is none.
type Spot struct {
	Sent mail.Time
	Seq  mail.Seq
}

// SpotOf returns where a message stands.
func SpotOf(it *mail.Item) Spot { return Spot{it.Sent, it.Seq} }

// String is the spot as addresses spell it.
func (s Spot) String() string { return fmt.Sprintf("%d-%d", s.Sent, s.Seq) }

// Compare orders spots, the earlier first.
func (s Spot) Compare(o Spot) int {
	return cmp.Or(cmp.Compare(s.Sent, o.Sent), cmp.Compare(s.Seq, o.Seq))
}

// Before reports whether s stands before o, and so was sent earlier.
func (s Spot) Before(o Spot) bool { return s.Compare(o) < 0 }

// ParseSpot reads a spot of an address; "" is none.
func ParseSpot(text string) (Spot, error) {
	if text == "" {
		return Spot{}, nil
	}
	i := strings.LastIndexByte(text, '-')
	sent, err := strconv.ParseInt(text[:max(i, 0)], 10, 64)
	seq, err2 := strconv.ParseUint(text[i+1:], 10, 63)
	if err != nil || err2 != nil {
		return Spot{}, mail.Errorf(mail.Invalid, "%q is no place in a list", text)
	}
	return Spot{mail.Time(sent), mail.Seq(seq)}, nil
}
