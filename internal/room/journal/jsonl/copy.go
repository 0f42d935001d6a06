package jsonl

import (
	"context"

	"pennypost/internal/mail"
	"pennypost/internal/room/journal"
)

// Line is the file's entry for a range of sequence numbers: an event, with First equal to Last, or a stub.
type Line struct {
	First, Last mail.Seq
	Text        []byte // of an event, as Encode returned it; valid until the next line. Nil: a stub
	Missing     bool   // the stub represents lost events
	Archived    bool   // the line is in the archive
}

// Lines calls f for each line of the journal, in order, and then, if all is set, for each of the archive. It omits
// unreadable lines. Compaction and erasure wait meanwhile.
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
	return j.eachLineOf(names, func(name string, l line) error {
		it, covered, err := inspect(l.text)
		if err != nil {
			return nil
		}
		at := Line{First: it.seq, Last: it.end, Missing: it.gone == missing, Archived: name != mainName}
		if it.gone == "" {
			at.Text = textOf(covered)
		}
		if err := f(at); err != nil {
			return err
		}
		return j.stopped(ctx)
	})
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

// CutBack removes the events after last from the journal of a Copy. State that was built from them must be rebuilt.
func (j *Journal) CutBack(ctx context.Context, last mail.Seq) error {
	return j.withWholeMain(ctx, func(size int64) error {
		var keep []piece
		err := scan(j.file, firstLine(j.file), size, func(l line) error {
			it, _, err := inspect(l.text)
			switch {
			case err != nil || it.end <= last:
				keep = addPiece(keep, piece{span: span{l.off, l.bytes}})
			case it.seq <= last: // a stub that extends past last
				it.end, it.known = last, min(it.known, last)
				keep = append(keep, piece{text: it.line()})
			}
			return nil
		})
		if err == nil {
			_, err = j.replaceMain(keep, false)
		}
		return err
	})
}

// withWholeMain calls f with the size of the main file, which f may replace. Appends and other work on the files wait.
func (j *Journal) withWholeMain(ctx context.Context, f func(size int64) error) error {
	if err := j.becomeKeeper(ctx); err != nil {
		return err
	}
	defer j.endKeeping()
	j.takeLead()
	defer j.giveLead()
	if err := j.stayOpen(); err != nil {
		return err
	}
	size, err := j.file.Size()
	if err != nil {
		return err
	}
	return f(size)
}

// PutBack fills missing ranges of the journal with events. Missing sequence numbers that events lacks are recorded as
// gone. If n is not 0, some events are at positions that cursors have passed: state built from the journal must be
// rebuilt.
func (j *Journal) PutBack(ctx context.Context, events []Placed) (n int, err error) {
	m := mending{keepBad: true, given: true}
	for _, e := range events {
		if p, err := payload(e.Text); err == nil {
			m.spare = append(m.spare, spare{item: item{seq: e.Seq, end: e.Seq}, payload: p, from: foreign})
		}
	}
	err = j.withWholeMain(ctx, func(size int64) error {
		err := m.walk(j.file, size, item{}, 0)
		if err == nil && m.changed {
			_, err = j.replaceMain(m.pieces, false)
		}
		return err
	})
	return m.placed, err
}

// Tell makes News return a notice.
func (j *Journal) Tell(n journal.News) { j.tell(n.Subject, n.Body) }

// Decode returns the event that Encode returned as text. It returns false if this version understands nothing in it: a
// newer version or another program wrote it.
func Decode(seq mail.Seq, text []byte) (mail.Event, bool) {
	p, err := payload(text)
	if err != nil {
		return mail.Event{Seq: seq}, false
	}
	e, err := decodeSlowly(seq, append([]byte("{\"seq\":1"), p...))
	return e, err == nil && known(e)
}
