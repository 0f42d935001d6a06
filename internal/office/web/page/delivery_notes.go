package page

import (
	"context"
	"slices"
	"strings"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/office/web/words"
)

// maxReceipts is how many events are looked through for receipts: reading them takes less than half a second.
const maxReceipts = 20_000

// Receipts returns the receipts of messages, which are in order, from the journal: the messages themselves only tell
// how they stand now.
func (v *View) Receipts(items []mail.Item) (map[mail.ID][]mail.Event, error) {
	out := make(map[mail.ID][]mail.Event)
	for i := range items {
		out[items[i].ID] = nil
	}
	first := items[0].Seq
	if v.At-first > maxReceipts {
		return out, nil
	}
	w, err := v.Svc.Watch(v.Ctx(), first)
	if err != nil {
		return nil, err
	}
	defer w.Close()
	for at := first; at < v.At; {
		// The journal may have lost its last place to compaction: then nothing more comes.
		ctx, cancel := context.WithTimeout(v.Ctx(), 200*time.Millisecond)
		events, err := w.Next(ctx)
		cancel()
		if err != nil {
			return out, v.Ctx().Err()
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

// DeliveryNotes says for each recipient of a message what happened to it, one after the other.
func (v *View) DeliveryNotes(it *mail.Item, receipts []mail.Event) []words.Note {
	var out []words.Note
	for _, d := range it.Deliveries {
		f := words.Note{State: d.State, Who: words.Recipient(d), Exact: words.Exactly(d)}
		var steps []string
		for _, e := range receipts {
			if e.Receipt.Reader.Signer() == d.Agent {
				steps = append(steps, words.Step(e.Receipt, v.timeBeside(e.At, it.Sent)))
			}
		}
		if steps = slices.Compact(steps); len(steps) == 0 || d.State != mail.Read && d.State != mail.Archived &&
			d.State != mail.Presented {
			steps = append(steps, words.Became(v.Now, d)) // what waits, and what never came
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
func (v *View) timeBeside(t, sent mail.Time) string {
	if words.Date(v.Now, t) == words.Date(v.Now, sent) {
		return words.Clock(t)
	}
	return words.Moment(v.Now, t)
}
