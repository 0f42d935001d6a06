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

// The lock of a file is a directory, as proper-lockfile 4.1.2 makes it for Claude Code: whoever makes <file>.lock has
// it. Its time is to be renewed by its holder; one that is older than staleAfter belongs to somebody who died, and may
// be taken away. A holder that finds its directory changed has lost it.
const (
	staleAfter = 10 * time.Second
	lockTries  = 30 // after the first; they take two seconds
	fewTries   = 4  // of somebody for whom others wait: a tenth of a second
	firstWait  = 5 * time.Millisecond
	lastWait   = 100 * time.Millisecond
)

// ourMode tells a directory that we made from one of Claude Code, whose mode is 0777 without what the umask takes: no
// umask takes the right to write from oneself. It is the note of whose the lock is, and is made with it in one step.
// As long as we hold it, the directory is also locked (flock), which the system ends when the process does, however
// that ends. So one of ours that nobody has locked is of a process that was killed, and is ours at once.
const ourMode = 0o500

// youngest is how old a lock of ours is at least that is taken over.
const youngest = 100 * time.Millisecond

// locker takes locks.
type locker struct {
	ctx   context.Context
	tries int // after the first
}

// hold runs f while it has the lock of a file. f calls confirm right before it changes anything: the error says that
// the lock was lost.
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
			_ = dir.Remove(lock) // what is left behind is found to be ours, or is stale in ten seconds
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
	return mail.Errorf(mail.Unavailable, "the lock of %s was taken away; nothing was written there. Try again", path)
}

// acquire makes the lock, and returns what holds it. Nil: the system cannot lock directories, and it holds by its time
// alone.
func (l locker) acquire(dir confined.Dir, name, lock string) (*durable.Lock, error) {
	wait := firstWait
	for try := 0; ; try++ {
		own, err := takeLock(dir, name, lock)
		switch {
		case err == nil || !errors.Is(err, fs.ErrExist):
			return own, err
		case try == l.tries:
			return nil, mail.Errorf(mail.Unavailable, "somebody holds the lock of %s; nothing was written there. Try "+
				"again", dir.Path(name))
		}
		if !pause.For(l.ctx, wait/2+rand.N(wait/2+1)) {
			return nil, context.Cause(l.ctx)
		}
		wait = min(2*wait, lastWait)
	}
}

// takeLock makes the lock, or takes over one of a process of ours that was killed. fs.ErrExist: somebody has it.
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
		return nil, err // another process of ours thought that we were dead
	}
	return own, nil
}

// lockOurs locks the directory that is a lock of ours. fs.ErrExist: it is gone, or another process has locked it;
// other errors: nobody can tell whose it is, or the system cannot lock it.
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

// inherit takes over a lock that a process of ours has left behind. Nil: it is not such a one, or was made so lately
// that its maker may not have come to lock it.
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

// breakOurs removes the locks in a directory that killed processes of ours have left: Claude Code would wait for them,
// and give up.
func breakOurs(dir confined.Dir, below string) {
	list, _ := dir.ReadDir(below) // whoever needs it says that it cannot be read
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

// takeAway removes a lock that is stale, and what its holder did not come to rename. It reports whether the lock is
// gone.
func takeAway(dir confined.Dir, name, lock string) bool {
	info, err := dir.Lstat(lock)
	if errors.Is(err, fs.ErrNotExist) {
		return true
	}
	if err != nil || time.Since(info.ModTime()) <= staleAfter {
		return false
	}
	again, err := dir.Lstat(lock) // as late as can be: somebody else may have taken it away too, and have made its own
	if err != nil || !os.SameFile(info, again) || !again.ModTime().Equal(info.ModTime()) || dir.Remove(lock) != nil {
		return false
	}
	removeLeft(dir, name)
	return true
}

// removeLeft removes what a writer of a file that was killed did not come to rename.
func removeLeft(dir confined.Dir, name string) {
	parent, base := filepath.Split(name)
	left, _ := dir.ReadDir(filepath.Clean(parent))
	for _, e := range left {
		if strings.HasPrefix(e.Name(), "."+base+".") && strings.HasSuffix(e.Name(), ".tmp") {
			_ = dir.Remove(filepath.Join(parent, e.Name()))
		}
	}
}

// replace writes a file, if the lock is still held at the last moment.
func replace(dir confined.Dir, name string, text []byte, confirm func() error) error {
	return dir.Replace(name, 0o600, func(w io.Writer) error {
		if _, err := w.Write(text); err != nil {
			return err
		}
		return confirm()
	})
}
