package mailroom

import (
	"context"
	"errors"
	"sync"

	"pennypost/internal/mail"
	"pennypost/internal/room/check"
	"pennypost/internal/room/fold"
)

// breaker is the breaker of a room. Its callers hold mu.
type breaker struct {
	mu  sync.Mutex
	own map[mail.ID]bool // messages that this process sends, in a room that others write to
	*check.Breaker
}

// begin records, until done, that this process sends a message.
func (b *breaker) begin(id mail.ID) (done func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.own[id] = true
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.own, id)
	}
}

// admit asks the breaker about a planned message. A repetition is answered with the message that it repeats.
func (v *view) admit(ctx context.Context, p *check.Plan, again bool) (*mail.Sent, error) {
	now := v.opts.Now()
	m := p.Here()
	var known mail.Seq
	v.read(func(s *fold.State, _ mail.Time) { known = s.Seq }) // first: apply compares with later messages
	v.breaker.mu.Lock()
	from, to := v.breaker.Ends(m)
	v.breaker.mu.Unlock()
	p.Repeat = check.RepeatOf(m, from, to) // outside the lock: the text may be long
	v.breaker.mu.Lock()
	same, tripped := v.breaker.Admit(m, p.Peers, p.Repeat, again, p.Depth, now)
	v.breaker.mu.Unlock()
	if tripped == nil {
		if !again && p.Repeat != (fold.Repeat{}) {
			p.Message.Same, p.Message.Checked = p.Repeat.String(), known
		}
		return nil, nil
	}
	var sent *mail.Sent
	v.check(func(v *check.View) {
		if r := v.Records[same]; r != nil && r.Settled == nil {
			sent = new(v.Sent(r))
			sent.Duplicate = true
		}
	})
	if tripped.Err == nil && sent == nil { // the repeated message was erased since, or is settled and asked again
		return v.admit(ctx, p, true)
	}
	return sent, v.tripped(ctx, tripped)
}

// repetition is the trip of a message that apply has found to repeat another.
func (r *Room) repetition(m *mail.Message) *check.Trip {
	r.breaker.mu.Lock()
	defer r.breaker.mu.Unlock()
	return r.breaker.TripOfRepeat(m)
}

// refused returns the error for its cause. The person is also told of a limit.
func (v *view) refused(ctx context.Context, err error) error {
	if t, ok := errors.AsType[*check.Trip](err); ok {
		return v.tripped(ctx, t)
	}
	return err
}

// tripped tells the person of a trip, once, and returns the error for its cause.
func (v *view) tripped(ctx context.Context, t *check.Trip) error {
	v.opts.Observe.Tripped()
	if v.news(t) {
		v.tellUser(ctx, "A limit was reached", t.Note+" The limit is "+t.Limit+" in [room.limits] of config.toml.")
	}
	return t.Err
}

// news reports whether the person has not been told of a trip lately.
func (r *Room) news(t *check.Trip) bool {
	r.breaker.mu.Lock()
	defer r.breaker.mu.Unlock()
	return r.breaker.News(t, r.opts.Now())
}

// tellUser puts a notice of the post office into the person's mailbox. A failure to write it is only logged: the
// caller that caused the notice is not concerned.
func (r *Room) tellUser(ctx context.Context, subject, body string) {
	if _, err := r.As(mail.System).Send(context.WithoutCancel(ctx), mail.Draft{To: mail.Recipients{string(mail.User)},
		Type: string(mail.Status), Subject: subject, Body: body}); err != nil {
		r.opts.Log.Warn("notice to the user not written", "room", r.name, "err", err)
	}
}
