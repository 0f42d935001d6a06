package jetstream

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"pennypost/internal/base/pause"
	"pennypost/internal/mail"
	"pennypost/internal/room/journal"
	"pennypost/internal/room/journal/jsonl"
)

// Limits of sending.
const (
	maxBatch   = 1000 // messages: the servers take no larger atomic batch by default
	maxFlights = 2    // concurrent batches
	// A machine sends that many events of one room per second, after a burst of that many: the sender of one room
	// slows the other rooms of the shard.
	mostPerSecond = 5000
	mostAhead     = 2 * maxBatch

	waitInQueue = patience / 2
)

// request is one call of Append.
type request struct {
	texts  [][]byte
	behind *mail.Seq // where the stream must end; nil: anywhere
	since  time.Time
	done   chan struct{} // one slot
	taken  bool          // guarded by Journal.mu

	// The result, set before done.
	last mail.Seq
	err  error
}

// Append implements journal.Journal. It returns when the event is in the stream and in the copy.
func (j *Journal) Append(ctx context.Context, events ...mail.Event) (mail.Seq, error) {
	return j.append(ctx, nil, events)
}

// AppendAfter implements journal.AfterAppender.
func (j *Journal) AppendAfter(ctx context.Context, after mail.Seq, e mail.Event) (mail.Seq, bool, error) {
	seq, err := j.append(ctx, &after, []mail.Event{e})
	if errors.Is(err, errNotAfter) {
		return 0, false, nil
	}
	return seq, err == nil && seq == after+1, err
}

// End implements journal.AfterAppender.
func (j *Journal) End(ctx context.Context) (mail.Seq, error) {
	if err := j.cluster.Trouble(); err != nil {
		return 0, err
	}
	l, err := j.cluster.lane(ctx, j.room, false)
	if err != nil {
		return 0, err
	}
	return l.end, nil
}

var errNotAfter = errors.New("there are events after that sequence number")

func (j *Journal) append(ctx context.Context, behind *mail.Seq, events []mail.Event) (mail.Seq, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if len(events) == 0 {
		return j.Last(), j.usable()
	}
	r := &request{behind: behind, done: make(chan struct{}, 1)}
	for _, e := range events {
		text, err := jsonl.Encode(e)
		if err != nil {
			return 0, err
		}
		if err := j.cluster.fits(text); err != nil {
			return 0, err
		}
		r.texts = append(r.texts, text)
	}
	r.since = time.Now()
	if err := j.enter(r); err != nil {
		return 0, err
	}
	select {
	case <-r.done:
	case <-ctx.Done():
		if j.leave(r) {
			return 0, ctx.Err()
		}
		<-r.done // too late to leave: the result is near, and the caller must get it
	}
	return r.last, r.err
}

func (j *Journal) usable() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.usableLocked()
}

func (j *Journal) usableLocked() error {
	if j.closing {
		return journal.ErrClosed
	}
	return cmp.Or(j.moved, j.diverged, j.barredLocked())
}

// enter queues r, and starts a flight if fewer than maxFlights are running.
func (j *Journal) enter(r *request) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.usableLocked(); err != nil {
		return err
	}
	j.queue = append(j.queue, r)
	if j.flights < maxFlights {
		j.flights++
		way := slices.Index(j.ways[:], false)
		j.ways[way] = true
		j.running.Go(func() { j.fly(way) })
	}
	return nil
}

// leave takes r out of the queue if it still waits.
func (j *Journal) leave(r *request) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if r.taken {
		return false
	}
	j.queue = slices.DeleteFunc(j.queue, func(q *request) bool { return q == r })
	return true
}

// fly sends batches from the queue until it is empty.
func (j *Journal) fly(way int) {
	for {
		f, late := j.take(way)
		for _, r := range late {
			r.err = j.notSent(errSilent) // the requests before it in the queue got no answer
			r.done <- struct{}{}
		}
		if f == nil && len(late) == 0 {
			return
		}
		if f != nil {
			pause.For(j.ctx, j.pace(len(f.texts)))
			j.send(f)
		}
	}
}

// pace returns how long to wait before n more events are sent.
func (j *Journal) pace(n int) time.Duration {
	j.mu.Lock()
	defer j.mu.Unlock()
	now := time.Now()
	if least := now.Add(-mostAhead * time.Second / mostPerSecond); j.paced.Before(least) {
		j.paced = least
	}
	wait := j.paced.Sub(now)
	j.paced = j.paced.Add(time.Duration(n) * time.Second / mostPerSecond)
	return max(wait, 0)
}

// take takes a batch from the queue, and the requests that have waited too long. If there is neither, it ends the
// flight.
func (j *Journal) take(way int) (f *flight, late []*request) {
	j.mu.Lock()
	defer j.mu.Unlock()
	now := time.Now()
	for len(j.queue) > 0 {
		r := j.queue[0]
		if now.Sub(r.since) > waitInQueue {
			late = append(late, r)
		} else {
			alone := r.behind != nil || len(r.texts) > maxBatch
			if f != nil && (alone || f.behind != nil || len(f.texts)+len(r.texts) > maxBatch) {
				break
			}
			if f == nil {
				f = newFlight(r.behind)
				f.way = way
				f.deadline = r.since.Add(patience)
			}
			f.requests, f.texts = append(f.requests, r), append(f.texts, r.texts...)
		}
		r.taken = true
		j.queue = j.queue[1:]
	}
	if f == nil {
		if len(late) == 0 {
			j.flights--
			j.ways[way] = false
			j.wakeLocked()
		}
		return nil, late
	}
	for range f.texts {
		j.sent++
		f.ids = append(f.ids, j.writer+"."+strconv.FormatUint(j.sent, 36))
	}
	j.pending[f.ids[len(f.ids)-1]] = f
	return f, late
}
