package page

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"pennypost/internal/mail"
)

// Spot is a message's position in a list by time sent; equal times follow the journal. The zero spot is none.
type Spot struct {
	Sent mail.Time
	Seq  mail.Seq
}

// SpotOf returns the position of a message.
func SpotOf(it *mail.Item) Spot { return Spot{it.Sent, it.Seq} }

// String is the spot as written in addresses.
func (s Spot) String() string { return fmt.Sprintf("%d-%d", s.Sent, s.Seq) }

// Compare orders spots, earliest first.
func (s Spot) Compare(o Spot) int {
	return cmp.Or(cmp.Compare(s.Sent, o.Sent), cmp.Compare(s.Seq, o.Seq))
}

// Before reports whether s precedes o.
func (s Spot) Before(o Spot) bool { return s.Compare(o) < 0 }

// ParseSpot parses a spot; "" is the zero spot.
func ParseSpot(text string) (Spot, error) {
	if text == "" {
		return Spot{}, nil
	}
	i := strings.LastIndexByte(text, '-')
	sent, err := strconv.ParseInt(text[:max(i, 0)], 10, 64)
	seq, err2 := strconv.ParseUint(text[i+1:], 10, 63)
	if err != nil || err2 != nil {
		return Spot{}, mail.Errorf(mail.Invalid, "%q is not a position in a list", text)
	}
	return Spot{mail.Time(sent), mail.Seq(seq)}, nil
}
