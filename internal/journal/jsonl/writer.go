package jsonl

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"pennypost/internal/journal"
	"pennypost/internal/mail"
)

// maxBatch bounds what one write and one sync carry, so that the first in a batch does not wait for too many others. One call
// of Append is never split.
const maxBatch = 1 << 20

// request is one call of Append, or with hold set somebody who wants the lead for another purpose.
type request struct {
	events  []mail.Event
	payload []byte // of all events, back to back
	ends    []int  // where each payload ends
	hold    bool

	state state         // guarded by Journal.mu
	wake  chan struct{} // one slot: the state is no longer waiting

	// The outcome, set by whoever led, before wake.
	last mail.Seq
	err  error
}

type state uint8

const (
	waiting state = iota
	leading       // its goroutine is to write the next batch
	taken         // it is in the batch being written, or was written
)

var requests = sync.Pool{New: func() any { return &request{wake: make(chan struct{}, 1)} }}

// maxIdlePayload keeps one giant event from being remembered for ever by the pool.
const maxIdlePayload = 64 << 10

func (r *request) release() {
	if cap(r.payload) > maxIdlePayload {
		r.payload = nil
	}
	*r = request{payload: r.payload[:0], ends: r.ends[:0], wake: r.wake}
	requests.Put(r)
}

// Append implements journal.Journal.
func (j *Journal) Append(ctx context.Context, events ...mail.Event) (mail.Seq, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if len(events) == 0 {
		return j.Last(), j.usable()
	}
	r := requests.Get().(*request)
	defer r.release()
	if err := r.encode(events); err != nil {
		return 0, err
	}
	leads, err := j.enter(ctx, r)
	if err != nil {
		return 0, err
	}
	if leads {
		j.commit()
	}
	return r.last, r.err
}

// encode does what can be done before the places are known, and outside every lock.
func (r *request) encode(events []mail.Event) error {
	r.events = events
	for i := range events {
		e := settle(events[i])
		if e != events[i] {
			if &r.events[0] == &events[0] {
				r.events = slices.Clone(events)
			}
			r.events[i] = e
		}
		var err error
		if r.payload, err = appendPayload(r.payload, &e); err != nil {
			return err
		}
		r.ends = append(r.ends, len(r.payload))
	}
	return nil
}

func (j *Journal) usable() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closing {
		return journal.ErrClosed
	}
	return j.broken
}

// enter queues r and waits until r leads, or until somebody who led has dealt with it. An error means that r was never taken.
func (j *Journal) enter(ctx context.Context, r *request) (leads bool, err error) {
	j.mu.Lock()
	if j.closing && !r.hold {
		j.mu.Unlock()
		return false, journal.ErrClosed
	}
	j.queue = append(j.queue, r)
	if !j.led {
		j.led = true
		r.state = leading
		j.mu.Unlock()
		return true, nil
	}
	j.mu.Unlock()

	select {
	case <-r.wake:
	case <-ctx.Done():
		if j.leave(r) {
			return false, ctx.Err()
		}
		<-r.wake // too late to leave: the outcome is near, and is what the caller must hear
	}
	return r.state == leading, nil
}

// leave takes r out of the queue if it still waits.
func (j *Journal) leave(r *request) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if r.state != waiting {
		return false
	}
	j.queue = slices.DeleteFunc(j.queue, func(q *request) bool { return q == r })
	return true
}

// takeLead waits for the lead without appending anything. It cannot be cancelled, for what is before it is nearly done.
func (j *Journal) takeLead() {
	_, _ = j.enter(context.Background(), &request{hold: true, wake: make(chan struct{}, 1)})
}

// passLeadLocked gives the lead to the next in line. Whoever had it has left the queue.
func (j *Journal) passLeadLocked() {
	if len(j.queue) == 0 {
		j.led = false
		return
	}
	j.queue[0].state = leading
	j.queue[0].wake <- struct{}{}
}

// giveLead ends what takeLead began.
func (j *Journal) giveLead() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.queue = slices.Delete(j.queue, 0, 1)
	j.passLeadLocked()
}

// commit writes one batch: the request of the caller, who leads, and those behind it.
func (j *Journal) commit() {
	batch, next, at, err := j.takeBatch()
	var events []mail.Event
	if err == nil {
		events = j.assemble(batch, next)
		if at, err = j.write(at, len(events)); err != nil {
			err = j.poison(err)
		}
	}
	for _, r := range batch {
		if r.err = err; err == nil {
			r.last = next + mail.Seq(len(r.ends)) - 1
			next = r.last + 1
		}
	}
	j.mu.Lock()
	if err == nil {
		j.publishLocked(events, at)
	}
	if cap(j.buf) > 2*maxBatch {
		j.buf = nil
	}
	j.passLeadLocked()
	j.mu.Unlock()
	for _, r := range batch[1:] { // the first is the caller
		r.wake <- struct{}{}
	}
}

// takeBatch takes the leader and as many behind it as fit off the queue.
func (j *Journal) takeBatch() (batch []*request, next mail.Seq, size int64, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	n, bytes := 0, 0
	for _, r := range j.queue {
		if bytes += len(r.payload); r.hold || n > 0 && bytes > maxBatch {
			break
		}
		r.state = taken
		n++
	}
	batch = slices.Clone(j.queue[:n])
	j.queue = slices.Delete(j.queue, 0, n)
	return batch, j.last + 1, j.size, j.broken
}

// assemble makes the lines of a batch in j.buf, and the events as followers will see them.
func (j *Journal) assemble(batch []*request, seq mail.Seq) []mail.Event {
	n := 0
	for _, r := range batch {
		n += len(r.events)
	}
	events := make([]mail.Event, 0, n)
	j.buf = j.buf[:0]
	for _, r := range batch {
		from := 0
		for i, end := range r.ends {
			e := r.events[i]
			e.Seq = seq
			events = append(events, e)
			j.buf = appendLine(j.buf, seq, r.payload[from:end])
			from = end
			seq++
		}
	}
	return events
}

// write makes j.buf durable at the end of the file, which begins at size unless a stranger wrote there, and returns where it ended up.
func (j *Journal) write(size int64, events int) (at int64, err error) {
	start := time.Now()
	if at, err = j.afterStrangers(size); err != nil {
		return 0, err
	}
	if _, err := j.file.WriteAt(j.buf, at); err != nil {
		j.takeBack(at)
		return 0, fmt.Errorf("write: %w", err)
	}
	if err := j.file.Sync(); err != nil {
		j.takeBack(at)
		return 0, fmt.Errorf("sync: %w", err)
	}
	j.onSync(events, len(j.buf), time.Since(start))
	return at, nil
}

// takeBack tries to remove what the senders are now told was not stored. Should it be there all the same when the
// journal is opened again, that is what the contract warns of.
func (j *Journal) takeBack(at int64) { _ = j.file.Truncate(at) }

// publishLocked shows followers the batch in j.buf, which is durable at the offset at.
func (j *Journal) publishLocked(events []mail.Event, at int64) {
	j.index.add(events[0].Seq, at)
	j.size = at + int64(len(j.buf))
	j.last = events[len(events)-1].Seq
	j.tail.add(events, len(j.buf))
	if j.grown != nil {
		close(j.grown)
		j.grown = nil
	}
}

// poison ends all writing, and returns what everybody is told from now on.
func (j *Journal) poison(err error) error {
	j.log.Error("the journal cannot be written; nothing more is taken until it is opened again", "err", err)
	j.mu.Lock()
	defer j.mu.Unlock()
	j.broken = &mail.Error{
		Code: mail.Unavailable,
		Msg: fmt.Sprintf("the mailbox on disk cannot be written (%v). Nothing that was acknowledged is lost, but nothing more is taken. "+
			"Make room or mend the disk, then restart the post office", err),
		Err: err,
	}
	return j.broken
}
