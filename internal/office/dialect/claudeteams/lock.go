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
	"pennypost/internal/mail"
)

// The lock of a file is a directory, as proper-lockfile 4.1.2 makes it for Claude Code: whoever makes <file>.lock has
// it. Its time is to be renewed by its holder; one that is older than staleAfter belongs to somebody who died, and may
// be taken away. A holder that finds its directory changed has lost it.
const (
	staleAfter = 10 * time.Second
	lockTries  = 30 // after the first
	firstWait  = 5 * time.Millisecond
	lastWait   = 100 * time.Millisecond
)

// locker takes locks.
type locker struct{ ctx context.Context }

// hold runs f while it has the lock of a file. f calls confirm right before it changes anything: the error says that
// the lock was lost.
func (l locker) hold(dir confined.Dir, name string, f func(confirm func() error) error) error {
	lock := name + ".lock"
	if err := l.acquire(dir, name, lock); err != nil {
		return err
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
			_ = dir.Remove(lock) // what is left behind is stale in ten seconds
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

func (l locker) acquire(dir confined.Dir, name, lock string) error {
	wait := firstWait
	for try := 0; ; try++ {
		err := dir.Mkdir(lock, 0o777)
		if errors.Is(err, fs.ErrExist) && takeAway(dir, name, lock) {
			err = dir.Mkdir(lock, 0o777)
		}
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, fs.ErrExist):
			return err
		case try == lockTries:
			return mail.Errorf(mail.Unavailable, "somebody holds the lock of %s; nothing was written there. Try again",
				dir.Path(name))
		}
		if err := l.pause(wait/2 + rand.N(wait/2+1)); err != nil {
			return err
		}
		wait = min(2*wait, lastWait)
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
	parent, base := filepath.Split(name)
	left, _ := dir.ReadDir(filepath.Clean(parent))
	for _, e := range left {
		if strings.HasPrefix(e.Name(), "."+base+".") && strings.HasSuffix(e.Name(), ".tmp") {
			_ = dir.Remove(filepath.Join(parent, e.Name()))
		}
	}
	return true
}

func (l locker) pause(d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-l.ctx.Done():
		return context.Cause(l.ctx)
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
