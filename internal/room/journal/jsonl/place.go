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

// Placed is an event as it comes from where a Copy is copied from. Text is what Encode returned. Without it the event
// is gone: a stub takes its place.
type Placed struct {
	Seq  mail.Seq
	Text []byte
}

// Encode returns e, without its place, as the JSON object that stands in its line. Its members are in a fixed order,
// and there is no line break in it. The error says what cannot be written.
func Encode(e mail.Event) ([]byte, error) {
	e = settle(e)
	text, err := appendPayload(nil, &e)
	if err != nil {
		return nil, err
	}
	text[0] = '{'
	return append(text, '}'), nil
}

// payload returns what stands between seq and crc in the line of an event, or why text is no event: it did not come
// from Encode, of this version or of a newer one.
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
		return nil, errors.New("it says that it is a stub")
	}
	return p, nil
}

// Place gives events the places that they say, which must rise and be behind Last. Where places are left out a stub
// stands for them. It is for a Copy, whose durability is that of what it is copied from: the file is synced each
// second. Texts that are no events are reported, and a stub is put in their place.
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

// assemblePlaced is assemble for events that have their places.
func (j *Journal) assemblePlaced(events []Placed, before item) (placed []mail.Event, end item, err error) {
	j.buf, j.starts = j.buf[:0], j.starts[:0]
	end = before
	var p parser
	for _, e := range events {
		if e.Seq <= end.end {
			return nil, item{}, fmt.Errorf("place %d is not behind %d", e.Seq, end.end)
		}
		text, err := payload(e.Text)
		if e.Text != nil && err != nil {
			j.log.Error("an event in the stream cannot be read; a stub stands for it", "seq", e.Seq, "why", err)
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
	if last := events[len(events)-1].Seq; end.end < last { // followers see that the place was given
		j.starts = append(j.starts, len(j.buf))
		j.fillTo(&end, last)
		placed = append(placed, mail.Event{Seq: last, At: end.at()})
	}
	return placed, end, nil
}

// fillTo adds a stub for the places behind end up to last, if there are any.
func (j *Journal) fillTo(end *item, last mail.Seq) {
	if end.end >= last {
		return
	}
	stub := item{seq: end.end + 1, end: last, gone: dropped, prev: end.crc, chained: true, crc: end.crc,
		when: end.when}
	j.buf = append(j.buf, stub.line()...)
	*end = stub
}

// syncCopy makes durable what was placed since the last time.
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
		j.log.Error("the copy of the room could not be synced", "err", err, "took", time.Since(start))
	}
}
