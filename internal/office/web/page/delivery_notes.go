package page

import (
	"context"
	"slices"
	"strings"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/office/web/words"
)

// maxReceipts limits the events searched for receipts: that many take less than half a second.
const maxReceipts = 20_000

// Receipts returns the receipts of messages, which must be sorted, from the journal: the messages only have their
// current state.
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
		// If compaction removed the event at v.At, no further event arrives.
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

// DeliveryNotes describes for each recipient the steps of a delivery.
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
			steps = append(steps, words.Became(v.Now, d)) // still waiting, or never delivered
		}
		if n := len(steps); n > 1 && d.State == mail.Notified {
			steps = steps[:n-1]
		}
		f.Text = strings.Join(steps, ", ")
		out = append(out, f)
	}
	return out
}

// timeBeside formats the time of a step. On the day of the message the clock time is enough.
func (v *View) timeBeside(t, sent mail.Time) string {
	if words.Date(v.Now, t) == words.Date(v.Now, sent) {
		return words.Clock(t)
	}
	return words.Moment(v.Now, t)
}
