package web

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"pennypost/internal/mail"
)

// deliveryNote is what became of a message with one recipient, in words.
type deliveryNote struct {
	State mail.DeliveryState
	Who   string
	Text  string
	Exact string // the state and the doors, in the words of the API
}

func deliveryNotesOf(now time.Time, ds []mail.Delivery) []deliveryNote {
	out := make([]deliveryNote, 0, len(ds))
	for _, d := range ds {
		out = append(out, deliveryNote{State: d.State, Who: recipient(d), Text: became(now, d), Exact: exactly(d)})
	}
	return out
}

// recipient names whom a delivery is for.
func recipient(d mail.Delivery) string {
	if d.Agent != "" {
		return string(d.Agent)
	}
	return who(d.Address)
}

// became says beside the recipient's name what became of a delivery, or why nothing has.
func became(now time.Time, d mail.Delivery) string {
	at := ""
	if d.At != 0 {
		at = " " + moment(now, d.At)
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
		return "expired before anybody looked"
	case mail.Dead:
		return "not delivered: the session has ended, and did not read this"
	}
	return d.Awaits()
}

// exactly is how a delivery stands in the words of the API.
func exactly(d mail.Delivery) string {
	text := string(d.State)
	if d.Door != "" {
		text += " by " + d.Door
	}
	if (d.State == mail.Queued || d.State == mail.Notified) && d.Wake != "" {
		text += ", wake: " + d.Wake
	}
	return text
}

// maxReceipts is how many events are looked through for receipts: reading them takes less than half a second.
const maxReceipts = 20_000

// receipts returns the receipts of messages, which are in order, from the journal: the messages themselves only tell
// how they stand now.
func (v *view) receipts(items []mail.Item) (map[mail.ID][]mail.Event, error) {
	out := make(map[mail.ID][]mail.Event)
	for i := range items {
		out[items[i].ID] = nil
	}
	first := items[0].Seq
	if v.At-first > maxReceipts {
		return out, nil
	}
	w, err := v.svc.Watch(v.ctx(), first)
	if err != nil {
		return nil, err
	}
	defer w.Close()
	for at := first; at < v.At; {
		// The journal may have lost its last place to compaction: then nothing more comes.
		ctx, cancel := context.WithTimeout(v.ctx(), 200*time.Millisecond)
		events, err := w.Next(ctx)
		cancel()
		if err != nil {
			return out, v.ctx().Err()
		}
		for _, e := range events {
			at = e.Seq
			if e.Receipt == nil {
				continue
			}
			if _, ok := out[e.Receipt.Message]; ok {
				out[e.Receipt.Message] = append(out[e.Receipt.Message], e)
			}
		}
	}
	return out, nil
}

// deliveryNotes says for each recipient of a message what happened to it, one after the other.
func (v *view) deliveryNotes(it *mail.Item, receipts []mail.Event) []deliveryNote {
	var out []deliveryNote
	for _, d := range it.Deliveries {
		f := deliveryNote{State: d.State, Who: recipient(d), Exact: exactly(d)}
		var steps []string
		for _, e := range receipts {
			if e.Receipt.Reader.Signer() == d.Agent {
				steps = append(steps, step(e.Receipt, v.timeBeside(e.At, it.Sent)))
			}
		}
		if steps = slices.Compact(steps); len(steps) == 0 || d.State != mail.Read && d.State != mail.Archived &&
			d.State != mail.Presented {
			steps = append(steps, became(v.Now, d)) // what waits, and what never came
		}
		if n := len(steps); n > 1 && d.State == mail.Notified {
			steps = steps[:n-1]
		}
		f.Text = strings.Join(steps, ", ")
		out = append(out, f)
	}
	return out
}

// timeBeside is the time of what happened to a message. On the day of the message itself the hour is enough.
func (v *view) timeBeside(t, sent mail.Time) string {
	if date(v.Now, t) == date(v.Now, sent) {
		return clock(t)
	}
	return moment(v.Now, t)
}

// step is a receipt in words, beside the reader's name.
func step(r *mail.Receipt, at string) string {
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

// outcome is what became of a message, all recipients taken together.
type outcome struct {
	State mail.DeliveryState
	Read  int
	Of    int
}

// outcomeOf sums deliveries up: what went wrong is told before what waits, and what waits before what is done.
func outcomeOf(ds []mail.Delivery) outcome {
	f := outcome{Of: len(ds)}
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

func (f outcome) String() string {
	switch {
	case f.Of == 0:
		return "nobody yet"
	case f.Of > 1 && f.Read > 0 && f.Read < f.Of && f.State != mail.Dead && f.State != mail.Expired &&
		f.State != mail.Held:
		return strconv.Itoa(f.Read) + " of " + strconv.Itoa(f.Of) + " read"
	}
	return f.State.Word()
}
