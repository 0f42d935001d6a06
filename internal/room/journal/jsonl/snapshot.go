package jsonl

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"pennypost/internal/mail"
)

// Snapshot is the files of a journal as they were at one moment, open for reading. What is appended, archived or
// erased later does not change it. mailbox.last is not among them, because it may say more than they do.
type Snapshot struct {
	Seq   mail.Seq // the last event in it
	Files []SnapshotFile
}

// SnapshotFile is one file of a Snapshot.
type SnapshotFile struct {
	Name string // relative to the journal's directory, with slashes
	*io.SectionReader
	file file
}

// Snapshot opens the files of the journal. Appends wait only while they are being opened; the caller closes it.
func (j *Journal) Snapshot(ctx context.Context) (s *Snapshot, err error) {
	if err := j.becomeKeeper(ctx); err != nil {
		return nil, err
	}
	defer j.endKeeping()
	// With the files kept and the lead taken, no event is on its way from one file to another.
	if err := j.undoArchive(); err != nil {
		return nil, err
	}
	j.takeLead()
	defer j.giveLead()
	if err := j.stayOpen(); err != nil {
		return nil, err
	}
	names, err := j.months()
	if err != nil {
		return nil, err
	}
	foreign, err := j.foreigners()
	if err != nil {
		return nil, err
	}
	s = &Snapshot{}
	for _, name := range slices.Concat([]string{mainName, rejectedName}, foreign, names) {
		if err := s.open(j, name); err != nil {
			s.Close()
			return nil, fmt.Errorf("open %s to copy it: %w", name, err)
		}
	}
	return s, nil
}

func (s *Snapshot) open(j *Journal, name string) error {
	if !InSnapshot(name) {
		return nil // a stranger's, among foreign files
	}
	f, size, err := j.open(name, os.O_RDONLY)
	if name != mainName && !inArchive(name) && noFile(err) {
		return nil // nothing was set aside, or no file
	}
	if err != nil {
		return err
	}
	if name == mainName {
		j.mu.Lock()
		size, s.Seq = j.size, j.end.end
		j.mu.Unlock()
		if !j.inPlace(size) {
			err = errChanged
		}
	}
	s.Files = append(s.Files, SnapshotFile{name, io.NewSectionReader(f, 0, size), f})
	return err
}

// RawSnapshot opens the files of a journal that cannot be opened itself, as they stand. Nobody keeps others from
// changing them meanwhile, so they need not be of one moment. A file that cannot be opened is left out, and the error
// says which and why. The snapshot of the others is there in any case; its Seq is 0.
func RawSnapshot(dir string) (*Snapshot, error) {
	// The main file first: of an event that is being moved to the archive there are two then, and not none.
	s, names, errs := &Snapshot{}, []string{mainName}, []error(nil)
	for _, sub := range []string{".", archiveName} {
		listed, odd, err := osDisk{}.List(filepath.Join(dir, sub))
		errs = append(errs, err)
		for _, name := range append(listed, odd...) {
			if name = path.Join(sub, name); name != mainName && InSnapshot(name) {
				names = append(names, name)
			}
		}
	}
	for _, name := range names {
		if err := s.openRaw(filepath.Join(dir, filepath.FromSlash(name)), name); err != nil {
			errs = append(errs, err)
		}
	}
	return s, errors.Join(errs...)
}

func (s *Snapshot) openRaw(at, name string) error {
	f, err := osDisk{}.Open(at, os.O_RDONLY)
	if err != nil {
		return err
	}
	size, err := f.Size()
	s.Files = append(s.Files, SnapshotFile{name, io.NewSectionReader(f, 0, size), f})
	return err
}

// Close closes the files.
func (s *Snapshot) Close() error {
	var err error
	for _, f := range s.Files {
		err = errors.Join(err, f.file.Close())
	}
	return err
}

// InSnapshot reports whether a file of a snapshot may have this name.
func InSnapshot(name string) bool {
	if name == mainName || name == rejectedName {
		return true
	}
	if inArchive(name) {
		return isMonth(path.Base(name)) && name == path.Join(archiveName, path.Base(name))
	}
	before, after, _ := strings.Cut(foreignName, "%d")
	number, hasBefore := strings.CutPrefix(name, before)
	number, hasAfter := strings.CutSuffix(number, after)
	_, err := strconv.ParseUint(number, 10, 31)
	return hasBefore && hasAfter && err == nil
}
