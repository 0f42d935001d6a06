package mailroom

import (
	"context"
	"slices"

	"pennypost/internal/mail"
	"pennypost/internal/room/fold"
)

// stillOpen says which of the messages that the caller wants to be done with, by marking them read or archived, it was
// asked and has not answered.
func (v *View) stillOpen(m *fold.Member, q mail.Marking, out *mail.Marked) {
	if q.Mark != mail.MarkRead && q.Mark != mail.MarkArchived {
		return
	}
	var open fold.List
	for _, id := range slices.Concat(out.Marked, out.Already) {
		if r := v.Records[id]; r != nil && r.Open() && r.Reaches(m) {
			open.Add(r)
		}
	}
	for _, r := range open {
		out.Open = append(out.Open, r.Msg.ID)
	}
}

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
	_, _, err := v.decide(ctx, func(v *View) ([]mail.Event, error) { return v.withdrawing(id) })
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

// withdrawing returns the events of a withdrawal; none if the question was withdrawn before.
func (v *View) withdrawing(id mail.ID) ([]mail.Event, error) {
	q := v.Records[id]
	switch {
	case q == nil:
		return nil, mail.Errorf(mail.NotFound, "there is no open question %q in room %s; nothing was withdrawn. "+
			"What is open is listed by: pennypost history --open", id, v.Room)
	case !q.Msg.Type.Asks():
		return nil, mail.Errorf(mail.Invalid, "%s is a %s, which asks nothing; nothing was withdrawn", id, q.Msg.Type)
	case !v.isUser() && q.Sender != v.me():
		return nil, mail.Errorf(mail.Denied, "only whoever asked may withdraw %s, and the user; you are %s. Decline "+
			"it instead, with an answer", id, v.Who)
	case q.Open() && v.isUser() && !v.Means.Settles() && !q.Sender.IsUser():
		return nil, mail.Errorf(mail.Denied, "a script may withdraw what it asked, and settles no question of "+
			"others: nothing was withdrawn. Do it yourself, in a terminal or on the pages: pennypost open")
	case q.Open():
		settled := mail.Event{At: v.Now, Settled: &mail.Settlement{Message: id, By: v.signature(), As: mail.Withdrawn}}
		if v.me() == nil {
			return []mail.Event{settled}, nil
		}
		return append(v.pulse(), settled), nil
	case q.Settled.As != mail.Withdrawn:
		return nil, fold.SettledAs(q)
	}
	return nil, nil
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
