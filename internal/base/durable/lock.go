package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/gofrs/flock"
)

// Lock is a lock file that this process holds. The system lets go of it when the process ends, however it ends.
type Lock struct {
	file  *flock.Flock
	noted bool // the id of this process stands in it
}

// LockedError says that a lock file is held by somebody else, who may be in this process too.
type LockedError struct {
	Path string
	PID  int // the holder as it wrote it down; 0 if that cannot be read
}

func (e *LockedError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("%s is locked by another process", e.Path)
	}
	return fmt.Sprintf("%s is locked by process %d", e.Path, e.PID)
}

// TryLock takes the lock file at path, making it if it is not there, and writes the id of this process in it. It does
// not wait: if somebody holds the lock, the error is a *LockedError.
func TryLock(path string) (*Lock, error) {
	there, err := OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	defer there.Close()
	is, err := there.Stat()
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	lock, err := TryLockOf(path, is)
	if locked := new(LockedError); errors.As(err, &locked) {
		locked.PID = holder(path)
	}
	if err != nil {
		return nil, err
	}
	lock.noted = note(path)
	return lock, nil
}

// note writes the id of this process into a lock file. It only helps a person; the lock holds without it (a full disk,
// or Windows, which denies even its holder a second handle).
func note(path string) bool {
	file, err := OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return false
	}
	defer file.Close()
	_, err = file.WriteString(strconv.Itoa(os.Getpid()))
	return err == nil
}

// TryLockOf is TryLock of a file, or a directory where the system can lock one, that is there and is the one that is
// says: if another stands at path by now, that is an error. No id is written into it, because by its path another file
// could be reached.
func TryLockOf(path string, is fs.FileInfo) (*Lock, error) {
	flag := os.O_RDWR | syscall.O_NONBLOCK
	if is.IsDir() {
		flag = os.O_RDONLY | syscall.O_NONBLOCK
	}
	file := flock.New(path, flock.SetFlag(flag))
	ok, err := file.TryLock()
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	if !ok {
		return nil, &LockedError{Path: path}
	}
	if now, err := file.Stat(); err != nil || !os.SameFile(is, now) {
		return nil, errors.Join(fmt.Errorf("lock %s: another file has taken its place", path), err, file.Unlock())
	}
	return &Lock{file: file}, nil
}

// InPlace reports whether the path of the lock still leads to the file that is locked. If somebody removed that file,
// another process can lock one of the same name.
func (l *Lock) InPlace() bool {
	held, err := l.file.Stat() // of the path, if it is not locked any more
	if err != nil || !l.file.Locked() {
		return false
	}
	there, err := os.Stat(l.file.Path())
	return err == nil && os.SameFile(held, there)
}

// Unlock gives the lock back. The file stays: removing it would let two processes lock two files of one name.
func (l *Lock) Unlock() error {
	if l.noted {
		_ = os.Truncate(l.file.Path(), 0) // so that nobody is told of a holder that is no more
	}
	return l.file.Unlock()
}

// Close is Unlock.
func (l *Lock) Close() error { return l.Unlock() }

func holder(path string) int {
	text, err := ReadFile(path)
	if err != nil {
		return 0
	}
	pid, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	return pid
}
