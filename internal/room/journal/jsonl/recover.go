package jsonl

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"pennypost/internal/mail"
)

// Recovery says what Open found and did.
type Recovery struct {
	Events     int            // readable events
	Cut        int64          // bytes of a torn last line, never acknowledged; they were removed
	Completed  bool           // the last line was whole except for its newline, which was added
	SetAside   []mail.Problem // lines that cannot be read; they were moved byte for byte
	Salvaged   int            // events found inside those lines; also counted in Events
	RolledBack bool           // a compaction or erasure was interrupted; it was undone
	Missing    []mail.Problem // ranges of sequence numbers whose lines were lost since the journal was last open
	Differ     int            // lines with the next sequence number but a prev that does not match
}

// openMain opens the main file and puts it into the state that the rest relies on: whole, readable lines with rising
// sequence numbers, all durable.
func (j *Journal) openMain() error {
	f, err := j.disk.Open(j.mainPath, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return err
	}
	j.file = f
	s, err := surveyAll(f)
	if err != nil {
		return err
	}
	if s.needs != nil {
		return s.needs.refuse("the mailbox in " + j.dir)
	}
	if err := j.tidy(); err != nil {
		return err
	}
	if s.size == 0 { // the file may be new, and its directory too; make both names durable
		if err := errors.Join(j.disk.SyncDir(j.dir), j.disk.SyncDir(filepath.Dir(j.dir))); err != nil {
			return err
		}
	}
	if err := j.mendEnd(s); err != nil {
		return err
	}
	readable := s.events
	for _, b := range s.bad {
		j.recovery.SetAside = append(j.recovery.SetAside,
			mail.Problem{File: mainName, Line: b.num, Text: b.why.Error()})
	}
	if s, err = j.putRight(s); err != nil {
		return err
	}
	j.recovery.Salvaged = s.events - readable
	if j.isDurable(s) {
		j.noted = s.end.end
	} else if err := j.file.Sync(); err != nil {
		return err
	}
	j.size, j.end, j.index, j.absent = s.size, s.end, s.index, s.missing
	j.tail.reset(s.end.end)
	j.recovery.Events, j.recovery.Differ = s.events, s.differ
	if s.differ > 0 {
		j.log.Warn("lines do not follow the ones before them; see pennypost verify", "lines", s.differ)
	}
	return nil
}

// isDurable reports whether all lines are certainly on the disk. Lines in the page cache might not be, if their writer
// was killed, and no line is shown before it is durable. lastName holds only synced sequence numbers, so if it matches
// the end of the file, that was synced. In a copy it also holds unsynced ones.
func (j *Journal) isDurable(s *survey) bool {
	last := j.readLast()
	mended := j.recovery.Completed || j.recovery.Cut > 0
	return !j.copied && !mended && s.end.end > 0 && last.end == s.end.end && last.crc == s.end.crc
}

// tidy undoes interrupted work.
func (j *Journal) tidy() error {
	return j.eachUnfinished(func(dir, name string) error {
		j.recovery.RolledBack = j.recovery.RolledBack || dir != indexName && name != lastName+tmpSuffix
		if name == mainName+tmpSuffix {
			j.halfArchived = true
			if err := j.undoArchive(); err != nil {
				return err
			}
		}
		j.log.Warn("removed an unfinished file", "file", name)
		return j.disk.Remove(j.path(dir + "/" + name))
	})
}

// eachUnfinished calls f for every name that ends in tmpSuffix: an unfinished file.
func (j *Journal) eachUnfinished(f func(dir, name string) error) error {
	for _, dir := range []string{"", archiveName, indexName} {
		names, odd, err := j.disk.List(j.path(dir))
		if err != nil && dir != indexName { // without an index every event can still be found
			return err
		}
		for _, name := range append(names, odd...) {
			if !strings.HasSuffix(name, tmpSuffix) {
				continue
			}
			if err := f(dir, name); err != nil {
				return err
			}
		}
	}
	return nil
}

// survey is the result of a pass over the main file.
type survey struct {
	size    int64
	events  int
	end     item // the last readable line; zero if there is none
	index   index
	bad     []badLine
	gaps    int      // lines before which others are missing
	differ  int      // lines with the next sequence number but a prev that does not match
	missing mail.Seq // sequence numbers in stubs for missing ranges
	open    bool     // the last line is readable but lacks its newline
	needs   *needs   // the first one that this version does not know; nil: none
}

// badLine is a line that cannot be read, or whose sequence number does not rise.
type badLine struct {
	line
	why          error
	after, until mail.Seq // the sequence numbers of its readable neighbours; until is 0 after the last one
}

func surveyAll(f file) (*survey, error) {
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	return surveyFile(f, size)
}

func surveyFile(f file, size int64) (*survey, error) {
	s := &survey{size: size, index: index{start: min(firstLine(f), size)}}
	err := scan(f, s.index.start, size, func(l line) error {
		it, covered, err := inspect(l.text)
		if err == nil && it.needs && s.needs == nil {
			s.needs = needsOf(covered)
		}
		if err == nil && it.seq <= s.end.end {
			err = fmt.Errorf("its seq %d is not greater than %d", it.seq, s.end.end)
		}
		if err != nil {
			b := badLine{line: l, why: err, after: s.end.end}
			b.raw, b.text = append(bytes.Clone(bytes.TrimSuffix(l.raw, []byte("\n"))), '\n'), bytes.Clone(l.text)
			s.bad = append(s.bad, b)
			return nil
		}
		for i := len(s.bad) - 1; i >= 0 && s.bad[i].until == 0; i-- {
			s.bad[i].until = it.seq
		}
		s.add(it, l)
		return nil
	})
	return s, err
}

// add takes the next readable line.
func (s *survey) add(it item, l line) {
	switch s.end.linkTo(&it) {
	case gap:
		s.gaps++
	case differs:
		s.differ++
	}
	switch it.gone {
	case "":
		s.events++
	case missing:
		s.missing += it.known - it.seq + 1
	}
	s.end, s.open = it, !l.whole
	s.index.add(it.seq, l.off)
}

// mendEnd makes the file end with a newline.
func (j *Journal) mendEnd(s *survey) error {
	if s.open {
		j.recovery.Completed = true
		j.log.Warn("added the missing newline of the last line", "seq", s.end.end)
		_, err := j.file.WriteAt([]byte("\n"), s.size)
		s.size++
		return err
	}
	if len(s.bad) == 0 {
		return nil
	}
	torn := &s.bad[len(s.bad)-1]
	if torn.whole || len(torn.salvage()) > 0 {
		return nil
	}
	j.recovery.Cut = torn.bytes
	j.log.Warn("cut a torn last line", "offset", torn.off, "bytes", torn.bytes, "why", torn.why)
	s.size = torn.off
	s.bad = s.bad[:len(s.bad)-1]
	return j.file.Truncate(s.size)
}

// putRight mends the main file if lines are unreadable or missing. A loss is reported once, and its sequence numbers
// are not reused. If the disk is too full for the stubs, the next Open finds the loss again.
func (j *Journal) putRight(s *survey) (*survey, error) {
	known, err := j.lastKnown(s.end)
	if err != nil {
		return nil, err
	}
	if j.copied {
		known = item{}
	}
	j.countAside(len(s.bad))
	if len(s.bad) == 0 && s.gaps == 0 && known.end <= s.end.end {
		return s, nil
	}
	m, err := j.mend(s, nil, known, skipped)
	if err != nil {
		return nil, err
	}
	for _, lost := range m.lost {
		j.reportLost(&lost)
	}
	if !m.changed {
		return s, nil
	}
	mended, err := j.replaceMain(m.pieces, false)
	if err == nil {
		return mended, nil
	}
	if _, leads := j.leads(j.file); !leads || j.broken != nil {
		return nil, err
	}
	j.log.Error("mailbox file not repaired; unreadable lines are skipped", "err", err)
	j.countAside(len(s.bad))
	if m.last.end > s.end.end {
		s.end = m.last // sequence numbers are not reused, even if the stub could not be written
	}
	return s, nil
}

// reportLost tells the person which range is missing.
func (j *Journal) reportLost(g *lostRange) {
	text := absenceText(&g.before, &g.stub)
	if g.archived > 0 {
		text += fmt.Sprintf("; %d of them are in the archive", g.archived)
	}
	p := mail.Problem{File: mainName, Text: text, First: g.stub.seq, Last: g.stub.known}
	j.recovery.Missing = append(j.recovery.Missing, p)
	j.tell("Part of the mailbox is missing", "When the room was opened, "+text+
		". The post office did not remove it: the disk failed, an old backup was restored, or another program "+
		"changed the file. For details: pennypost verify. The rest is intact and stays in use.")
}

// absenceText describes the range that is missing from the journal between before and the end of stub.
func absenceText(before, stub *item) string {
	var b strings.Builder
	if stub.known == stub.seq {
		fmt.Fprintf(&b, "line %d is missing", stub.seq)
	} else {
		fmt.Fprintf(&b, "lines %d to %d are missing", stub.seq, stub.known)
	}
	if stub.end > stub.known {
		b.WriteString(", and perhaps later ones")
	}
	from, to := before.at(), stub.at()
	switch {
	case from != 0 && to != 0:
		fmt.Fprintf(&b, ", from between %s and %s", from, to)
	case to != 0:
		fmt.Fprintf(&b, ", from before %s", to)
	}
	return b.String()
}
