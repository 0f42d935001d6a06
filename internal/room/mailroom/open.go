package mailroom

import (
	"context"

	"pennypost/internal/mail"
	"pennypost/internal/room/check"
	"pennypost/internal/room/fold"
)

// settlementsOf returns the event without which a question would be open again when its answer has been erased.
func (v *view) settlementsOf(answer mail.ID) (events []mail.Event) {
	v.read(func(s *fold.State, now mail.Time) {
		r := s.Records[answer]
		if r == nil {
			return
		}
		if q := s.Records[r.Msg.ReplyTo()]; q != nil && q.Settled != nil && q.Settled.Answer == answer {
			events = append(events, mail.Event{At: now, Settled: q.Settled})
		}
	})
	return events
}

// Withdraw implements mail.Tracker.
func (v *view) Withdraw(ctx context.Context, id mail.ID) error {
	_, _, err := v.decide(ctx, func(v *check.View) ([]mail.Event, error) { return v.Withdraw(id) })
	if err != nil {
		return err
	}
	v.tell(context.WithoutCancel(ctx), id, "")
	v.read(func(s *fold.State, _ mail.Time) { // an answer may have come first
		if q := s.Records[id]; q != nil && q.Settled != nil && q.Settled.As != mail.Withdrawn {
			err = fold.SettledAs(q)
		}
	})
	return err
}

// Waiting implements mail.Tracker.
func (v *view) Waiting(ctx context.Context, q mail.WaitingQuery) (mail.WaitingList, error) {
	n, err := limit(q.Limit)
	if err != nil {
		return mail.WaitingList{}, err
	}
	v.touch(ctx)
	out := mail.WaitingList{Waiting: []mail.Waiting{}}
	var spots []fold.Spot
	v.read(func(s *fold.State, _ mail.Time) { spots = s.Waits(&out, n) })
	texts, err := v.texts(ctx, spots)
	for i, m := range texts {
		if m != nil {
			out.Waiting[i].Subject = m.Subject
		}
	}
	return out, err
}
