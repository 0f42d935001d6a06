package confined

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"pennypost/internal/base/durable"
)

// MaxFile is the size, in bytes, above which a file is not read: its content and the data made of it would not fit
// into memory.
const MaxFile = 256 << 20

// Dir is such a directory. It is opened for each call, so it may be moved away and come back. Names are relative to
// it.
type Dir struct {
	path  string
	place *Place // the directory that was named, or one above it; nil: any directory at the path
	below string // where it is in that directory
}

// At returns the directory at a path, whichever that is when it is used.
func At(path string) Dir { return Dir{path: path} }

// RefusedError says that an entry below a Dir is of a kind that is not allowed. Nothing was read from it or written to
// it.
type RefusedError struct {
	Path string
	What string // its kind: "a symbolic link"
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("%s is %s; it is not used. Put a regular file or directory there",
		e.Path, e.What)
}

// Path returns the path of name, for people and for watching. Do not open it.
func (d Dir) Path(name string) string { return filepath.Join(d.path, name) }

// refuse returns the error for an entry of the given mode.
func refuse(path string, mode fs.FileMode) error {
	what := "not a regular file (" + mode.String() + ")"
	switch {
	case mode&fs.ModeSymlink != 0:
		what = "a symbolic link, and links are not followed"
	case mode.IsDir():
		what = "a directory"
	case mode&fs.ModeNamedPipe != 0:
		what = "a named pipe"
	case mode&fs.ModeDevice != 0:
		what = "a device"
	case mode&fs.ModeSocket != 0:
		what = "a socket"
	case mode.IsRegular():
		what = "a file, not a directory"
	}
	return &RefusedError{Path: path, What: what}
}

func (d Dir) outside(name string) error {
	return &fs.PathError{Op: "open", Path: d.Path(name), Err: errors.New("it is outside the directory")}
}

// top returns the directory that is opened first: d itself, or its Place.
func (d Dir) top() Dir {
	if d.place != nil {
		return Dir{path: d.place.Path, place: d.place}
	}
	return d
}

// open opens the directory of top.
func (d Dir) open() (*os.Root, error) {
	if d.place != nil {
		return d.place.open()
	}
	return openDir(d.path)
}

// away returns fs.ErrNotExist, in a chain, instead of err if the directory is missing.
func (d Dir) away(err error) error {
	if _, there := os.Lstat(d.path); errors.Is(there, fs.ErrNotExist) {
		return there
	}
	return err
}

// openDir opens a directory. The trailing dot makes the open fail for anything else: opening a pipe in its place would
// block.
func openDir(path string) (*os.Root, error) { return os.OpenRoot(path + "/.") }

// in calls f with the directory that contains name, and the last element of name.
func (d Dir) in(name string, f func(parent *os.Root, base string) error) error {
	if !filepath.IsLocal(name) {
		return d.outside(name)
	}
	parent, err := d.open()
	if err != nil {
		return d.away(err)
	}
	defer func() { parent.Close() }()
	parts := strings.Split(filepath.ToSlash(filepath.Join(d.below, name)), "/")
	for i, part := range parts[:len(parts)-1] {
		below, err := down(parent, part, filepath.Join(d.top().path, filepath.Join(parts[:i+1]...)))
		if err != nil {
			return err
		}
		parent.Close()
		parent = below
	}
	return f(parent, parts[len(parts)-1])
}

// down opens the directory called part in parent; path is its path.
func down(parent *os.Root, part, path string) (*os.Root, error) {
	info, err := parent.Lstat(part)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, refuse(path, info.Mode())
	}
	below, err := parent.OpenRoot(part + "/.") // as in openDir
	if err != nil {
		return nil, err
	}
	if got, err := below.Stat("."); err != nil || !os.SameFile(info, got) {
		below.Close()
		return nil, errors.Join(&RefusedError{Path: path, What: "different from a moment ago"}, err)
	}
	return below, nil
}

// Lstat describes the entry at name, of any kind.
func (d Dir) Lstat(name string) (info fs.FileInfo, err error) {
	err = d.in(name, func(parent *os.Root, base string) error {
		info, err = parent.Lstat(base)
		return err
	})
	return info, err
}

// OpenFile opens the regular file at name. The flags are those of os.OpenFile except O_TRUNC. O_CREATE makes a missing
// file, but no directory.
func (d Dir) OpenFile(name string, flag int, perm fs.FileMode) (file *os.File, err error) {
	err = d.in(name, func(parent *os.Root, base string) error {
		for range 10 { // others may create and remove it meanwhile
			if file, err = d.openIn(parent, base, name, flag, perm); !errors.Is(err, errMoved) {
				break
			}
		}
		return err
	})
	return file, err
}

var errMoved = errors.New("it appears and disappears")

func (d Dir) openIn(parent *os.Root, base, name string, flag int, perm fs.FileMode) (*os.File, error) {
	info, err := parent.Lstat(base)
	if errors.Is(err, fs.ErrNotExist) && flag&os.O_CREATE != 0 {
		file, err := parent.OpenFile(base, flag|os.O_EXCL, perm) // does not follow links
		if errors.Is(err, fs.ErrExist) && flag&os.O_EXCL == 0 {
			err = fmt.Errorf("open %s: %w", d.Path(name), errMoved)
		}
		return file, err
	}
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, refuse(d.Path(name), info.Mode())
	}
	if flag&os.O_EXCL != 0 {
		return nil, &fs.PathError{Op: "open", Path: d.Path(name), Err: fs.ErrExist}
	}
	file, err := parent.OpenFile(base, flag&^os.O_CREATE|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("open %s: %w", d.Path(name), errors.Join(errMoved, err))
	}
	if err != nil {
		return nil, err
	}
	if got, err := file.Stat(); err != nil || !os.SameFile(info, got) {
		file.Close()
		return nil, errors.Join(fmt.Errorf("open %s: %w", d.Path(name), errMoved), err)
	}
	return file, nil
}

// ReadFile returns the content of the file at name, at most MaxFile bytes.
func (d Dir) ReadFile(name string) ([]byte, error) {
	file, err := d.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return ReadAll(file)
}

// ReadAll returns the content of an open file, at most MaxFile bytes.
func ReadAll(file *os.File) ([]byte, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() > MaxFile {
		return nil, fmt.Errorf("%s has %d bytes; the limit is %d", file.Name(), info.Size(), MaxFile)
	}
	return io.ReadAll(io.LimitReader(file, MaxFile))
}

// ReadDir lists the directory at name, which is "." for d itself.
func (d Dir) ReadDir(name string) (list []fs.DirEntry, err error) {
	err = d.in(filepath.Join(name, "x"), func(parent *os.Root, _ string) error {
		dir, err := parent.Open(".")
		if err != nil {
			return err
		}
		defer dir.Close()
		list, err = dir.ReadDir(-1)
		return err
	})
	return list, err
}

// ErrMany says that a directory has more entries than allowed.
var ErrMany = errors.New("the directory has too many files")

// List describes all entries of the directory at name; the error is ErrMany if there are more than most.
func (d Dir) List(name string, most int) (list []fs.FileInfo, err error) {
	err = d.in(filepath.Join(name, "x"), func(parent *os.Root, _ string) error {
		dir, err := parent.Open(".")
		if err != nil {
			return err
		}
		defer dir.Close()
		names, err := dir.Readdirnames(most + 1)
		if len(names) > most {
			return ErrMany
		}
		for _, base := range names {
			if info, err := parent.Lstat(base); err == nil { // otherwise it was removed meanwhile
				list = append(list, info)
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		return err
	})
	return list, err
}

// MkdirAll makes the directory at name and those above it, including d, durably. A Place must already exist.
func (d Dir) MkdirAll(name string, perm fs.FileMode) error {
	if !filepath.IsLocal(name) {
		return d.outside(name)
	}
	if d.place == nil {
		if err := durable.MkdirAll(d.path, perm); err != nil {
			return err
		}
	}
	top, name := d.top(), filepath.Join(d.below, name)
	for i := range name + "/" {
		if i > 0 && (i == len(name) || os.IsPathSeparator(name[i])) {
			if err := top.mkdir(name[:i], perm); err != nil {
				return err
			}
		}
	}
	return nil
}

// mkdir makes one directory if it is missing.
func (d Dir) mkdir(name string, perm fs.FileMode) error {
	return d.in(name, func(parent *os.Root, base string) error {
		err := parent.Mkdir(base, perm)
		if !errors.Is(err, fs.ErrExist) {
			return errors.Join(err, durable.SyncRoot(parent))
		}
		below, err := down(parent, base, d.Path(name))
		if err != nil {
			return err
		}
		return below.Close()
	})
}

// Mkdir makes the directory at name. The error is fs.ErrExist if it exists.
func (d Dir) Mkdir(name string, perm fs.FileMode) error {
	return d.in(name, func(parent *os.Root, base string) error { return parent.Mkdir(base, perm) })
}

// Chtimes sets the modification time of the directory or file at name.
func (d Dir) Chtimes(name string, changed time.Time) error {
	return d.in(name, func(parent *os.Root, base string) error {
		if info, err := parent.Lstat(base); err != nil || info.Mode()&fs.ModeSymlink != 0 {
			return errors.Join(fs.ErrInvalid, err)
		}
		return parent.Chtimes(base, time.Time{}, changed)
	})
}

// Remove removes the file, the empty directory or the link at name.
func (d Dir) Remove(name string) error {
	return d.in(name, func(parent *os.Root, base string) error { return parent.Remove(base) })
}

// WriteFile replaces the file at name by data, as durable.WriteFile does.
func (d Dir) WriteFile(name string, data []byte, perm fs.FileMode) error {
	return d.Replace(name, perm, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// Replace replaces the content of the file at name by the output of write, as durable.Replace does.
func (d Dir) Replace(name string, perm fs.FileMode, write func(io.Writer) error) error {
	return d.in(name, func(parent *os.Root, base string) error {
		info, err := parent.Lstat(base)
		if err == nil && !info.Mode().IsRegular() {
			return refuse(d.Path(name), info.Mode())
		}
		if err := durable.ReplaceIn(parent, base, perm, write); err != nil {
			return fmt.Errorf("write %s: %w", d.Path(name), err)
		}
		return nil
	})
}

// TryLockDir locks the existing directory at name itself, as durable.TryLockOf does.
func (d Dir) TryLockDir(name string) (*durable.Lock, error) {
	info, err := d.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, refuse(d.Path(name), info.Mode())
	}
	return durable.TryLockOf(d.Path(name), info)
}

// lockPatience is how long Lock waits for another holder.
const lockPatience = 2 * time.Second

// Lock is TryLock that waits up to lockPatience for another holder to release the lock.
func (d Dir) Lock(name string) (*durable.Lock, error) {
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		lock, err := d.TryLock(name)
		if _, held := errors.AsType[*durable.LockedError](err); !held || time.Since(began) > lockPatience {
			return lock, err
		}
	}
}

// TryLock takes the lock file at name, as durable.TryLock does, but writes no process id into it.
func (d Dir) TryLock(name string) (*durable.Lock, error) {
	file, err := d.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	return durable.TryLockOf(d.Path(name), info)
}
