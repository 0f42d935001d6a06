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

// Lock is a lock file that this process holds. The system releases it when the process ends in any way.
type Lock struct {
	file  *flock.Flock
	noted bool // the id of this process is in it
}

// LockedError says that another holder, possibly in this process, has a lock file.
type LockedError struct {
	Path string
	PID  int // the holder, as it wrote it; 0 if unreadable
}

func (e *LockedError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("%s is locked by another process", e.Path)
	}
	return fmt.Sprintf("%s is locked by process %d", e.Path, e.PID)
}

// TryLock takes the lock file at path, creates it if it is missing, and writes the id of this process into it. It does
// not wait: if the lock is held, the error is a *LockedError.
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

// note writes the id of this process into a lock file. It only helps a person; the lock works without it (a full disk,
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

// TryLockOf is TryLock for an existing file, or for a directory where the system can lock one. The file at path must
// be the one that is describes, else TryLockOf fails. It writes no id, because the path could lead to another file.
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
		return nil, errors.Join(fmt.Errorf("lock %s: another file has replaced it", path), err, file.Unlock())
	}
	return &Lock{file: file}, nil
}

// InPlace reports whether the path of the lock still leads to the locked file. If that file was removed, another
// process can lock one of the same name.
func (l *Lock) InPlace() bool {
	held, err := l.file.Stat() // of the path, if it is no longer locked
	if err != nil || !l.file.Locked() {
		return false
	}
	there, err := os.Stat(l.file.Path())
	return err == nil && os.SameFile(held, there)
}

// Unlock releases the lock. The file stays: removing it would let two processes lock two files of the same name.
func (l *Lock) Unlock() error {
	if l.noted {
		_ = os.Truncate(l.file.Path(), 0) // so that no error names a former holder
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
