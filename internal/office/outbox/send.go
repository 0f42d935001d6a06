package outbox

import (
	"context"
	"slices"
	"time"

	"pennypost/internal/base/pause"
	"pennypost/internal/mail"
)

// Way is how mail leaves the box.
type Way struct {
	// Away says why no room can be reached at present; nil: they can be, as far as is known. It does not block.
	Away func() error
	// Send sends a letter as its sender. Unavailable and Timeout say that it may be tried again.
	Send func(context.Context, *Letter) (mail.Sent, error)
	// Return tells the sender of a letter in its room why it was refused, if the room takes that.
	Return func(context.Context, *Letter, error)
}

// Times of sending.
const (
	// lookEvery is how often it is looked whether the way is back.
	lookEvery = 250 * time.Millisecond
	// maxRetry is the longest pause after a room was away though the way was there.
	maxRetry = 5 * time.Second
	// sendPatience bounds one attempt.
	sendPatience = 30 * time.Second
	// fastest is how many letters are sent at once without a pause, and paced the pause then: a room takes twenty
	// messages a second of one sender for a loop.
	fastest = 200
	paced   = 60 * time.Millisecond
)

// Run sends what is kept until ctx ends.
func (b *Box) Run(ctx context.Context, way Way) {
	wait := lookEvery
	for ctx.Err() == nil {
		if !b.Waits() {
			select {
			case <-b.added:
			case <-ctx.Done():
			}
			continue
		}
		switch {
		case way.Away() != nil:
			wait = lookEvery
		case b.round(ctx, way):
			wait = lookEvery
			continue
		default:
			wait = min(2*wait, maxRetry)
		}
		b.added.Await(ctx, wait)
	}
}

// Waits reports whether any letter does.
func (b *Box) Waits() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.order) > 0
}

// round sends of each sender what can be sent, and reports whether that was all.
func (b *Box) round(ctx context.Context, way Way) (all bool) {
	b.mu.Lock()
	queues := slices.Clone(b.order)
	b.mu.Unlock()
	away := make(map[mail.RoomName]error)
	for _, q := range queues {
		if err := away[q.of.room]; err != nil {
			b.delay(q, err)
			continue
		}
		if err := b.empty(ctx, way, q); err != nil {
			away[q.of.room] = err
		}
	}
	_ = b.Tidy() // which logs
	return len(away) == 0
}

// empty sends the letters of a queue, in their order, until one has to wait: the error says for what.
func (b *Box) empty(ctx context.Context, way Way, q *queue) error {
	for n := 0; ctx.Err() == nil; n++ {
		b.writing.Lock()
		b.mu.Lock()
		var e *entry
		if len(q.letters) > 0 {
			e = q.letters[0]
		}
		b.mu.Unlock()
		var l *Letter
		var err error
		if e != nil {
			l, err = b.letter(e)
		}
		b.writing.Unlock()
		switch {
		case e == nil:
			return nil
		case err != nil:
			err = mail.Errorf(mail.Internal, "its text cannot be read in the outbox of this machine: %w", err)
		default:
			err = b.send(ctx, way, e, l)
		}
		if err != nil {
			b.delay(q, err)
			return err
		}
		if n >= fastest {
			pause.For(ctx, paced)
		}
	}
	return ctx.Err()
}

// send sends one letter, or returns it to its sender. An error says why it has to wait.
func (b *Box) send(ctx context.Context, way Way, e *entry, l *Letter) error {
	ctx, cancel := context.WithTimeout(ctx, sendPatience)
	defer cancel()
	sent, err := way.Send(ctx, l)
	switch mail.CodeOf(err) {
	case "":
		b.opts.Log.Info("mail that was kept is sent", "room", l.Room, "from", l.Sender.Name, "id", sent.ID)
		return b.note(e, &settled{As: asSent}, sent, nil)
	case mail.Unavailable, mail.Timeout, mail.Internal:
		return err
	}
	b.opts.Log.Warn("mail that was kept is refused", "room", l.Room, "from", l.Sender.Name, "why", err)
	if failed := b.note(e, &settled{As: asRefused, Why: err.Error()}, mail.Sent{}, err); failed != nil {
		return failed
	}
	way.Return(ctx, l, err)
	return nil
}

// delay notes what the letters of a queue wait for.
func (b *Box) delay(q *queue, why error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range q.letters {
		e.Why = why.Error()
	}
}
