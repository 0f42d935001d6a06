package jetstream

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"

	"pennypost/internal/mail"
	"pennypost/internal/room/journal/jsonl"
)

// streamFile is the file name in problems of the stream.
const streamFile = "the stream"

// Verify implements journal.Verifier. It checks the files, and compares them with the stream, event by event:
// machines that equal the stream equal each other.
func (j *Journal) Verify(ctx context.Context) (mail.Verification, error) {
	v, err := j.local.Verify(ctx)
	if err != nil {
		return v, err
	}
	return v, j.compareAll(ctx, &v)
}

// Repair implements journal.Verifier. It fetches events that are missing from the journal from the stream.
func (j *Journal) Repair(ctx context.Context) (mail.Verification, error) {
	v, err := j.local.Repair(ctx)
	if err != nil {
		return v, err
	}
	repaired := v.Repaired
	if j.local.Condition().Missing > 0 && j.cluster.Trouble() == nil {
		l, err := j.cluster.lane(ctx, j.room, false)
		if err != nil {
			return v, err
		}
		n, err := j.putBack(ctx, l)
		repaired += n
		if err != nil {
			return v, fmt.Errorf("fetch missing events: %w", err)
		}
	}
	v, err = j.Verify(ctx)
	v.Repaired = repaired
	return v, err
}

// compareAll adds the differences between the copy and the stream.
func (j *Journal) compareAll(ctx context.Context, v *mail.Verification) error {
	var found []mail.Problem
	problem := func(format string, args ...any) {
		if len(v.Problems)+len(found) < 1000 { // the same limit as for the files
			found = append(found, mail.Problem{File: streamFile, Text: fmt.Sprintf(format, args...)})
		}
	}
	compared := j.cluster.Trouble()
	if compared == nil {
		compared = j.recount(ctx, func(l *lane) error {
			found = nil
			return j.compareStream(ctx, l, problem)
		})
	}
	if compared != nil {
		problem("not compared: %v", compared)
	}
	v.Problems = append(v.Problems, found...)
	return ctx.Err()
}

// sums are checksums of the texts of events, by sequence number; 0 where there is none.
type sums []uint64

// sums returns the checksums of the copy and its archive up to a sequence number.
func (j *Journal) sums(ctx context.Context, last mail.Seq) (sums, error) {
	here := make(sums, last+1)
	return here, j.local.Lines(ctx, true, func(l jsonl.Line) error {
		if l.Text != nil && l.First <= last {
			here[l.First] = sumOf(l.Text)
		}
		return nil
	})
}

// sumOf returns 64 bits of the SHA-256, never 0.
func sumOf(text []byte) uint64 {
	sum := sha256.Sum256(text)
	return max(binary.BigEndian.Uint64(sum[:]), 1)
}

// differ reports whether there is an event of a sequence number, and its text is another one.
func (s sums) differ(at mail.Seq, text []byte) bool {
	return at < mail.Seq(len(s)) && s[at] != 0 && s[at] != sumOf(text)
}

var errCutUp = errors.New("messages were deleted from the stream. A machine that still has them appends them again")

// compareStream reports the differences.
func (j *Journal) compareStream(ctx context.Context, l *lane, problem func(format string, args ...any)) error {
	for _, danger := range j.cluster.dangers(&l.info.Config) {
		problem("%s", danger)
	}
	last := j.local.Last() // later events are not compared
	here, err := j.sums(ctx, last)
	if err != nil {
		return err
	}
	err = j.read(ctx, l, 0, last, func(a arrival) error {
		if l.shared && a.miscounted() {
			return errCutUp
		}
		if here.differ(a.seq, a.text) {
			problem("it has a different event at %d from this machine", a.seq)
		}
		here[a.seq] = 0
		return nil
	})
	if err != nil {
		return err
	}
	for seq, sum := range here {
		if sum != 0 {
			problem("it has no event at %d, where this machine has one: it was erased there, or lost", seq)
		}
	}
	return nil
}
