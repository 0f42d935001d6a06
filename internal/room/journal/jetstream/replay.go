package jetstream

import (
	"context"
	"fmt"

	"pennypost/internal/mail"
	"pennypost/internal/room/journal/jsonl"
)

// readUp places the messages of a shard that the copy lacks.
func (j *Journal) readUp(ctx context.Context, l *lane, connection uint64, changed <-chan struct{}) error {
	last := j.local.Last()
	if last >= l.end {
		return nil
	}
	from := j.point(l, last)
	if !l.few(from, l.end) {
		return j.replay(ctx, l, last, l.end, connection, changed)
	}
	some, err := l.get(ctx, from, l.end)
	if err != nil {
		return err
	}
	if len(some) > 0 {
		if err := j.received(some); err != nil {
			return err
		}
	}
	if j.local.Last() < l.end {
		return j.skip(l, l.end)
	}
	return nil
}

// locate finds where in the shard the last message of the copy is. Without that, later messages cannot be counted.
func (j *Journal) locate(l *lane) error {
	last := j.local.Last()
	from := j.point(l, last)
	if from.Place == last {
		return nil
	}
	return j.read(j.ctx, l, from.Place, min(last, l.end), func(a arrival) error {
		j.mu.Lock()
		defer j.mu.Unlock()
		j.points.note(point{a.at, a.seq})
		return nil
	})
}

// replay reads the messages after a place, and then new ones, until something fails or until reaches a place; 0: no
// end.
func (j *Journal) replay(ctx context.Context, l *lane, after, until mail.Seq, connection uint64,
	changed <-chan struct{}) error {
	delivered, err := l.follow(ctx, j.cluster.nc, j.point(l, after))
	if err != nil {
		return fmt.Errorf("follow the stream: %w", err)
	}
	defer j.running.Go(delivered.drop) // which may take as long as a request, so it does not block
	arrived := make(chan arrival, 2*mostAtOnce)
	ctx, cancel := context.WithCancel(j.ctx)
	defer cancel()
	j.running.Go(func() { delivered.fetch(ctx, arrived) })
	if delivered.empty() {
		if err := j.skip(l, l.end); err != nil {
			return err
		}
	}
	return j.receive(l, arrived, connection, changed, l.end, until)
}

// skip fills the copy up to end if the stream has nothing in between.
func (j *Journal) skip(l *lane, end mail.Seq) error {
	after := j.local.Last()
	if more, err := l.more(j.ctx, j.point(l, after), after, end); err != nil || more {
		return err // it will be delivered
	}
	return j.place([]jsonl.Placed{{Seq: end}})
}
