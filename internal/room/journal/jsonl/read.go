package jsonl

import (
	"context"
	"fmt"
	"io"
	"slices"

	"pennypost/internal/mail"
)

// Read implements journal.Journal. Events in the tail are shared with followers; others are read from the file,
// neighbours in one read.
func (j *Journal) Read(ctx context.Context, seqs ...mail.Seq) ([]mail.Event, error) {
	left := slices.Compact(slices.Sorted(slices.Values(seqs)))
	events := make([]mail.Event, 0, len(left))
	for len(left) > 0 {
		if err := j.stopped(ctx); err != nil {
			return nil, err
		}
		n, err := j.readSome(left, &events)
		if err != nil {
			return nil, err
		}
		left = left[n:]
	}
	return events, nil
}

// readSome adds the events with the first n sequence numbers of seqs, at least one. Between two calls the file may
// be replaced, so that a long Read delays no writer.
func (j *Journal) readSome(seqs []mail.Seq, events *[]mail.Event) (n int, err error) {
	j.swap.RLock()
	defer j.swap.RUnlock()
	j.mu.Lock()
	if seqs[0] > j.tail.after {
		defer j.mu.Unlock()
		for _, seq := range seqs {
			if found := j.tail.behind(seq - 1); len(found) > 0 && found[0].Seq == seq {
				*events = append(*events, found[0])
			}
		}
		return len(seqs), nil
	}
	part, n := j.index.part(seqs, j.size)
	j.mu.Unlock()
	if j.file == nil {
		return 0, j.usable()
	}

	c := buffers.Get().(*chunks)
	defer buffers.Put(c)
	if int64(len(c.buf)) < part.bytes {
		c.buf = make([]byte, part.bytes)
	}
	text := c.buf[:part.bytes]
	if _, err := io.ReadFull(io.NewSectionReader(j.file, part.off, part.bytes), text); err != nil {
		return 0, fmt.Errorf("read %s at %d: %w", mainName, part.off, err)
	}
	var p parser
	for off := part.off; len(text) > 0; {
		var l line
		l, text = cutLine(text, off)
		off = l.end()
		seq, err := leadingSeq(l.text)
		if _, asked := slices.BinarySearch(seqs[:n], seq); !asked || err != nil {
			continue
		}
		it, covered, err := inspect(l.text)
		switch {
		case err != nil:
			j.badLine(mainName, l, err)
		case it.gone == "":
			*events = append(*events, p.decode(seq, covered))
		}
	}
	return n, nil
}
