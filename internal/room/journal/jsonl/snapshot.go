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

// Snapshot is the files of a journal at one moment, open for reading. Later appends, archiving and erasure do not
// change it. It omits mailbox.last, whose sequence number may be higher than theirs.
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

// Snapshot opens the files of the journal. Appends wait only until they are open. The caller must close the snapshot.
func (j *Journal) Snapshot(ctx context.Context) (s *Snapshot, err error) {
	if err := j.becomeKeeper(ctx); err != nil {
		return nil, err
	}
	defer j.endKeeping()
	// With the keeper and the lead taken, no event is moving between files.
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
		return nil // an odd name among foreign files
	}
	f, size, err := j.open(name, os.O_RDONLY)
	if name != mainName && !inArchive(name) && noFile(err) {
		return nil // no lines or files were set aside
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

// RawSnapshot opens the files of a journal that cannot be opened. Other programs may change them meanwhile, so they
// need not be of one moment. It leaves out files that it cannot open; the error names them and the reasons. The
// snapshot of the others is returned in any case; its Seq is 0.
func RawSnapshot(dir string) (*Snapshot, error) {
	// The main file first: an event that is being archived is then in two files rather than in none.
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
