package jetstream

import (
	"context"
	"fmt"
	"slices"

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
	known := len(l.holes)
	some, err := l.get(ctx, from, l.end)
	if err == nil {
		err = l.checkCount(ctx, j.cluster.nc, known)
	}
	if err != nil {
		return err
	}
	if len(some) > 0 {
		if err := j.received(some); err != nil {
			return err
		}
	}
	if j.local.Last() < l.end {
		_, err = j.skip(l, l.end)
	}
	return err
}

// locate finds where in the shard the last message of the copy is. Without that, later messages cannot be counted.
func (j *Journal) locate(l *lane) error {
	last := j.local.Last()
	from := j.point(l, last)
	if from.Seq == last {
		return nil
	}
	var found points
	known := len(l.holes)
	err := j.read(j.ctx, l, from.Seq, min(last, l.end), func(a arrival) error {
		found.note(point{a.at, a.seq})
		return nil
	})
	if err == nil {
		err = l.checkCount(j.ctx, j.cluster.nc, known)
	}
	if err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, x := range found.Points {
		j.points.note(x)
	}
	return nil
}

// replay reads the messages after a sequence number, and then new ones, until something fails or the copy reaches
// another; 0: no end.
func (j *Journal) replay(ctx context.Context, l *lane, after, until mail.Seq, connection uint64,
	changed <-chan struct{}) error {
	delivered, err := l.follow(ctx, j.cluster.nc, j.point(l, after))
	if err != nil {
		return fmt.Errorf("follow the stream: %w", err)
	}
	defer j.running.Go(delivered.drop) // which may take as long as a request, so it does not block
	own := *l                          // what fetch learns of holes must not change those of the follower
	own.holes = slices.Clone(l.holes)
	delivered.counter.lane = &own
	arrived := make(chan arrival, 2*mostAtOnce)
	ctx, cancel := context.WithCancel(j.ctx)
	defer cancel()
	j.running.Go(func() { delivered.fetch(ctx, arrived) })
	end := l.end
	if delivered.empty() {
		if ended, err := j.skip(l, end); err != nil || ended && until > 0 {
			return err
		}
	}
	return j.receive(l, arrived, connection, changed, end, until)
}

// skip reports whether the stream has no event between the end of the copy and end, and then fills the copy up to
// there; in a shard, up to the last hole.
func (j *Journal) skip(l *lane, end mail.Seq) (ended bool, err error) {
	after := j.local.Last()
	last := j.point(l, after)
	if more, err := l.more(j.ctx, last, after, end); err != nil || more {
		return false, err // it will be delivered
	}
	if l.shared {
		end = last.Seq + l.holes.after(last.At)
	}
	if end <= after {
		return true, nil
	}
	return true, j.place([]jsonl.Placed{{Seq: end}})
}
