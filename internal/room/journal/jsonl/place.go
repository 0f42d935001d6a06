package jsonl

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
	"pennypost/internal/room/journal"
)

// Placed is an event from the original of a Copy. Text is the result of Encode. Without text the event is gone: a stub
// represents it.
type Placed struct {
	Seq  mail.Seq
	Text []byte
}

// Encode returns e, without its sequence number, as the JSON object of its line. Its members have a fixed order, and
// it has no line breaks. The error names the part that cannot be written.
func Encode(e mail.Event) ([]byte, error) {
	e = settle(e)
	text, err := appendPayload(nil, &e)
	if err != nil {
		return nil, err
	}
	text[0] = '{'
	return append(text, '}'), nil
}

// payload returns the part between seq and crc of an event's line, or why text is not an event: it did not come from
// Encode, of this version or a newer one.
func payload(text []byte) ([]byte, error) {
	const least = len(`{"at":""}`)
	if len(text) < least || text[0] != '{' || bytes.ContainsAny(text, "\r\n") || !jsonx.Value(text).IsValid() {
		return nil, errors.New("it is not a JSON object on one line")
	}
	p := append([]byte{','}, text[1:len(text)-1]...)
	if !bytes.HasPrefix(p, []byte(atHead)) {
		return nil, errors.New("it does not begin with the time")
	}
	if len(p) > len(atHead)+len(timeForm)+1 && bytes.HasPrefix(p[len(atHead)+len(timeForm)+1:], []byte(goneHead)) {
		return nil, errors.New("it claims to be a stub")
	}
	return p, nil
}

// Place appends events with their own sequence numbers, which must rise and follow Last. A stub represents skipped
// sequence numbers, and texts that are not events, which are also logged. Place is for a Copy, whose durability is
// that of the original: the file is synced once a second.
func (j *Journal) Place(ctx context.Context, events ...Placed) error {
	if err := ctx.Err(); err != nil || len(events) == 0 {
		return err
	}
	j.takeLead()
	defer j.giveLead()
	j.mu.Lock()
	before, size, closing, err := j.end, j.size, j.closing, j.broken
	j.mu.Unlock()
	if closing {
		return journal.ErrClosed
	}
	if err != nil {
		return err
	}
	placed, end, err := j.assemblePlaced(events, before)
	if err != nil {
		return err
	}
	at, err := j.write(size, len(placed))
	if err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.publishLocked(placed, end, at)
	return nil
}

// assemblePlaced is assemble for events that have sequence numbers.
func (j *Journal) assemblePlaced(events []Placed, before item) (placed []mail.Event, end item, err error) {
	j.buf, j.starts = j.buf[:0], j.starts[:0]
	end = before
	var p parser
	for _, e := range events {
		if e.Seq <= end.end {
			return nil, item{}, fmt.Errorf("sequence number %d is not after %d", e.Seq, end.end)
		}
		text, err := payload(e.Text)
		if e.Text != nil && err != nil {
			j.log.Error("unreadable event in the stream; replaced by a stub", "seq", e.Seq, "why", err)
		}
		if err != nil {
			continue
		}
		j.fillTo(&end, e.Seq-1)
		start := len(j.buf)
		j.starts = append(j.starts, start)
		j.buf = appendLine(j.buf, e.Seq, end.crc, text)
		line := j.buf[start : len(j.buf)-1]
		end = item{seq: e.Seq, end: e.Seq, prev: end.crc, chained: true, crc: crcOf(line)}
		placed = append(placed, p.decode(e.Seq, line[:len(line)-trailer]))
		end.setTime(placed[len(placed)-1].At)
	}
	if last := events[len(events)-1].Seq; end.end < last { // followers see that the sequence number was assigned
		j.starts = append(j.starts, len(j.buf))
		j.fillTo(&end, last)
		placed = append(placed, mail.Event{Seq: last, At: end.at()})
	}
	return placed, end, nil
}

// fillTo adds a stub for the sequence numbers after end up to last, if there are any.
func (j *Journal) fillTo(end *item, last mail.Seq) {
	if end.end >= last {
		return
	}
	stub := item{seq: end.end + 1, end: last, gone: dropped, prev: end.crc, chained: true, crc: end.crc,
		when: end.when}
	j.buf = append(j.buf, stub.line()...)
	*end = stub
}

// syncCopy syncs placed events.
func (j *Journal) syncCopy() {
	if !j.copied || !j.unsynced.Swap(false) {
		return
	}
	start := time.Now()
	j.swap.RLock()
	defer j.swap.RUnlock()
	if j.file == nil {
		return
	}
	if err := j.file.Sync(); err != nil {
		j.log.Error("copy of the room not synced", "err", err, "took", time.Since(start))
	}
}
