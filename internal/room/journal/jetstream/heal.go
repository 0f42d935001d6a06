package jetstream

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"pennypost/internal/mail"
	"pennypost/internal/room/journal"
	"pennypost/internal/room/journal/jsonl"
)

// errDiffers means that the stream and the copy have different events of one sequence number: the servers have lost
// events that they had acknowledged, and others have appended since.
var errDiffers = errors.New("the servers have different events from this machine's copy")

// compare checks that the copy is a beginning of the stream, as far as one event tells. If the stream ends before the
// copy, all servers have lost its end, and compare appends it again.
func (j *Journal) compare(ctx context.Context, l *lane, end mail.Seq) error {
	last := j.local.Last()
	at := min(last, end)
	if l.shared {
		if err := j.checkPoints(ctx, l); err != nil {
			return err
		}
	}
	if at > 0 {
		if same, err := j.sameAt(ctx, l, at); err != nil {
			return err
		} else if !same {
			return errDiffers
		}
	}
	if end < last {
		return j.restore(ctx, l, end)
	}
	return nil
}

// checkPoints forgets where the messages of a room are in its shard, if the newest one is not there: the shard was
// created again, or lost it.
func (j *Journal) checkPoints(ctx context.Context, l *lane) error {
	newest := j.point(l, j.local.Last())
	if newest.At == 0 {
		return nil
	}
	m, err := l.GetMsg(ctx, newest.At)
	_, erased := l.holes.find(newest.At)
	missing := errors.Is(err, jetstream.ErrMsgNotFound)
	same := missing && erased
	switch {
	case err != nil && !missing:
		return err
	case err == nil && m.Subject == l.subject:
		if same, err = j.has(ctx, newest.Seq, m); err != nil {
			return err
		}
	}
	if !same {
		j.mu.Lock()
		defer j.mu.Unlock()
		j.points.cut(0)
	}
	return nil
}

// has reports whether the copy has a message under a sequence number, or nothing.
func (j *Journal) has(ctx context.Context, at mail.Seq, m *jetstream.RawStreamMsg) (bool, error) {
	if m.Header.Get(headerGone) != "" {
		return true, nil
	}
	return j.isAt(ctx, at, unpack(&nats.Msg{Header: m.Header, Data: m.Data}))
}

// lostEnd returns the stream sequence after which a room's lost end belongs, given the sequence number at which the
// room ends, or an error if nothing can be put back there.
func (j *Journal) lostEnd(ctx context.Context, l *lane, end mail.Seq) (uint64, error) {
	if !l.shared {
		return uint64(end), nil
	}
	last, err := l.lastSeq(ctx)
	if err != nil {
		return 0, err
	}
	if here := j.point(l, j.local.Last()); here.Seq == j.local.Last() && last >= here.At {
		return 0, errDiffers // someone has deleted messages before the end
	}
	now := *l
	if err := now.look(ctx, j.cluster.nc); err != nil { // after the lookup of the last one
		return 0, err
	}
	if now.end != end {
		return 0, errNotAfter
	}
	return last, nil
}

// sameAt reports whether the stream and the copy have the same event of a sequence number, or one of them has none.
func (j *Journal) sameAt(ctx context.Context, l *lane, at mail.Seq) (bool, error) {
	theirs, err := j.textAt(ctx, l, at)
	if err != nil || theirs == nil {
		return err == nil, err
	}
	return j.isAt(ctx, at, theirs)
}

// isAt reports whether the copy has a text under a sequence number, or nothing.
func (j *Journal) isAt(ctx context.Context, at mail.Seq, theirs []byte) (bool, error) {
	here, err := j.local.Read(ctx, at)
	if err != nil || len(here) == 0 {
		return true, err
	}
	if text, err := jsonl.Encode(here[0]); err == nil && bytes.Equal(text, theirs) {
		return true, nil
	}
	same := true // a newer version may have written more than Encode does
	err = j.local.Lines(ctx, false, func(l jsonl.Line) error {
		if l.First == at && l.Text != nil {
			same = bytes.Equal(l.Text, theirs)
		}
		return nil
	})
	return same, err
}

// textAt returns the text in the stream that has a sequence number, nil if there is none.
func (j *Journal) textAt(ctx context.Context, l *lane, at mail.Seq) (text []byte, err error) {
	from := j.point(l, at)
	if from.Seq != at {
		err = j.read(ctx, l, at-1, at, func(a arrival) error {
			text = a.text
			return nil
		})
		return text, err
	}
	m, err := l.GetMsg(ctx, from.At)
	if errors.Is(err, jetstream.ErrMsgNotFound) || err == nil && m.Header.Get(headerGone) != "" {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return unpack(&nats.Msg{Header: m.Header, Data: m.Data}), nil
}

// restore appends the copy's events after end, where the stream ends, with the same sequence numbers. The servers take
// each part only if the stream ends before it, so that each part comes from one machine, even if several try.
func (j *Journal) restore(ctx context.Context, l *lane, end mail.Seq) error {
	last := j.local.Last()
	texts := make([][]byte, last-end) // nil: only the number is known
	err := j.local.Lines(ctx, true, func(l jsonl.Line) error {
		if l.First > end && l.Text != nil && l.First <= last {
			texts[l.First-end-1] = bytes.Clone(l.Text)
		}
		return nil
	})
	if err != nil {
		return err
	}
	j.log.Warn("the servers lost the end of the room; appending it again", "from", end+1, "to", last)
	expect, err := j.lostEnd(ctx, l, end)
	if err != nil {
		return err
	}
	for from := end; from < last; {
		part := texts[from-end : min(from-end+maxBatch, last-end)]
		f := &flight{texts: part, expect: &expect, first: from + 1, seen: make(chan mail.Seq, 1), unchecked: true}
		for i, text := range part {
			f.ids = append(f.ids, healID(from+mail.Seq(i)+1, text))
		}
		to, err := j.storeBy(ctx, f, time.Now().Add(patience))
		if err != nil {
			return fmt.Errorf("append again the events that the servers lost: %w", err)
		}
		from, expect = from+mail.Seq(len(part)), uint64(to)
	}
	j.local.Tell(journal.News{Subject: "The NATS servers lost mail; it was restored",
		Body: fmt.Sprintf(
			"The servers lost the last %d lines of room %s, which they had acknowledged: all of them stopped "+
				"before they had written these lines to disk. The lines were restored from the copy on this "+
				"machine. To prevent this, configure the servers with: jetstream { sync_interval: always }",
			last-end, j.room)})
	return nil
}

// healID is the id of a message that is put back. It is the same on each machine.
func healID(seq mail.Seq, text []byte) string {
	return fmt.Sprintf("heal.%d.%x", seq, sha256.Sum256(text))
}

// heal makes the copy a beginning of the stream. Events that only the copy has are appended to the stream, once,
// whichever machines do it; then the copy is cut back to the last event on which both agree.
func (j *Journal) heal(ctx context.Context, l *lane, end mail.Seq) error {
	here, err := j.sums(ctx, j.local.Last())
	if err != nil {
		return err
	}
	var from mail.Seq // the first that differs
	there := make(map[[sha256.Size]byte]bool)
	look := func(after, end mail.Seq) error {
		return j.read(ctx, l, after, end, func(a arrival) error {
			if from == 0 && here.differ(a.seq, a.text) {
				from = a.seq
			}
			if from != 0 {
				there[sha256.Sum256(a.text)] = true
			}
			return nil
		})
	}
	known := len(l.holes)
	err = look(0, end)
	if err == nil {
		err = l.checkCount(ctx, j.cluster.nc, known)
	}
	if err != nil || from == 0 {
		return err
	}
	rescued, err := j.rescue(ctx, l, from, end, there, look)
	if err != nil {
		return err
	}
	if err := j.local.CutBack(ctx, from-1); err != nil {
		return err
	}
	j.mu.Lock()
	j.points.cut(from - 1)
	j.rings.cut(from - 1)
	j.mu.Unlock()
	j.local.Tell(journal.News{Subject: "The NATS servers lost mail; it was restored",
		Body: fmt.Sprintf(
			"The servers lost the end of room %s, from line %d on, which they had acknowledged, and new mail has "+
				"arrived since. %d lines that only this machine had were appended after it. To prevent this, "+
				"configure the servers with: jetstream { sync_interval: always }",
			j.room, from, rescued)})
	return nil
}

// rescue appends the events that the copy has from a sequence number on and the stream does not have. Look reads what
// others have appended meanwhile, and adds it to there.
func (j *Journal) rescue(ctx context.Context, l *lane, from, end mail.Seq,
	there map[[sha256.Size]byte]bool, look func(after, end mail.Seq) error) (n int, err error) {
	var lost []jsonl.Placed
	err = j.local.Lines(ctx, false, func(l jsonl.Line) error {
		if l.First >= from && l.Text != nil {
			lost = append(lost, jsonl.Placed{Seq: l.First, Text: bytes.Clone(l.Text)})
		}
		return nil
	})
	expect := uint64(end)
	if err == nil && l.shared {
		expect, err = l.lastSeq(ctx)
	}
	for err == nil {
		lost = slices.DeleteFunc(lost, func(p jsonl.Placed) bool {
			return there[sha256.Sum256(p.Text)] || l.holes.about(p.Text)
		})
		if len(lost) == 0 {
			return n, nil
		}
		f := &flight{expect: &expect, seen: make(chan mail.Seq, 1), unchecked: true}
		for _, p := range lost[:min(len(lost), maxBatch)] {
			f.texts, f.ids = append(f.texts, p.Text), append(f.ids, healID(p.Seq, p.Text))
		}
		var last mail.Seq
		last, err = j.storeBy(ctx, f, time.Now().Add(patience))
		if err == nil {
			n += len(f.texts)
			lost, end, expect = lost[len(f.texts):], end+mail.Seq(len(f.texts)), uint64(last)
			continue
		}
		if errors.Is(err, errNotAfter) {
			if err = l.look(ctx, j.cluster.nc); err == nil {
				err = look(end, l.end)
				end, expect = l.end, uint64(l.end)
			}
			if err == nil && l.shared {
				expect, err = l.lastSeq(ctx)
			}
		}
	}
	return n, err
}

// reconcile compares the copy with the stream before any state is made from it, and repairs it. It returns the lane of
// a room in a shard.
func (j *Journal) reconcile(ctx context.Context) (*lane, error) {
	if _, _, err := j.cluster.connection(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, 5*patience)
	defer cancel()
	l, err := j.find(ctx, j.local.Last() == 0)
	if err != nil {
		return nil, err
	}
	for _, danger := range j.cluster.dangers(&l.info.Config) {
		j.log.Warn("room in danger", "why", danger)
	}
	err = j.proveAndCompare(ctx, l)
	if errors.Is(err, errDiffers) {
		err = j.heal(ctx, l, l.end)
	}
	if err != nil {
		return nil, err
	}
	if _, err = j.putBack(ctx, l); err != nil || !l.shared {
		return nil, err
	}
	return l, nil
}

// putBack fetches the events that are missing from the middle of the copy.
func (j *Journal) putBack(ctx context.Context, lane *lane) (n int, err error) {
	if j.local.Condition().Missing == 0 {
		return 0, nil
	}
	var ranges []jsonl.Line
	if err := j.local.Lines(ctx, false, func(l jsonl.Line) error {
		if l.Missing {
			ranges = append(ranges, l)
		}
		return nil
	}); err != nil {
		return 0, err
	}
	events, err := j.eventsIn(ctx, lane, ranges)
	if err != nil {
		return 0, err
	}
	return j.local.PutBack(ctx, events)
}

// eventsIn returns the events in some ranges of a room that count, in order. A shard is read from the room's
// beginning, because which events count depends on all earlier ones.
func (j *Journal) eventsIn(ctx context.Context, l *lane, ranges []jsonl.Line) (events []jsonl.Placed, err error) {
	if len(ranges) == 0 {
		return nil, nil
	}
	var r ring
	if !l.shared {
		r.Seq = ranges[0].First - 1
	}
	err = j.read(ctx, l, r.Seq, ranges[len(ranges)-1].Last, func(a arrival) error {
		if l.shared && r.judge(&a) != "" {
			a.text = nil
		}
		in := func(l jsonl.Line) bool { return l.First <= a.seq && a.seq <= l.Last }
		if slices.ContainsFunc(ranges, in) {
			events = append(events, jsonl.Placed{Seq: a.seq, Text: a.text})
		}
		return nil
	})
	return events, err
}

// read calls f for the messages of the stream after a sequence number, up to another. It stops at an event that a
// newer Pennypost wrote for newer versions only: isNewer is then true of the error.
func (j *Journal) read(ctx context.Context, l *lane, after, end mail.Seq, f func(arrival) error) error {
	return l.read(ctx, j.cluster.nc, j.point(l, after), after, end, func(a arrival) error {
		if err := j.newer(a); err != nil {
			return err
		}
		return f(a)
	})
}

// point returns the last message up to a sequence number whose position in the stream is known.
func (j *Journal) point(l *lane, seq mail.Seq) point {
	if !l.shared {
		return point{uint64(seq), seq}
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.points.before(seq)
}

// end returns the sequence number of the last event in the copy, and where in a shard that or an earlier one is.
func (j *Journal) end() point { return point{j.lastPoint().At, j.local.Last()} }

// diverge ends all writing: the journal must be closed and opened again, which heals the copy, or says why this
// version must leave the room alone.
func (j *Journal) diverge(err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.diverged != nil {
		return
	}
	j.log.Error("room must be opened again", "err", err)
	if j.diverged = err; !isNewer(err) {
		j.diverged = &mail.Error{Code: mail.Unavailable, Err: err,
			Msg: fmt.Sprintf("room %s is being read again, because %v. "+
				"Try again in a moment", j.room, err)}
	}
	close(j.reopen)
	j.wakeLocked()
}

// Reopen implements journal.Reopener.
func (j *Journal) Reopen() <-chan struct{} { return j.reopen }
