package claudeteams

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"pennypost/internal/base/confined"
	"pennypost/internal/base/durable"
	"pennypost/internal/base/pause"
	"pennypost/internal/mail"
)

// The lock of a file is a directory, made as proper-lockfile 4.1.2 makes it for Claude Code: the process that
// creates <file>.lock holds it. The holder renews its time; a lock older than staleAfter belongs to a dead process
// and may be removed. A holder that finds its directory changed has lost the lock.
const (
	staleAfter = 10 * time.Second
	lockTries  = 30 // after the first; two seconds in total
	fewTries   = 4  // for a caller that others wait for; a tenth of a second
	firstWait  = 5 * time.Millisecond
	lastWait   = 100 * time.Millisecond
)

// ourMode marks a lock directory of ours. Claude Code's have mode 0777 less the umask, and no umask removes the
// owner's write permission. Creating the directory sets the mark in the same step. While we hold the lock, we also
// hold flock on the directory, which the system releases when the process ends for any reason. So a directory of
// ours without flock belongs to a killed process and can be taken over immediately.
const ourMode = 0o500

// youngest is the minimum age of a lock of ours that may be taken over.
const youngest = 100 * time.Millisecond

// locker takes locks.
type locker struct {
	ctx   context.Context
	tries int // after the first
}

// hold runs f while it holds the lock of a file. f calls confirm right before it changes anything; an error means
// that the lock was lost.
func (l locker) hold(dir confined.Dir, name string, f func(confirm func() error) error) error {
	lock := name + ".lock"
	own, err := l.acquire(dir, name, lock)
	if err != nil {
		return err
	}
	if own != nil {
		defer own.Unlock()
	}
	mine, err := dir.Lstat(lock)
	if err != nil {
		return lost(dir.Path(name))
	}
	still := func() bool {
		info, err := dir.Lstat(lock)
		return err == nil && os.SameFile(info, mine) && info.ModTime().Equal(mine.ModTime())
	}
	defer func() {
		if still() {
			_ = dir.Remove(lock) // a leftover is recognised as ours, or stale in ten seconds
		}
	}()
	return f(func() error {
		if !still() {
			return lost(dir.Path(name))
		}
		if err := dir.Chtimes(lock, time.Now()); err != nil {
			return lost(dir.Path(name))
		}
		if mine, err = dir.Lstat(lock); err != nil {
			return lost(dir.Path(name))
		}
		return nil
	})
}

func lost(path string) error {
	return mail.Errorf(mail.Unavailable, "the lock of %s was lost; nothing was written there. Try again", path)
}

// acquire makes the lock and returns the flock on it. Nil: the system cannot lock directories, and the lock's time
// alone protects it.
func (l locker) acquire(dir confined.Dir, name, lock string) (*durable.Lock, error) {
	wait := firstWait
	for try := 0; ; try++ {
		own, err := takeLock(dir, name, lock)
		switch {
		case err == nil || !errors.Is(err, fs.ErrExist):
			return own, err
		case try == l.tries:
			return nil, mail.Errorf(mail.Unavailable, "another process holds the lock of %s; nothing was written "+
				"there. Try "+
				"again", dir.Path(name))
		}
		if !pause.For(l.ctx, wait/2+rand.N(wait/2+1)) {
			return nil, context.Cause(l.ctx)
		}
		wait = min(2*wait, lastWait)
	}
}

// takeLock makes the lock, or takes it over from a killed process of ours. fs.ErrExist: another process holds it.
func takeLock(dir confined.Dir, name, lock string) (*durable.Lock, error) {
	err := dir.Mkdir(lock, ourMode)
	if errors.Is(err, fs.ErrExist) {
		if own := inherit(dir, name, lock); own != nil {
			return own, nil
		}
		if takeAway(dir, name, lock) {
			err = dir.Mkdir(lock, ourMode)
		}
	}
	if err != nil {
		return nil, err
	}
	own, err := lockOurs(dir, lock)
	if errors.Is(err, fs.ErrExist) {
		return nil, err // another process of ours took us for dead
	}
	return own, nil
}

// lockOurs takes flock on a lock directory of ours. fs.ErrExist: the directory is gone, or another process has
// locked it; other errors: its owner is unknown, or the system cannot lock it.
func lockOurs(dir confined.Dir, lock string) (*durable.Lock, error) {
	info, err := dir.Lstat(lock)
	if err != nil {
		return nil, fs.ErrExist
	}
	if !info.IsDir() || info.Mode().Perm() != ourMode {
		return nil, errors.ErrUnsupported
	}
	own, err := dir.TryLockDir(lock)
	again, gone := dir.Lstat(lock)
	_, held := errors.AsType[*durable.LockedError](err)
	if held || gone != nil || !os.SameFile(info, again) {
		if own != nil {
			_ = own.Unlock()
		}
		return nil, fs.ErrExist
	}
	return own, err
}

// inherit takes over a lock that a killed process of ours left. Nil: it is not one of those, or is so new that its
// maker might not have locked it yet.
func inherit(dir confined.Dir, name, lock string) *durable.Lock {
	info, err := dir.Lstat(lock)
	if err != nil || time.Since(info.ModTime()) < youngest {
		return nil
	}
	own, err := lockOurs(dir, lock)
	if err != nil {
		return nil
	}
	if dir.Chtimes(lock, time.Now()) != nil {
		_ = own.Unlock()
		return nil
	}
	removeLeft(dir, name)
	return own
}

// breakOurs removes the locks in a directory that killed processes of ours left: Claude Code would wait for them and
// give up.
func breakOurs(dir confined.Dir, below string) {
	list, _ := dir.ReadDir(below) // later steps report an unreadable directory
	for _, e := range list {
		name, ok := strings.CutSuffix(e.Name(), ".lock")
		if !ok || !e.IsDir() {
			continue
		}
		lock := filepath.Join(below, e.Name())
		if own := inherit(dir, filepath.Join(below, name), lock); own != nil {
			_ = errors.Join(dir.Remove(lock), own.Unlock())
		}
	}
}

// takeAway removes a stale lock and its holder's temporary files. It reports whether the lock is gone.
func takeAway(dir confined.Dir, name, lock string) bool {
	info, err := dir.Lstat(lock)
	if errors.Is(err, fs.ErrNotExist) {
		return true
	}
	if err != nil || time.Since(info.ModTime()) <= staleAfter {
		return false
	}
	again, err := dir.Lstat(lock) // as late as possible: another process may have removed the lock and made its own
	if err != nil || !os.SameFile(info, again) || !again.ModTime().Equal(info.ModTime()) || dir.Remove(lock) != nil {
		return false
	}
	removeLeft(dir, name)
	return true
}

// removeLeft removes the temporary files of a writer that was killed before its rename.
func removeLeft(dir confined.Dir, name string) {
	parent, base := filepath.Split(name)
	left, _ := dir.ReadDir(filepath.Clean(parent))
	for _, e := range left {
		if strings.HasPrefix(e.Name(), "."+base+".") && strings.HasSuffix(e.Name(), ".tmp") {
			_ = dir.Remove(filepath.Join(parent, e.Name()))
		}
	}
}

// replace writes a file if the lock is still held just before the rename.
func replace(dir confined.Dir, name string, text []byte, confirm func() error) error {
	return dir.Replace(name, 0o600, func(w io.Writer) error {
		if _, err := w.Write(text); err != nil {
			return err
		}
		return confirm()
	})
}
