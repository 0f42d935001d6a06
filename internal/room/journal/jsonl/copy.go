package jsonl

import (
	"context"
	"fmt"
	"io"

	"pennypost/internal/mail"
	"pennypost/internal/room/journal"
)

// Line is what the files have for some places: an event, at First and Last, or a stub.
type Line struct {
	First, Last mail.Seq
	Text        []byte // of an event, as Encode returned it; valid until the next line. Nil: a stub
	Missing     bool   // the stub stands for events that were there
	Archived    bool   // the line is in the archive
}

// Lines calls f for each line of the journal, in order, and then, if all is set, for each of the archive. Lines that
// cannot be read are left out. Compaction and erasure wait meanwhile.
func (j *Journal) Lines(ctx context.Context, all bool, f func(Line) error) error {
	if err := j.becomeKeeper(ctx); err != nil {
		return err
	}
	defer j.endKeeping()
	names := []string{mainName}
	if all {
		months, err := j.months()
		if err != nil {
			return err
		}
		names = append(names, months...)
	}
	v := verifier{journal: j}
	for _, name := range names {
		_, err := v.each(ctx, name, func(l line) error {
			it, covered, err := inspect(l.text)
			if err != nil {
				return nil
			}
			at := Line{First: it.seq, Last: it.end, Missing: it.gone == missing, Archived: name != mainName}
			if it.gone == "" {
				at.Text = textOf(covered)
			}
			return f(at)
		})
		if err != nil && !isNotExist(err) {
			return fmt.Errorf("read %s: %w", name, err)
		}
	}
	return nil
}

// textOf returns the event in a line as Encode returned it.
func textOf(covered []byte) []byte {
	p := parser{rest: covered}
	p.want(head)
	p.digits()
	if p.skip(prevHead) {
		p.rest = p.rest[min(len(p.rest), crcDigits+1):]
	}
	if len(p.rest) == 0 {
		return nil
	}
	return append(append([]byte{'{'}, p.rest[1:]...), '}')
}

// CutBack removes what is behind a place from the journal of a Copy. Whoever made a state of it must make it anew.
func (j *Journal) CutBack(ctx context.Context, last mail.Seq) error {
	if err := j.becomeKeeper(ctx); err != nil {
		return err
	}
	defer j.endKeeping()
	j.takeLead()
	defer j.giveLead()
	if err := j.stayOpen(); err != nil {
		return err
	}
	f := j.file
	size, err := f.Size()
	if err != nil {
		return err
	}
	var keep []piece
	err = scan(f, firstLine(f), size, func(l line) error {
		it, _, err := inspect(l.text)
		switch {
		case err != nil || it.end <= last:
			keep = addPiece(keep, piece{span: span{l.off, l.bytes}})
		case it.seq <= last: // a stub for places on both sides
			it.end, it.known = last, min(it.known, last)
			keep = append(keep, piece{text: it.line()})
		}
		return nil
	})
	if err != nil {
		return err
	}
	return j.replaceBy(f, keep)
}

// replaceBy replaces the main file by pieces of it. The caller leads.
func (j *Journal) replaceBy(f io.ReaderAt, pieces []piece) error {
	s, err := j.replaceMain(0, func(o *output) error { return o.pieces(f, pieces...) })
	if s == nil {
		return err
	}
	j.mu.Lock()
	j.end = s.end
	j.tail.reset(s.end.end)
	j.mu.Unlock()
	if err != nil {
		return j.poison(err)
	}
	return nil
}

// PutBack puts events in the places of which the journal says that they are missing. Of those that are given none,
// it is taken that they are gone. If n is not 0, events stand where cursors have already been: whoever made a state of
// them must make it anew.
func (j *Journal) PutBack(ctx context.Context, events []Placed) (n int, err error) {
	if err := j.becomeKeeper(ctx); err != nil {
		return 0, err
	}
	defer j.endKeeping()
	j.takeLead()
	defer j.giveLead()
	if err := j.stayOpen(); err != nil {
		return 0, err
	}
	f := j.file
	size, err := f.Size()
	if err != nil {
		return 0, err
	}
	var pieces []piece
	var last item
	changed := false
	err = scan(f, firstLine(f), size, func(l line) error {
		it, _, err := inspect(l.text)
		if err != nil || it.gone != missing {
			pieces = addPiece(pieces, piece{span: span{l.off, l.bytes}})
			if err == nil {
				last = it
			}
			return nil
		}
		var lines []byte
		lines, last = last.replaced(it, events, &n)
		pieces, changed = append(pieces, piece{text: lines}), true
		return nil
	})
	if err != nil || !changed {
		return 0, err
	}
	return n, j.replaceBy(f, pieces)
}

// replaced returns lines for the places of a stub for what is missing, which comes behind it, and the last of them.
func (it item) replaced(stub item, events []Placed, n *int) (lines []byte, last item) {
	last = it
	gone := func(end mail.Seq) {
		if end > last.end {
			next := item{seq: last.end + 1, end: end, gone: dropped, prev: last.crc, chained: true, crc: last.crc,
				when: stub.when}
			lines, last = append(lines, next.line()...), next
		}
	}
	for _, e := range events {
		p, err := payload(e.Text)
		if err != nil || e.Seq < stub.seq || e.Seq > stub.end {
			continue
		}
		gone(e.Seq - 1)
		start := len(lines)
		lines = appendLine(lines, e.Seq, last.crc, p)
		last = item{seq: e.Seq, end: e.Seq, crc: crcOf(lines[start : len(lines)-1])}
		*n++
	}
	if last.end < stub.end {
		end := item{seq: last.end + 1, end: stub.end, gone: dropped, prev: last.crc, chained: true, crc: stub.crc,
			when: stub.when}
		lines, last = append(lines, end.line()...), end
	}
	return lines, last
}

// Tell has News return a notice.
func (j *Journal) Tell(n journal.News) { j.tell(n.Subject, n.Body) }

// Decode returns the event that Encode returned as text. It is false if there is none in which anything is known: a
// newer version wrote it, or something else did.
func Decode(seq mail.Seq, text []byte) (mail.Event, bool) {
	p, err := payload(text)
	if err != nil {
		return mail.Event{Seq: seq}, false
	}
	e, err := decodeSlowly(seq, append([]byte("{\"seq\":1"), p...))
	return e, err == nil && known(e)
}
