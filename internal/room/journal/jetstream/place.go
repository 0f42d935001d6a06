package jetstream

import (
	"bytes"
	"context"
	"errors"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/room/journal/jsonl"
)

// settle sees that a batch whose last message is at last is in the copy: it puts it there, if the copy is as far as
// that, or waits for the follower, or for another flight of ours.
func (j *Journal) settle(f *flight, last mail.Seq, deadline time.Time) error {
	first := last - mail.Seq(len(f.texts)) + 1
	placed := make([]jsonl.Placed, len(f.texts))
	for i, text := range f.texts {
		placed[i] = jsonl.Placed{Seq: first + mail.Seq(i), Text: text}
	}
	if done, err := j.placeAcknowledged(f, placed); err == errAgain {
		return err
	} else if err != nil {
		return j.unplaced(err)
	} else if done {
		return nil
	}
	if _, known, err := j.outcome(context.Background(), f, time.After(time.Until(deadline))); known {
		return err
	}
	if j.local.Last() < last {
		return j.inDoubt("the NATS servers have this, and what is before it does not come", errSilent)
	}
	if !j.holds(last, f.texts[len(f.texts)-1]) {
		j.diverge(errDiffers)
		return j.inDoubt(errDiffers.Error(), errDiffers)
	}
	return nil // it came as time was up: a machine that was suspended finds both at once
}

// settleShared waits until a batch that is stored in a shard has come to the copy, and returns its place. It is not
// placed before, because its answer does not say what else came before it in the room.
func (j *Journal) settleShared(f *flight, deadline time.Time) (mail.Seq, error) {
	for {
		wait := min(firstAttempt, max(time.Until(deadline), 0))
		place, known, err := j.outcome(context.Background(), f, time.After(wait))
		if known {
			return place, err
		}
		j.mu.Lock()
		trouble := j.trouble
		j.mu.Unlock()
		if _, full := errors.AsType[*unplacedError](trouble); full {
			return 0, j.unplaced(trouble)
		}
		if !time.Now().Before(deadline) {
			return 0, j.inDoubt("the NATS servers have this, and it does not come back", errSilent)
		}
		j.overdue.Give()
	}
}

// holds reports whether the copy has an event at a place, or nothing is known to be there instead.
func (j *Journal) holds(place mail.Seq, text []byte) bool {
	here, err := j.local.Read(j.ctx, place)
	if err != nil || len(here) == 0 {
		return true
	}
	ours, err := jsonl.Encode(here[0])
	return err != nil || bytes.Equal(ours, text)
}

// maxUnconfirmed bounds what is remembered until it comes with the stream.
const maxUnconfirmed = 10 * maxBatch

// acknowledged is a batch that waits for what is before it.
type acknowledged struct {
	flight *flight
	events []jsonl.Placed
}

// placeAcknowledged puts a batch into the copy if it comes directly behind what is there, and what waited for it. If
// not, it is placed when what is before it is.
func (j *Journal) placeAcknowledged(f *flight, events []jsonl.Placed) (done bool, err error) {
	j.placing.Lock()
	defer j.placing.Unlock()
	if j.hasLeft(f.sentTo) {
		return false, errAgain
	}
	switch last := j.local.Last(); {
	case events[0].Seq <= last || len(j.unconfirmed) > maxUnconfirmed:
		return false, nil
	case events[0].Seq > last+1:
		j.waiting[events[0].Seq] = acknowledged{f, events}
		return false, nil
	}
	if err := j.placeLocked(events); err != nil {
		return false, err
	}
	j.unconfirmed = append(j.unconfirmed, events...)
	return true, j.placeWaiting()
}

// place puts events into the copy, but for those that are there.
func (j *Journal) place(events []jsonl.Placed) error {
	j.placing.Lock()
	defer j.placing.Unlock()
	if err := j.placeLocked(events); err != nil {
		return err
	}
	return j.placeWaiting()
}

func (j *Journal) placeLocked(events []jsonl.Placed) error {
	last := j.local.Last()
	for len(events) > 0 && events[0].Seq <= last {
		events = events[1:]
	}
	if err := j.local.Place(context.Background(), events...); err != nil {
		return err
	}
	j.mu.Lock()
	j.wakeLocked()
	j.mu.Unlock()
	return nil
}

// placeWaiting places what waited for what was placed. The caller has placing.
func (j *Journal) placeWaiting() error {
	for {
		last := j.local.Last()
		next, ok := j.waiting[last+1]
		if !ok {
			for first := range j.waiting {
				if first <= last { // the follower has placed it
					delete(j.waiting, first)
				}
			}
			return nil
		}
		delete(j.waiting, last+1)
		if err := j.placeLocked(next.events); err != nil {
			return err
		}
		j.unconfirmed = append(j.unconfirmed, next.events...)
		next.flight.see(next.events[len(next.events)-1].Seq)
	}
}

// see notes that the last message of a batch is in the copy.
func (f *flight) see(last mail.Seq) {
	select {
	case f.seen <- last:
	default:
	}
}
