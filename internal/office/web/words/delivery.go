package words

import (
	"slices"
	"strconv"
	"time"

	"pennypost/internal/mail"
)

// Note describes a delivery in words.
type Note struct {
	State mail.DeliveryState
	Who   string
	Text  string
	Exact string // the state and the doors, in API terms
}

// Notes describes the delivery to each recipient.
func Notes(now time.Time, ds []mail.Delivery) []Note {
	out := make([]Note, 0, len(ds))
	for _, d := range ds {
		out = append(out, Note{State: d.State, Who: Recipient(d), Text: Became(now, d), Exact: Exactly(d)})
	}
	return out
}

// Recipient names the recipient of a delivery.
func Recipient(d mail.Delivery) string {
	if d.Agent != "" {
		return string(d.Agent)
	}
	return Who(d.Address)
}

// Became describes a delivery's state, or why it waits, beside the recipient's name.
func Became(now time.Time, d mail.Delivery) string {
	at := ""
	if d.At != 0 {
		at = " " + Moment(now, d.At)
	}
	switch d.State {
	case mail.NotSent:
		return "not sent: " + d.Why
	case mail.Notified:
		return "woken" + at + "; has not looked yet"
	case mail.Presented:
		return "delivered" + at
	case mail.Read:
		return "read" + at
	case mail.Archived:
		return "read and archived" + at
	case mail.Expired:
		return "expired unread"
	case mail.Dead:
		return "not delivered: the session has ended without reading this"
	}
	return d.Awaits()
}

// Exactly is the state of a delivery in API terms.
func Exactly(d mail.Delivery) string {
	text := string(d.State)
	if d.Door != "" {
		text += " by " + d.Door
	}
	if (d.State == mail.Queued || d.State == mail.Notified) && d.Wake != "" {
		text += ", wake: " + d.Wake
	}
	return text
}

// Step describes a receipt, beside the reader's name.
func Step(r *mail.Receipt, at string) string {
	switch r.Mark {
	case mail.MarkNotified:
		return "woken " + at
	case mail.MarkTold:
		return "handed to its client " + at
	case mail.MarkUntold:
		return "dropped by its client " + at
	case mail.MarkPresented:
		return "delivered " + at
	}
	return string(r.Mark) + " " + at
}

// Outcome summarises the deliveries of a message.
type Outcome struct {
	State mail.DeliveryState
	Read  int
	Of    int
}

// OutcomeOf summarises deliveries: failures first, then waiting ones, then finished ones.
func OutcomeOf(ds []mail.Delivery) Outcome {
	f := Outcome{Of: len(ds)}
	order := []mail.DeliveryState{
		mail.Dead, mail.Expired, mail.Held, mail.Queued, mail.Notified, mail.Presented, mail.Read, mail.Archived,
	}
	worst := len(order)
	for _, d := range ds {
		if d.State == mail.Read || d.State == mail.Archived {
			f.Read++
		}
		if i := slices.Index(order, d.State); i >= 0 && i < worst {
			worst, f.State = i, d.State
		}
	}
	return f
}

func (f Outcome) String() string {
	switch {
	case f.Of == 0:
		return "no recipient yet"
	case f.Of > 1 && f.Read > 0 && f.Read < f.Of && f.State != mail.Dead && f.State != mail.Expired &&
		f.State != mail.Held:
		return strconv.Itoa(f.Read) + " of " + strconv.Itoa(f.Of) + " read"
	}
	return f.State.Word()
}
