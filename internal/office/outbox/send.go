package outbox

import (
	"context"
	"sync"
	"time"

	"pennypost/internal/base/pause"
	"pennypost/internal/mail"
)

// Way is how mail leaves the box.
type Way struct {
	// Away says why no room can be reached now; nil: they can be, as far as is known. It does not block.
	Away func() error
	// Send sends a letter as its sender. Unavailable and Timeout say that it may be retried.
	Send func(context.Context, *Letter) (mail.Sent, error)
	// Return tells the sender of a letter in its room why it was refused, if the room accepts that.
	Return func(context.Context, *Letter, error)
}

// Timing of sending.
const (
	// lookEvery is how often we check whether the way is back.
	lookEvery = 250 * time.Millisecond
	// maxRetry is the longest back-off for a room that was away though the way was there; the first is lookEvery.
	maxRetry = 5 * time.Second
	// sendPatience limits one attempt.
	sendPatience = 30 * time.Second
	// fastest is how many letters of a queue are sent without a pause, and paced the pause after that: a room takes
	// twenty messages a second from one sender for a loop.
	fastest = 200
	paced   = 60 * time.Millisecond
	// atOnce is how many senders' letters are sent to a room at the same time.
	atOnce = 8
	// tidyEvery is how often the text of sent letters is removed from the disk while there are more to send.
	tidyEvery = 5 * time.Second
)

// Run sends kept mail until ctx ends: the letters of one sender in order, those of several senders at the same time,
// so that none waits for another's.
func (b *Box) Run(ctx context.Context, way Way) {
	var sending sync.WaitGroup
	defer sending.Wait()
	tidied := time.Now()
	for ctx.Err() == nil {
		if b.reaches(way.Away()) {
			for _, q := range b.due(time.Now()) {
				sending.Go(func() { b.rest(q, b.empty(ctx, way, q)) })
			}
		}
		waits := b.Waits()
		if !waits || time.Since(tidied) > tidyEvery {
			_ = b.Tidy() // it logs its errors
			tidied = time.Now()
		}
		if waits {
			b.added.Await(ctx, lookEvery)
			continue
		}
		select {
		case <-b.added:
		case <-ctx.Done():
		}
	}
}

// reaches records why no room can be reached, and reports whether rooms can be.
func (b *Box) reaches(trouble error) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.trouble = ""; trouble != nil {
		b.trouble = trouble.Error()
	}
	return trouble == nil
}

// due returns the queues to empty now, and reserves them for the caller.
func (b *Box) due(now time.Time) (due []*queue) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, q := range b.order {
		r := b.rooms[q.of.room]
		if r == nil {
			r = &room{}
			b.rooms[q.of.room] = r
		}
		if q.sending || r.sending >= atOnce || now.Before(r.next) {
			continue
		}
		q.sending = true
		r.sending++
		due = append(due, q)
	}
	return due
}

// rest records how the emptying of a queue ended. A room that was away is left alone for a while.
func (b *Box) rest(q *queue, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	q.sending = false
	r := b.rooms[q.of.room]
	r.sending--
	if err == nil {
		r.wait = 0
	} else if now := time.Now(); !now.Before(r.next) {
		r.wait = min(max(2*r.wait, lookEvery), maxRetry)
		r.next = now.Add(r.wait)
	}
	if r.sending == 0 && r.wait == 0 {
		delete(b.rooms, q.of.room)
	}
	b.added.Give()
}

// Waits reports whether any letter is waiting.
func (b *Box) Waits() bool { return b.Waiting() > 0 }

// Waiting returns the number of waiting letters.
func (b *Box) Waiting() (n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, q := range b.order {
		n += len(q.letters)
	}
	return n
}

// empty sends the letters of a queue in order, until one must wait: the error says why.
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

// send sends one letter, or returns it to its sender. An error says why it must wait.
func (b *Box) send(ctx context.Context, way Way, e *entry, l *Letter) error {
	ctx, cancel := context.WithTimeout(ctx, sendPatience)
	defer cancel()
	sent, err := way.Send(ctx, l)
	switch mail.CodeOf(err) {
	case "":
		b.opts.Log.Info("kept mail sent", "room", l.Room, "from", l.Sender.Name, "id", sent.ID)
		return b.note(e, &settled{As: asSent}, sent, nil)
	case mail.Unavailable, mail.Timeout, mail.Internal:
		return err
	}
	b.opts.Log.Warn("kept mail refused", "room", l.Room, "from", l.Sender.Name, "why", err)
	if failed := b.note(e, &settled{As: asRefused, Why: err.Error()}, mail.Sent{}, err); failed != nil {
		return failed
	}
	way.Return(ctx, l, err)
	return nil
}

// delay records why the letters of a queue wait.
func (b *Box) delay(q *queue, why error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range q.letters {
		e.Why = why.Error()
	}
}
