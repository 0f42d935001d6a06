package jsonl

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/room/journal"
)

// maxBatch bounds one write and one sync, so that the first in a batch does not wait for too many others. One call of
// Append is never split.
const maxBatch = 1 << 20

// request is one call of Append, or, with hold set, a request for the lead for another purpose.
type request struct {
	events  []mail.Event
	payload []byte // of all events, back to back
	ends    []int  // where each payload ends
	hold    bool

	state state         // guarded by Journal.mu
	wake  chan struct{} // of a request that waits, one slot: the state is no longer waiting

	// Results, set by the leader before wake.
	last mail.Seq
	err  error
}

type state uint8

const (
	waiting state = iota
	leading       // its goroutine must write the next batch
	taken         // in the batch being written, or written
)

var requests = sync.Pool{New: func() any { return new(request) }}

// maxIdlePayload keeps the pool from retaining the memory of one giant event forever.
const maxIdlePayload = 64 << 10

func (r *request) release() {
	if cap(r.payload) > maxIdlePayload {
		r.payload = nil
	}
	*r = request{payload: r.payload[:0], ends: r.ends[:0]}
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

// encode does the work that needs neither the sequence numbers nor a lock.
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

// enter queues r and waits until r leads or a leader has handled it. An error means that r was never taken.
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
	r.wake = make(chan struct{}, 1)
	j.mu.Unlock()

	select {
	case <-r.wake:
	case <-ctx.Done():
		if j.leave(r) {
			return false, ctx.Err()
		}
		<-r.wake // too late to leave: the result is near, and the caller must have it
	}
	return r.state == leading, nil
}

// leave removes r from the queue if it still waits.
func (j *Journal) leave(r *request) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if r.state != waiting {
		return false
	}
	j.queue = slices.DeleteFunc(j.queue, func(q *request) bool { return q == r })
	return true
}

// takeLead waits for the lead without appending. It cannot be cancelled: the work before it is nearly done.
func (j *Journal) takeLead() {
	_, _ = j.enter(context.Background(), &request{hold: true})
}

// passLeadLocked gives the lead to the next request. The former leader has left the queue.
func (j *Journal) passLeadLocked() {
	if len(j.queue) == 0 {
		j.led = false
		return
	}
	j.queue[0].state = leading
	j.queue[0].wake <- struct{}{}
}

// giveLead returns the lead that takeLead took.
func (j *Journal) giveLead() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.queue = slices.Delete(j.queue, 0, 1)
	j.passLeadLocked()
}

// commit writes one batch: the request of the caller, who leads, and those after it. If the last batch was shared, it
// first yields to goroutines that are ready to run: where processors are scarcer than the disk, they join the batch
// instead of paying for a write and a sync each. A lone sender would only lose its turn on a busy machine.
func (j *Journal) commit() {
	if j.shares {
		runtime.Gosched()
	}
	batch, before, at, err := j.takeBatch()
	j.shares = len(batch) > 1
	var events []mail.Event
	var end item
	if err == nil {
		events, end = j.assemble(batch, before)
		at, err = j.write(at, len(events))
	}
	next := before.end + 1
	for _, r := range batch {
		if r.err = err; err == nil {
			r.last = next + mail.Seq(len(r.ends)) - 1
			next = r.last + 1
		}
	}
	j.mu.Lock()
	if err == nil {
		j.publishLocked(events, end, at)
	}
	if cap(j.buf) > 2*maxBatch {
		j.buf, j.starts = nil, nil
	}
	j.passLeadLocked()
	j.mu.Unlock()
	for _, r := range batch[1:] { // the first is the caller
		r.wake <- struct{}{}
	}
}

// takeBatch takes the leader and as many requests after it as fit off the queue.
func (j *Journal) takeBatch() (batch []*request, before item, size int64, err error) {
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
	return batch, j.end, j.size, j.broken
}

// assemble encodes the lines of a batch, which follow before, into j.buf, and returns the events as followers will see
// them.
func (j *Journal) assemble(batch []*request, before item) (events []mail.Event, end item) {
	n := 0
	for _, r := range batch {
		n += len(r.events)
	}
	events = make([]mail.Event, 0, n)
	j.buf, j.starts = j.buf[:0], j.starts[:0]
	end = before
	for _, r := range batch {
		from := 0
		for i, to := range r.ends {
			e := r.events[i]
			e.Seq = end.end + 1
			events = append(events, e)
			start := len(j.buf)
			j.starts = append(j.starts, start)
			j.buf = appendLine(j.buf, e.Seq, end.crc, r.payload[from:to])
			from = to
			end = item{seq: e.Seq, end: e.Seq, prev: end.crc, chained: true, crc: crcOf(j.buf[start : len(j.buf)-1])}
		}
	}
	end.setTime(events[len(events)-1].At)
	return events, end
}

// write makes j.buf durable at the end of the file, which is at size unless another program wrote there. It returns
// the offset of the lines, in a file to which the path leads.
func (j *Journal) write(size int64, events int) (at int64, err error) {
	const tries = 3 // another program may replace the file that often meanwhile
	start := time.Now()
	j.stir()
	for range tries {
		if at, err = j.afterStrangers(size); err != nil {
			return 0, err
		}
		if err = j.writeAt(at); err != nil {
			return 0, err
		}
		if j.inPlace(at + int64(len(j.buf))) {
			j.accepted()
			j.onSync(events, len(j.buf), time.Since(start))
			return at, nil
		}
		if err = j.bringBack(at); err != nil {
			return 0, err
		}
		size = j.size // only the leader changes it
	}
	return 0, j.poison(errChanged)
}

// writeAt makes j.buf durable at an offset.
func (j *Journal) writeAt(at int64) error {
	if _, err := j.file.WriteAt(j.buf, at); err != nil {
		if j.takeBack(at) {
			return j.refuse(err)
		}
		return j.poison(fmt.Errorf("write: %w", err))
	}
	if j.copied {
		j.unsynced.Store(true)
	} else if err := j.file.Sync(); err != nil {
		// The lines may still be there at the next Open; the contract warns of that.
		_ = j.file.Truncate(at)
		return j.poison(fmt.Errorf("sync: %w", err))
	}
	return nil
}

// takeBack removes leftovers of a failed write at an offset. If that certainly succeeded, the disk is only full.
func (j *Journal) takeBack(at int64) bool {
	if err := j.file.Truncate(at); err != nil {
		return false
	}
	if size, err := j.file.Size(); err != nil || size != at {
		return false
	}
	return j.file.Sync() == nil
}

// publishLocked shows followers the batch in j.buf, which is durable at the offset at.
func (j *Journal) publishLocked(events []mail.Event, end item, at int64) {
	for i, start := range j.starts {
		j.index.add(events[i].Seq, at+int64(start))
	}
	j.size = at + int64(len(j.buf))
	j.tail.add(events, len(j.buf), j.end.crc)
	j.end = end
	if j.grown != nil {
		close(j.grown)
		j.grown = nil
	}
}
