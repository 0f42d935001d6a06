package jetstream

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"

	"pennypost/internal/base/pause"
	"pennypost/internal/mail"
	"pennypost/internal/room/journal"
)

// Headers and times of sending.
const (
	headerBatch     = "Nats-Batch-Id"
	headerBatchSeq  = "Nats-Batch-Sequence"
	headerGone      = "Pennypost-Gone" // of a message for an event that is unknown
	headerCommit    = "Nats-Batch-Commit"
	afterHeader     = "Pennypost-After" // the last sequence number of the sender's copy
	seqHeader       = "Pennypost-Place" // of a message that is copied, or put back
	headerID        = nats.MsgIdHdr
	firstAttempt    = 400 * time.Millisecond
	pauseOfAttempts = 50 * time.Millisecond
	// shortestAttempt is the least time left to begin an attempt when all earlier ones are known to have stored
	// nothing.
	shortestAttempt = 200 * time.Millisecond
)

// flight is a batch that is being sent.
type flight struct {
	requests []*request
	texts    [][]byte
	ids      []string
	behind   *mail.Seq
	first    mail.Seq // the sequence number of the first event if it is known in advance; else 0
	expect   *uint64  // where the last message of the stream, or of the room in a shard, must be; nil: see behind
	deadline time.Time
	seen     chan mail.Seq // one slot: the sequence number of the last message, once it is in the copy

	// moved is given when the room has ended at the subject without this batch, and continues elsewhere.
	moved  pause.Nudge
	here   bool   // the follower has placed its last message; guarded by Journal.mu
	sentTo string // the subject

	refused chan error // one slot: why it does not count
	way     int        // on which it is sent, and the number of its first message there
	number  uint64

	placed bool     // the follower has placed it
	data   [][]byte // the data to send for each text
	packed []bool   // whether that is packed

	unchecked bool // it may be sent before the copy was compared with the stream
	assumed   bool // the last attempt assumed that the last message of the room is not erased
}

func newFlight(behind *mail.Seq) *flight {
	return &flight{behind: behind, seen: make(chan mail.Seq, 1), moved: pause.NewNudge(),
		refused: make(chan error, 1)}
}

// send sends a batch, waits until it is in the copy, and tells its senders the result.
func (j *Journal) send(f *flight) {
	last, err := j.deliver(f)
	j.forget(f)
	next := last - mail.Seq(len(f.texts))
	for _, r := range f.requests {
		if r.err = err; err == nil {
			next += mail.Seq(len(r.texts))
			r.last = next
		}
		r.done <- struct{}{}
	}
}

// forget stops the wait for a batch in the stream.
func (j *Journal) forget(f *flight) {
	j.mu.Lock()
	defer j.mu.Unlock()
	delete(j.pending, f.ids[len(f.ids)-1])
}

// deliver stores a batch and waits until it is in the copy. A batch that is larger than the servers' limit is sent in
// parts, each directly after the one before.
func (j *Journal) deliver(f *flight) (last mail.Seq, err error) {
	whole := *f
	for len(f.texts) > maxBatch && err == nil {
		part := newFlight(f.behind)
		part.way, part.texts, part.ids = f.way, f.texts[:maxBatch], f.ids[:maxBatch]
		j.mu.Lock()
		j.pending[part.ids[maxBatch-1]] = part
		j.mu.Unlock()
		last, err = j.deliver(part)
		j.forget(part)
		if err == nil {
			f.texts, f.ids, f.behind = f.texts[maxBatch:], f.ids[maxBatch:], &last
		}
	}
	if err == nil {
		last, err = j.deliverPart(f)
	}
	if err != nil && len(f.texts) < len(whole.texts) && !errors.Is(err, journal.ErrUnknown) {
		err = j.inDoubt(fmt.Sprintf("the rest of this was refused (%v)", cause(err)), err)
	}
	f.texts, f.ids = whole.texts, whole.ids
	return last, err
}

func (j *Journal) deliverPart(f *flight) (last mail.Seq, err error) {
	deadline := f.deadline
	for _, text := range f.texts { // one more second per megabyte, for checkpoints
		deadline = deadline.Add(time.Duration(len(text)) * time.Microsecond)
	}
	if half := time.Now().Add(patience / 2); deadline.Before(half) {
		deadline = half
	}
	for {
		last, err = j.storeBy(j.ctx, f, deadline)
		if err == nil && !f.placed {
			last, err = j.settle(f, deadline)
		}
		if err != errAgain {
			return last, err
		}
	}
}

// errAgain means that a batch does not count, because the room was moved, and must be sent to the new lane.
var errAgain = errors.New("the room was moved")

// storeBy sends a batch until the outcome is known, or time is up, and returns where its last message is.
func (j *Journal) storeBy(ctx context.Context, f *flight, deadline time.Time) (last mail.Seq, err error) {
	f.pack() // before the first attempt, which has little time
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	sure := true // that nothing is stored
	for wait := firstAttempt; ; wait *= 2 {
		last, err := j.attempt(ctx, f, wait)
		if err == nil {
			return last, nil
		}
		of, answered := errors.AsType[*failure](err)
		if answered && of.Code == codeHasIDs && !f.unchecked { // an earlier attempt came through
			return j.awaitSeen(ctx, f)
		}
		if final := j.final(err, f, sure); final != nil {
			return 0, final
		}
		if sure = sure && leftNothing(err); !answered && !leftNothing(err) {
			j.cluster.suspect()
		}
		switch last, known, failed := j.outcome(ctx, f, time.After(pauseOfAttempts)); {
		case known:
			return last, failed
		case sure && time.Until(deadline) < shortestAttempt: // the outcome of another one would be in doubt
			return 0, j.notSent(err)
		case ctx.Err() == nil:
		default:
			return 0, j.unknown(err)
		}
	}
}

// pack prepares the data to send for each text.
func (f *flight) pack() {
	for i, text := range f.texts {
		data, packed := pack(text)
		f.data, f.packed = append(f.data[:i], data), append(f.packed[:i], packed)
	}
}

// final returns the error for the senders of a batch after a refusal that no retry can change, nil if a retry may.
// The event that is in the way may be from an earlier attempt whose outcome is unknown, so that event must be seen
// first.
func (j *Journal) final(err error, f *flight, sure bool) error {
	of, answered := errors.AsType[*failure](err)
	switch {
	case !leftNothing(err):
	case !answered:
		if sure && (err == nats.ErrMaxPayload || notConnected(err)) {
			return j.notSent(err)
		}
	case of.Code == codeWrongLast || of.Code == codeHasIDs:
		if j.isNotAfter(f, sure) {
			return errNotAfter
		}
	case !of.passing() && sure:
		return j.refused(of)
	}
	return nil
}

// isNotAfter reports whether a batch that the servers refused because of the event before it must not be appended.
func (j *Journal) isNotAfter(f *flight, sure bool) bool {
	if f.assumed && j.local.Last() <= *f.behind {
		return false // the message before it may be erased: ask the servers
	}
	return sure || f.unchecked || f.behind != nil && j.cameBetween(f)
}

// cameBetween reports whether another event has the sequence number that a batch would need.
func (j *Journal) cameBetween(f *flight) bool {
	seq := *f.behind + 1
	return j.local.Last() >= seq && !j.holds(seq, f.texts[0])
}

// outcome waits until the follower has seen the last message of a batch, or the room has ended. known is false if
// time was up first.
func (j *Journal) outcome(ctx context.Context, f *flight, up <-chan time.Time) (last mail.Seq, known bool, err error) {
	select {
	case last := <-f.seen:
		f.placed = true
		return last, true, nil
	case <-j.ended:
		last, err := j.beforeEnd(f)
		return last, true, err
	case <-f.moved:
		return 0, true, errAgain
	case err := <-f.refused:
		return 0, true, err
	case <-up:
	case <-ctx.Done():
	}
	return 0, false, nil
}

// attempt sends a batch once, waits for the answer, and returns the sequence number of the last message. A negative
// answer is a *failure.
func (j *Journal) attempt(ctx context.Context, f *flight, wait time.Duration) (mail.Seq, error) {
	connection, _, err := j.cluster.connection()
	if err != nil {
		return 0, noConnection{err}
	}
	j.mu.Lock()
	checked, trouble := j.checked == connection && j.subject != j.left || f.unchecked, j.trouble
	shared := j.shared
	f.sentTo = j.subject
	j.mu.Unlock()
	if !checked && (errors.Is(trouble, errShardGone) || errors.Is(trouble, errForged)) {
		return 0, noConnection{trouble}
	}
	if !checked {
		return 0, errUnchecked
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	msgs := j.messages(f, shared) // the goroutine below may outlive this attempt and change them
	if err := j.expect(ctx, f, shared, msgs[0]); err != nil {
		return 0, err
	}
	var last mail.Seq
	done := make(chan error, 1)
	go func() { // which may take longer: see Cluster.nc
		seq, err := j.cluster.store(ctx, msgs)
		last = seq
		done <- err
	}()
	select {
	case err := <-done:
		return last, err
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// expect makes the servers take a message only directly after the position that f requires.
func (j *Journal) expect(ctx context.Context, f *flight, shared bool, first *nats.Msg) (err error) {
	header := nats.ExpectedLastSeqHdr
	if shared {
		header = nats.ExpectedLastSubjSeqHdr
	}
	var at uint64
	switch {
	case f.expect != nil:
		at = *f.expect
	case f.behind == nil:
		return nil
	case !shared:
		at = uint64(*f.behind)
	default:
		at, f.assumed, err = j.lastBefore(ctx, *f.behind+1, !f.assumed)
	}
	first.Header[header] = []string{strconv.FormatUint(at, 10)}
	return err
}

// lastBefore returns where in a shard the last message of the room is, if the next one would get a sequence number. A
// *failure says that another event has it, or that this is not known yet. What this machine knows is enough, unless
// the message was erased: then the servers no longer know it.
func (j *Journal) lastBefore(ctx context.Context, next mail.Seq, assume bool) (at uint64, assumed bool, err error) {
	if here := j.lastPoint(); assume && here.Seq == next-1 {
		return here.At, true, nil
	}
	l, err := j.cluster.lane(ctx, j.room, false)
	if err != nil {
		return 0, false, err
	}
	seq, err := l.lastSeq(ctx)
	if err != nil {
		return 0, false, err
	}
	here := j.lastPoint()
	switch {
	case l.end != next-1, j.local.Last() >= next, here.Seq == next-1 && seq > here.At:
		return 0, false, &failure{Code: codeWrongLast, Text: errNotAfter.Error()}
	case here.Seq != next-1: // the copy will reach it in a moment
		return 0, false, &failure{Code: codeInFlight, Text: "the copy is behind"}
	}
	return seq, false, nil
}

// lastPoint returns the position of the copy's last message in a shard, or of one before it.
func (j *Journal) lastPoint() point {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.points.before(j.local.Last())
}

// idsOf returns the prefix of the ids of messages to a subject. A shard has the ids of all its rooms, and of their
// earlier generations.
func idsOf(subject string, shared bool) string {
	if shared {
		return subject + "."
	}
	return ""
}

// messages returns the messages of a batch, for a shard or for a stream of the room's own.
func (j *Journal) messages(f *flight, shared bool) []*nats.Msg {
	after := []string{strconv.FormatUint(uint64(j.local.Last()), 10)}
	msgs := make([]*nats.Msg, len(f.texts))
	for i, text := range f.texts {
		m := &nats.Msg{Subject: f.sentTo, Data: f.data[i],
			Header: nats.Header{headerID: {idsOf(f.sentTo, shared) + f.ids[i]}}}
		if f.packed[i] {
			m.Header[headerEncoding] = []string{packingName}
		}
		if text == nil {
			m.Header[headerGone] = []string{"1"}
		}
		switch {
		case !shared:
		case f.first > 0:
			m.Header[seqHeader] = []string{strconv.FormatUint(uint64(f.first)+uint64(i), 10)}
		case !f.unchecked:
			m.Header[afterHeader] = after
		}
		msgs[i] = m
	}
	if shared {
		j.signFlight(f, msgs)
	}
	return msgs
}

// store sends messages that are stored all or none, waits for the answer, and returns the sequence number of the last
// one.
func (c *Cluster) store(ctx context.Context, msgs []*nats.Msg) (mail.Seq, error) {
	commit := msgs[len(msgs)-1]
	if len(msgs) > 1 {
		batch := []string{rand.Text()}
		for i, m := range msgs {
			m.Header[headerBatch], m.Header[headerBatchSeq] = batch, []string{strconv.Itoa(i + 1)}
		}
		commit.Header[headerCommit] = []string{"1"}
	}
	if err := c.begin(msgs[:len(msgs)-1]); err != nil {
		return 0, err
	}
	reply, err := c.request(ctx, commit)
	if err != nil {
		return 0, err
	}
	var a answer
	switch err := json.Unmarshal(reply.Data, &a); {
	case err != nil:
		return 0, fmt.Errorf("read the answer: %w", err)
	case a.Error != nil:
		return 0, a.Error
	case a.Sequence == 0:
		return 0, fmt.Errorf("the answer %.100q names no sequence number", reply.Data)
	}
	return a.Sequence, nil
}

// begin sends all of a batch except its last message. Batches do not interleave, because the servers refuse some of
// those that do.
func (c *Cluster) begin(msgs []*nats.Msg) error {
	c.publishing.Lock()
	defer c.publishing.Unlock()
	for _, m := range msgs {
		if err := c.publish(m); err != nil {
			return noConnection{err} // without its end, a batch is ignored
		}
	}
	return nil
}

// awaitSeen waits until the follower has seen the last message of a batch.
func (j *Journal) awaitSeen(ctx context.Context, f *flight) (mail.Seq, error) {
	last, known, err := j.outcome(ctx, f, nil)
	if !known {
		err = j.inDoubt("the NATS servers say that they have this, but do not deliver it", errSilent)
	}
	return last, err
}

// beforeEnd returns the sequence number of a batch in a room that has ended, or an error if it is not in it.
func (j *Journal) beforeEnd(f *flight) (mail.Seq, error) {
	select {
	case last := <-f.seen:
		f.placed = true
		return last, nil
	default:
		j.mu.Lock()
		defer j.mu.Unlock()
		return 0, j.moved
	}
}
