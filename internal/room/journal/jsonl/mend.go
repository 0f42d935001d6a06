package jsonl

import (
	"cmp"
	"os"
	"slices"
	"sort"

	"pennypost/internal/mail"
)

// newName is the name, before tmpSuffix, of a rewritten main file. A compaction uses another name, since its file
// marks the archive as untrustworthy; both files may exist at the same time.
const newName = "mailbox.new"

// mending rewrites the main file, the same way for every kind of damage. Readable lines with rising sequence numbers
// stay. Spare lines fill gaps, and stubs cover the sequence numbers that remain, so that none is assigned twice.
type mending struct {
	// Set by the caller.
	spare   []spare
	keepBad bool      // unreadable lines stay
	given   bool      // spare holds all there is for the missing ranges; change nothing else
	most    mail.Seq  // later lines were never acknowledged and go, as does a torn one; 0: all lines count
	archive seqRanges // ranges in the archive, as far as they are needed

	// Results.
	pieces  []piece
	last    item // the last line of the new file
	changed bool
	placed  int         // number of spare lines used
	lost    []lostRange // ranges not known before to be missing
}

// spare is a line found outside its position in the main file.
type spare struct {
	item
	text    []byte // newline included
	payload []byte // if text is nil: the line follows whichever line precedes it
	from    origin
}

// origin is where a spare line was found.
type origin uint8

const (
	here     origin = iota // within a bad line of the main file, or in memory
	rejected               // in the rejected file
	foreign                // in a file that another program had put in place of the main file
)

// lostRange is a range of sequence numbers without lines.
type lostRange struct {
	before, stub item
	archived     mail.Seq // how many of them are in the archive
}

// walk reads the first size bytes of the main file, whose last line should be end or a later one. If that line is
// missing, the next skip sequence numbers after it are not assigned either.
func (m *mending) walk(f file, size int64, end item, skip mail.Seq) error {
	slices.SortStableFunc(m.spare, func(a, b spare) int {
		return cmp.Or(cmp.Compare(a.seq, b.seq), cmp.Compare(a.from, b.from))
	})
	if err := scan(f, firstLine(f), size, m.line); err != nil {
		return err
	}
	next := item{seq: end.end + 1, prev: end.crc, when: end.when}
	m.place(m.last.lost(&next), foreign, true)
	m.place(item{seq: m.last.end + 1, end: maxSeq}, here, false)
	if stub := m.last.lost(&next); end.end > m.last.end {
		stub.end += skip
		m.stub(stub)
	}
	return nil
}

func (m *mending) line(l line) error {
	it, _, err := inspect(l.text)
	switch {
	case err != nil || it.seq <= m.last.end:
		if m.keepBad && (l.whole || m.most == 0) {
			m.keep(l)
		} else {
			m.changed = true
		}
		return nil
	case m.most != 0 && it.end > m.most:
		m.changed = true
		return nil
	case m.given:
	case m.last.linkTo(&it) == gap:
		hole := m.last.lost(&it)
		m.place(hole, foreign, true)
		m.stub(m.last.lost(&it))
	case !it.chained && it.seq > m.last.end+1:
		// Nothing says that lines are missing. They may have been dropped or erased, and a restored old copy has them.
		m.place(m.last.lost(&it), rejected, false)
	}
	if it.gone == missing && m.refill(it) {
		return nil
	}
	m.keep(l)
	m.last = it
	return nil
}

// refill replaces a stub by spare lines, and reports whether it did.
func (m *mending) refill(stub item) bool {
	placed, lost := m.placed, len(m.lost)
	m.place(stub, foreign, true)
	if m.placed == placed && !m.given {
		return false
	}
	left := m.last.lost(&item{seq: stub.end + 1, prev: stub.crc, when: stub.when})
	left.known = stub.known
	m.stub(left)
	m.lost = m.lost[:lost]
	return true
}

// place puts spare lines into a free range, if their origin is from or nearer. With stubs, a stub covers the gap
// before each.
func (m *mending) place(free item, from origin, stubs bool) {
	i := sort.Search(len(m.spare), func(i int) bool { return m.spare[i].seq >= free.seq })
	for ; i < len(m.spare) && m.spare[i].seq <= free.end; i++ {
		next := m.spare[i]
		if next.seq <= m.last.end || next.end > free.end || next.from > from || m.archive.has(next.seq) {
			continue
		}
		if m.last.linkTo(&next.item) == differs && i+1 < len(m.spare) && m.spare[i+1].seq == next.seq {
			continue // of two with this sequence number, take the one that follows
		}
		if next.text == nil {
			next.text = appendLine(nil, next.seq, m.last.crc, next.payload)
			next.item, _, _ = inspect(next.text[:len(next.text)-1])
		}
		if stubs || m.last.linkTo(&next.item) == gap {
			m.stub(m.last.lost(&next.item))
		}
		m.pieces = addPiece(m.pieces, piece{text: next.text})
		m.last, m.changed = next.item, true
		m.placed++
	}
}

// stub appends a stub, unless it is empty.
func (m *mending) stub(s item) {
	if s.end < s.seq {
		return
	}
	switch there := m.archive.within(s.seq, s.known); {
	case m.given || s.known < s.seq: // these sequence numbers were never assigned
		s.gone = dropped
	case there == s.end-s.seq+1:
		s.gone = archived
	default:
		m.lost = append(m.lost, lostRange{m.last, s, there})
	}
	m.pieces = addPiece(m.pieces, piece{text: s.line()})
	m.last, m.changed = s, true
}

func (m *mending) keep(l line) {
	m.pieces = addPiece(m.pieces, piece{span: span{l.off, l.bytes}})
	if !l.whole {
		m.pieces = addPiece(m.pieces, piece{text: []byte("\n")})
	}
}

// mend plans the new main file from its survey, and sets aside the bad lines. If the disk is too full for that they
// stay, and readers skip them: bad lines never keep a room closed.
func (j *Journal) mend(s *survey, lines []spare, end item, skip mail.Seq) (m *mending, err error) {
	for _, b := range s.bad {
		j.log.Warn("set aside an unreadable line", "line", b.num, "offset", b.off, "bytes", b.bytes, "why",
			b.why)
	}
	m = &mending{spare: lines}
	if err := j.keepRejected(s.bad); err != nil {
		j.log.Error("unreadable lines stay in the file and are skipped", "lines", len(s.bad), "err", err)
		m.keepBad = true
	}
	for i := range s.bad {
		if !m.keepBad {
			m.spare = append(m.spare, s.bad[i].salvage()...)
		}
	}
	if s.gaps > 0 || end.end > s.end.end || len(lines) > 0 {
		if m.archive, err = j.archivedPlaces(); err != nil {
			return nil, err
		}
	}
	return m, m.walk(j.file, s.size, end, skip)
}

// rebuild writes the acknowledged events to a new main file: the first size bytes of the open one and, if some are
// lost, the events still in memory. The caller leads.
func (j *Journal) rebuild(size int64) (err error) {
	if j.file == nil {
		f, all, err := j.open(mainName, os.O_RDWR)
		if err != nil {
			return err
		}
		j.swap.Lock()
		j.file, size = f, all
		j.swap.Unlock()
	}
	now, err := j.file.Size()
	if err != nil {
		return err
	}
	end := j.lastItem()
	m := mending{keepBad: true, most: end.end}
	err = m.walk(j.file, min(size, now), end, 0)
	if err == nil && len(m.lost) > 0 {
		m = mending{keepBad: true, most: end.end}
		if m.spare, err = j.remembered(); err == nil {
			err = m.walk(j.file, min(size, now), end, 0)
		}
	}
	if err == nil {
		_, err = j.replaceMain(m.pieces, true)
	}
	return err
}

// remembered returns the lines that followers share, encoded again exactly as they were.
func (j *Journal) remembered() (lines []spare, err error) {
	j.mu.Lock()
	batches := slices.Clone(j.tail.batches)
	j.mu.Unlock()
	for _, b := range batches {
		prev := b.prev
		for _, e := range b.events {
			if !known(e) { // of a copy: a stub, or an event of a newer version
				break
			}
			payload, err := appendPayload(nil, &e)
			if err != nil {
				return nil, err
			}
			s := spare{text: appendLine(nil, e.Seq, prev, payload)}
			s.item, _, _ = inspect(s.text[:len(s.text)-1])
			lines, prev = append(lines, s), s.crc
		}
	}
	return lines, nil
}

// replaceMain builds a file from pieces of the open one, puts it in place, and continues with it. A file that another
// program put there is set aside. If it fails the old file stays open, or the journal is poisoned. The caller leads,
// or is Open.
func (j *Journal) replaceMain(pieces []piece, remember bool) (*survey, error) {
	if err := j.secureDir(); err != nil {
		return nil, err
	}
	r, err := j.build(newName, mainName, j.file, pieces)
	if err != nil {
		return nil, err
	}
	s, err := surveyAll(r.file)
	if err == nil {
		err = j.setForeignAside(newName + tmpSuffix)
	}
	if err == nil {
		err = j.install(r, s, remember)
	}
	if err != nil {
		r.abandon()
		return nil, err
	}
	j.countAside(len(s.bad))
	return s, nil
}
