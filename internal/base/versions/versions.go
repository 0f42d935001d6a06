// Package versions keeps several versions of the programs side by side, one of them current:
//
//	DIR/pennypost                     a link to .pennypost/current/pennypost; the others likewise
//	DIR/.pennypost/v1.2.3/            the programs of a version
//	DIR/.pennypost/current            a link to the version that runs
//	DIR/.pennypost/previous           a link to the one before
//
// Replacing the link current changes all programs at the same time, so a kill at any step leaves programs of one
// version. install.sh makes the same layout.
package versions

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"pennypost/internal/base/durable"
)

// Names in a directory of programs.
const (
	storeName = ".pennypost"
	current   = "current"
	previous  = "previous"
	partName  = "part."
)

// Programs are the programs of a version.
var Programs = [...]string{"pennypost", "pennypostd", "pennypost-nats"}

// ErrNone says that there is no previous version.
var ErrNone = errors.New("no earlier version is stored")

// Stable returns the path that keeps leading to a program when its version changes: that of the link, if path is the
// link's target, and path otherwise.
func Stable(path string) string {
	store := filepath.Dir(filepath.Dir(path))
	if filepath.Base(store) != storeName {
		return path
	}
	link := filepath.Join(filepath.Dir(store), filepath.Base(path))
	if _, err := os.Stat(link); err != nil {
		return path
	}
	return link
}

// Store is a directory of programs with its versions.
type Store struct {
	dir  string
	lock *durable.Lock
	part string // a directory for unfinished files

	step func() error // for tests: called before each change; its error fails the change
}

// Open creates missing parts in a directory of programs, removes leftovers of a killed process, and keeps others from
// changing versions until Close. If another process holds the store, the error is a *durable.LockedError.
func Open(dir string) (*Store, error) {
	s := &Store{dir: dir, step: func() error { return nil }}
	if err := os.MkdirAll(s.path(), 0o755); err != nil { // others may run the programs in it
		return nil, err
	}
	lock, err := durable.TryLock(s.path("lock"))
	if err != nil {
		return nil, err
	}
	s.lock, s.part = lock, s.path(partName+strconv.Itoa(os.Getpid()))
	left, err := filepath.Glob(s.path(partName + "*"))
	for _, old := range left {
		err = errors.Join(err, os.RemoveAll(old))
	}
	if err = errors.Join(err, os.Mkdir(s.part, 0o700)); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Close removes unfinished files, and the store itself if it holds no version.
func (s *Store) Close() error {
	err := os.RemoveAll(s.part)
	if _, none := os.Lstat(s.path(current)); none != nil {
		_ = os.Remove(s.path("lock"))
		defer os.Remove(s.path()) // fails unless it is empty
	}
	return errors.Join(err, s.lock.Unlock())
}

// Part returns a directory on the same file system for unfinished files.
func (s *Store) Part() string { return s.part }

func (s *Store) path(names ...string) string {
	return filepath.Join(append([]string{s.dir, storeName}, names...)...)
}

// Put replaces the current version now by the version next, whose programs are in the directory unpacked. After an
// error the programs are those of now.
func (s *Store) Put(now, next, unpacked string) (err error) {
	if err := s.adopt(now); err != nil {
		return err
	}
	older, _ := os.Readlink(s.path(previous))
	if err := s.place(unpacked, next); err != nil {
		return err
	}
	if err := s.swap(previous, now); err != nil {
		return errors.Join(err, os.RemoveAll(s.path(next)))
	}
	if err := s.swap(current, next); err != nil {
		if older != "" && older != now {
			err = errors.Join(err, s.link(previous, older))
		}
		return errors.Join(err, os.RemoveAll(s.path(next)))
	}
	return s.prune()
}

// Back exchanges the current and the previous version. It returns the new current one.
func (s *Store) Back() (version string, err error) {
	now, err := os.Readlink(s.path(current))
	if errors.Is(err, fs.ErrNotExist) {
		return "", ErrNone
	}
	if err != nil {
		return "", err
	}
	before, err := os.Readlink(s.path(previous))
	if err != nil || before == now {
		before = s.other(now) // a process was killed between two links
	}
	if _, err := os.Stat(s.path(before, Programs[0])); before == "" || err != nil {
		return "", ErrNone
	}
	if err := s.swap(current, before); err != nil {
		return "", err
	}
	return before, s.swap(previous, now)
}

// other returns the only version other than now, "" if there are none or several.
func (s *Store) other(now string) string {
	all, _ := s.versions()
	all = slices.DeleteFunc(all, func(v string) bool { return v == now })
	if len(all) != 1 {
		return ""
	}
	return all[0]
}

func (s *Store) versions() (all []string, err error) {
	entries, err := os.ReadDir(s.path())
	for _, e := range entries {
		if e.IsDir() && strings.HasPrefix(e.Name(), "v") {
			all = append(all, e.Name())
		}
	}
	return all, err
}

// adopt moves programs that are directly in the directory, as unpacked from an archive, into a version, and leaves
// links. A program that the version lacks, because it is newer, gets a link too.
func (s *Store) adopt(now string) error {
	plain, missing, err := s.plain()
	if err != nil || len(plain)+len(missing) == 0 {
		return err
	}
	// otherwise a process was killed here, and the version is there
	if len(plain) > 0 && len(plain)+len(missing) == len(Programs) {
		kept := filepath.Join(s.part, "now")
		if err := os.Mkdir(kept, 0o755); err != nil {
			return err
		}
		for _, program := range plain {
			if err := linkOrCopy(filepath.Join(s.dir, program), filepath.Join(kept, program)); err != nil {
				return err
			}
		}
		if err := s.place(kept, now); err != nil {
			return err
		}
		if err := s.swap(current, now); err != nil {
			return err
		}
	}
	for _, program := range append(plain, missing...) {
		if err := s.swapAt(filepath.Join(s.dir, program), filepath.Join(storeName, current, program)); err != nil {
			return err
		}
	}
	return durable.SyncDir(s.dir)
}

// plain returns the programs that are files in the directory itself, and those that are missing.
func (s *Store) plain() (plain, missing []string, err error) {
	for _, program := range Programs {
		info, err := os.Lstat(filepath.Join(s.dir, program))
		switch {
		case errors.Is(err, fs.ErrNotExist) && len(missing)+1 < len(Programs):
			missing = append(missing, program)
		case err != nil:
			return nil, nil, err
		case info.Mode().IsRegular():
			plain = append(plain, program)
		}
	}
	return plain, missing, nil
}

// place makes a directory that of a version, and replaces a leftover one.
func (s *Store) place(from, version string) error {
	if err := s.step(); err != nil {
		return err
	}
	if err := os.Chmod(from, 0o755); err != nil {
		return err
	}
	err := os.Rename(s.path(version), filepath.Join(s.part, "old"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := s.step(); err != nil {
		return err
	}
	if err := os.Rename(from, s.path(version)); err != nil {
		return err
	}
	return durable.SyncDir(s.path())
}

// swap atomically makes a link of the store lead to a version.
func (s *Store) swap(name, version string) error {
	if err := s.swapAt(s.path(name), version); err != nil {
		return err
	}
	return durable.SyncDir(s.path())
}

func (s *Store) swapAt(path, target string) error {
	if err := s.step(); err != nil {
		return err
	}
	tmp := filepath.Join(s.part, "link")
	if err := os.Symlink(target, tmp); err != nil {
		return err
	}
	if err := s.step(); err != nil {
		return err
	}
	if err := os.Rename(tmp, path); err != nil {
		return errors.Join(err, os.Remove(tmp))
	}
	return nil
}

// link is swap for undoing a change.
func (s *Store) link(name, version string) error {
	_ = os.Remove(filepath.Join(s.part, "link"))
	s.step = func() error { return nil }
	return s.swap(name, version)
}

// prune removes the versions that are neither current nor previous.
func (s *Store) prune() error {
	all, err := s.versions()
	now, _ := os.Readlink(s.path(current))
	before, _ := os.Readlink(s.path(previous))
	for _, v := range all {
		if v != now && v != before {
			err = errors.Join(err, s.step(), os.RemoveAll(s.path(v)))
		}
	}
	return err
}

// linkOrCopy gives a program a second name, or copies it where links are not possible.
func linkOrCopy(from, to string) error {
	if os.Link(from, to) == nil {
		return nil
	}
	in, err := durable.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	if err := durable.Replace(to, 0o755, func(w io.Writer) error {
		_, err := io.Copy(w, in)
		return err
	}); err != nil {
		return fmt.Errorf("copy %s: %w", from, err)
	}
	return nil
}
