package mailroom

import (
	"context"
	"errors"
	"sync"

	"pennypost/internal/mail"
	"pennypost/internal/room/check"
	"pennypost/internal/room/fold"
)

// breaker is the one of a room. Whoever asks it holds mu.
type breaker struct {
	mu  sync.Mutex
	own map[mail.ID]bool // messages that this process sends, in a room that others write to
	*check.Breaker
}

// begin notes, until done, that this process sends a message.
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
	v.read(func(s *fold.State, _ mail.Time) { known = s.Seq }) // before: apply compares with what is sent from then on
	v.breaker.mu.Lock()
	from, to := v.breaker.Ends(m)
	v.breaker.mu.Unlock()
	p.Repeat = check.RepeatOf(m, from, to) // of a long text, which nobody waits for
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
	if tripped.Err == nil && sent == nil { // what it repeats was erased since, or is settled and asked anew
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

// refused returns what the cause of an error is told. Of a limit the person is told too.
func (v *view) refused(ctx context.Context, err error) error {
	if t, ok := errors.AsType[*check.Trip](err); ok {
		return v.tripped(ctx, t)
	}
	return err
}

// tripped tells the person of a trip, once, and returns what its cause is told.
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

// tellUser puts a notice of the post office into the person's mailbox. That it could not be written is logged: whoever
// caused it has no part in that.
func (r *Room) tellUser(ctx context.Context, subject, body string) {
	if _, err := r.As(mail.System).Send(context.WithoutCancel(ctx), mail.Draft{To: mail.Recipients{string(mail.User)},
		Type: string(mail.Status), Subject: subject, Body: body}); err != nil {
		r.opts.Log.Warn("notice to the user not written", "room", r.name, "err", err)
	}
}
