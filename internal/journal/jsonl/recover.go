package jsonl

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"pennypost/internal/mail"
)

// Recovery says what Open found and did.
type Recovery struct {
	Events     int            // that can be read
	Cut        int64          // bytes of a torn last line, which nobody was told is stored; they are gone
	Completed  bool           // the last line was whole but for its newline, which was added
	SetAside   []mail.Problem // lines that cannot be read, as they stood in the file; they were moved byte for byte
	Salvaged   int            // events that such lines held beside what is wrong with them; they are among Events
	RolledBack bool           // a compaction or erasure had been cut off; what it had begun was undone
}

// openMain opens the main file and brings it into the state that everything else relies on: whole lines, each readable, their
// places rising, all of it durable.
func (j *Journal) openMain() error {
	f, err := j.disk.Open(j.path(mainName), os.O_RDWR|os.O_CREATE)
	if err != nil {
		return err
	}
	j.file = f
	if err := j.tidy(); err != nil {
		return err
	}
	s, err := surveyFile(f)
	if err != nil {
		return err
	}
	if s.size == 0 { // it may be new, and so may its directory; both names are to last
		if err := errors.Join(j.disk.SyncDir(j.dir), j.disk.SyncDir(filepath.Dir(j.dir))); err != nil {
			return err
		}
	}
	if err := j.mendEnd(s); err != nil {
		return err
	}
	if s, err = j.setAside(s); err != nil {
		return err
	}
	// What the page cache holds may not be on the disk yet, if whoever wrote it was killed. Nothing is shown before it is.
	if err := j.file.Sync(); err != nil {
		return err
	}
	j.size, j.last, j.index = s.size, s.last, s.index
	j.tail.reset(s.last)
	j.recovery.Events = s.events
	return nil
}

// tidy undoes what was cut off: every name that ends in tmpSuffix is a file that was never finished.
func (j *Journal) tidy() error {
	for _, dir := range []string{"", archiveName} {
		names, err := j.disk.List(j.path(dir))
		if err != nil {
			return err
		}
		for _, name := range names {
			if !strings.HasSuffix(name, tmpSuffix) {
				continue
			}
			j.recovery.RolledBack = true
			if name == mainName+tmpSuffix {
				j.halfArchived = true
				if err := j.undoArchive(); err != nil {
					return err
				}
			}
			j.log.Warn("removed what an interrupted compaction or erasure had begun", "file", name)
			if err := j.disk.Remove(j.path(dir + "/" + name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// survey is what a pass over the main file finds.
type survey struct {
	size   int64
	events int
	last   mail.Seq
	index  index
	bad    []badLine
	open   bool // the last line can be read, and lacks its newline
}

// badLine is a line that cannot be read, or whose place does not rise.
type badLine struct {
	line
	text         []byte // a copy
	why          error
	after, until mail.Seq // the places of its readable neighbours; until is 0 behind the last one
}

func surveyFile(f file) (*survey, error) {
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	s := &survey{size: size, index: index{start: firstLine(f)}}
	err = scan(f, s.index.start, size, func(l line) error {
		seq, _, err := check(l.text)
		if err == nil && seq <= s.last {
			err = fmt.Errorf("its seq %d does not rise above %d", seq, s.last)
		}
		if err != nil {
			s.bad = append(s.bad, badLine{line: l, text: append([]byte(nil), l.text...), why: err, after: s.last})
			return nil
		}
		for i := len(s.bad) - 1; i >= 0 && s.bad[i].until == 0; i-- {
			s.bad[i].until = seq
		}
		s.events++
		s.last, s.open = seq, !l.whole
		s.index.add(seq, l.off)
		return nil
	})
	return s, err
}

// mendEnd makes the file end with a newline.
func (j *Journal) mendEnd(s *survey) error {
	if s.open {
		j.recovery.Completed = true
		j.log.Warn("added the newline that the last line lacked", "seq", s.last)
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
