package jetstream

import (
	"bytes"
	"context"
	"errors"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/room/journal/jsonl"
)

// settle waits until a stored batch has reached the copy, and returns its sequence number. It is not placed earlier:
// in a shard, the answer does not say what precedes it in the room.
func (j *Journal) settle(f *flight, deadline time.Time) (mail.Seq, error) {
	for {
		wait := min(firstAttempt, max(time.Until(deadline), 0))
		seq, known, err := j.outcome(context.Background(), f, time.After(wait))
		if known {
			return seq, err
		}
		j.mu.Lock()
		trouble := j.trouble
		j.mu.Unlock()
		if _, full := errors.AsType[*unplacedError](trouble); full {
			return 0, j.unplaced(trouble)
		}
		if !time.Now().Before(deadline) {
			return j.late(f)
		}
		j.overdue.Give()
	}
}

// late returns the sequence number of a batch when time is up: after a suspension of the machine, the batch may have
// been seen too.
func (j *Journal) late(f *flight) (mail.Seq, error) {
	select {
	case seq := <-f.seen:
		return seq, nil
	default:
		return 0, j.inDoubt("the NATS servers have this, but do not deliver it", errSilent)
	}
}

// holds reports whether the copy has an event under a sequence number, or it is unknown which.
func (j *Journal) holds(seq mail.Seq, text []byte) bool {
	here, err := j.local.Read(j.ctx, seq)
	if err != nil || len(here) == 0 {
		return true
	}
	ours, err := jsonl.Encode(here[0])
	return err != nil || bytes.Equal(ours, text)
}

// place appends events to the copy, except those that it has.
func (j *Journal) place(events []jsonl.Placed) error {
	j.placing.Lock()
	defer j.placing.Unlock()
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

// see notes that the last message of a batch is in the copy.
func (f *flight) see(last mail.Seq) { offer(f.seen, last) }

// offer fills a channel of one slot, unless it is full.
func offer[T any](slot chan T, v T) {
	select {
	case slot <- v:
	default:
	}
}
