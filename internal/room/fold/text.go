package fold

import (
	"cmp"
	"slices"

	"pennypost/internal/mail"
)

// Spot is a message and its sequence number.
type Spot struct {
	ID  mail.ID
	Seq mail.Seq
}

// In returns the message from events, which are in order; nil if it is not among them.
func (at Spot) In(events []mail.Event) *mail.Message {
	i, found := slices.BinarySearchFunc(events, at.Seq, func(e mail.Event, seq mail.Seq) int {
		return cmp.Compare(e.Seq, seq)
	})
	if !found || events[i].Message == nil || events[i].Message.ID != at.ID {
		return nil
	}
	return events[i].Message
}

// Spot returns where r's text is.
func (r *Record) Spot() Spot { return Spot{r.Msg.ID, r.Seq} }
