package jsonl

import (
	"bytes"
	"strconv"

	"pennypost/internal/mail"
)

// item is a link of the chain: the line of an event, or a stub, which represents a range of sequence numbers whose
// events are elsewhere or lost.
type item struct {
	seq, end mail.Seq // the first and last sequence number; equal for an event
	prev     uint32   // the crc of the line before
	chained  bool     // the line has prev; lines of version 1, and stubs that begin with one, lack it
	crc      uint32   // the prev of the next line
	when     [len(timeForm)]byte
	gone     absence
	needs    bool     // it states a requirement on readers: see needs.go
	known    mail.Seq // of a missing range: the last sequence number known to have been assigned
}

const timeForm = "2006-01-02T15:04:05.000Z"

// absence says why the events of a stub are not in the file; it is empty for an event.
type absence string

// The reasons. Only a missing range is a loss.
const (
	dropped  absence = "dropped"  // by compaction, because a later event replaces them; or erased
	archived absence = "archived" // the archive has a line or a stub for each sequence number
	missing  absence = "missing"  // they were assigned, and Open did not find them
)

const (
	atHead   = `,"at":"`
	goneHead = `,"gone":{"why":"`
)

// inspect is check for callers that need the line's link in the chain.
func inspect(line []byte) (it item, covered []byte, err error) {
	if covered, it.crc, err = intact(line); err == nil {
		it.seq, err = leadingSeq(covered)
	}
	if err != nil {
		return item{}, nil, err
	}
	it.end = it.seq
	rest := covered[len(head):]
	rest = rest[bytes.IndexByte(rest, ','):]
	if b, ok := bytes.CutPrefix(rest, []byte(prevHead)); ok {
		if sum, ok := hexSum(b); ok && len(b) > crcDigits {
			it.prev, it.chained, rest = sum, true, b[crcDigits+1:]
		}
	}
	if b, ok := bytes.CutPrefix(rest, []byte(atHead)); ok && len(b) > len(timeForm) {
		copy(it.when[:], b)
		rest = b[len(timeForm)+1:]
	}
	switch {
	case bytes.HasPrefix(rest, []byte(goneHead)):
		it.readStub(rest)
	case bytes.HasPrefix(rest, []byte(needsHead)):
		it.needs = true
	}
	return it, covered, nil
}

// readStub turns it into a stub if rest has the form that line writes. A newer Pennypost's form makes it an event with
// unknown content.
func (it *item) readStub(rest []byte) {
	p := parser{rest: rest}
	p.want(goneHead)
	n := max(0, bytes.IndexByte(p.rest, '"'))
	why := absence(p.rest[:n])
	p.rest = p.rest[n:]
	p.want(`","to":`)
	end := p.place()
	var known mail.Seq
	if p.skip(`,"last":`) {
		known = p.place()
	}
	p.want(crcHead)
	crc, ok := hexSum(p.rest)
	if p.failed || !ok || end < it.seq || string(p.rest[crcDigits:]) != crcTail {
		return
	}
	it.gone, it.end, it.known, it.crc = why, end, known, crc
}

func (p *parser) place() mail.Seq {
	n, err := strconv.ParseUint(string(p.digits()), 10, 64)
	p.failed = p.failed || err != nil || n > maxSeq
	return mail.Seq(n)
}

// line returns the line of a stub, newline included.
func (it *item) line() []byte {
	b := appendNumber(append([]byte(nil), head...), it.seq)
	if it.chained {
		b = append(appendSum(append(b, prevHead...), it.prev), '"')
	}
	if it.when[0] != 0 {
		b = append(append(append(b, atHead...), it.when[:]...), '"')
	}
	b = append(append(b, goneHead...), it.gone...)
	b = appendNumber(append(b, `","to":`...), it.end)
	if it.gone == missing {
		b = appendNumber(append(b, `,"last":`...), it.known)
	}
	b = append(appendSum(append(b, crcHead...), it.crc), crcTail...)
	return append(appendCRC(b, 0), '\n')
}

func appendNumber(b []byte, n mail.Seq) []byte { return strconv.AppendUint(b, uint64(n), 10) }

// at returns the time in the line, zero if there is none.
func (it *item) at() mail.Time {
	p := parser{rest: append(append([]byte{'"'}, it.when[:]...), '"')}
	return p.time()
}

// setTime sets the time of the line to t. It leaves out times that no line can express.
func (it *item) setTime(t mail.Time) {
	var room [2 * len(timeForm)]byte
	if b, err := t.AppendText(room[:0]); err == nil && len(b) == len(timeForm) {
		copy(it.when[:], b)
	}
}

// link is how a line follows the one before it.
type link uint8

const (
	follows link = iota // or unknown: lines of version 1 may have gaps before them
	gap                 // lines are missing in between
	differs             // another line was there before
)

// linkTo says how next, whose sequence number is higher, follows it. The first line of a journal follows the zero
// item.
func (it *item) linkTo(next *item) link {
	switch {
	case !next.chained:
		return follows
	case next.seq != it.end+1:
		return gap
	case next.prev != it.crc:
		return differs
	}
	return follows
}

// lost returns the stub for the range missing between it and next.
func (it *item) lost(next *item) item {
	return item{
		seq: it.end + 1, end: next.seq - 1, known: next.seq - 1, gone: missing,
		prev: it.crc, chained: true, crc: next.prev, when: next.when,
	}
}
