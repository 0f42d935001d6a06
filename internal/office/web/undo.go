package web

import (
	"sync"
	"time"

	"pennypost/internal/mail"
)

// undoTime is how long a deletion can be taken back. Until it is over nothing has been deleted, and a crash leaves
// everything as it was.
const undoTime = 5 * time.Second

// undo holds what the person asked for and may still take back. Its zero value is ready; finish ends it.
type undo struct {
	running sync.WaitGroup // deletions that are being carried out

	mu      sync.Mutex
	closed  bool
	pending map[target]*deletion
}

// target is a message of a room.
type target struct {
	room mail.RoomName
	id   mail.ID
}

type deletion struct {
	timer *time.Timer
	do    func()
	going bool // it cannot be taken back any more, and is hidden until it is done
}

// later calls do after undoTime, or when the site closes, unless it is taken back before. What is pending already goes
// on as it was.
func (u *undo) later(t target, do func()) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.pending[t] != nil {
		return
	}
	if u.pending == nil {
		u.pending = make(map[target]*deletion)
	}
	d := &deletion{do: do}
	u.pending[t] = d
	if u.closed {
		u.beginLocked(t, d)
		return
	}
	d.timer = time.AfterFunc(undoTime, func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		if u.pending[t] == d {
			u.beginLocked(t, d)
		}
	})
}

// beginLocked carries a deletion out, once.
func (u *undo) beginLocked(t target, d *deletion) {
	if d.going {
		return
	}
	d.going = true
	u.running.Go(func() {
		d.do()
		u.mu.Lock()
		defer u.mu.Unlock()
		delete(u.pending, t)
	})
}

// takeBack cancels what is pending, and reports whether it was in time.
func (u *undo) takeBack(t target) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	d := u.pending[t]
	if d == nil || d.going {
		return false
	}
	d.timer.Stop()
	delete(u.pending, t)
	return true
}

// hides reports whether a message is to be shown as gone.
func (u *undo) hides(t target) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.pending[t] != nil
}

// finish carries out everything at once and waits for it.
func (u *undo) finish() {
	u.mu.Lock()
	u.closed = true
	for t, d := range u.pending {
		if d.timer != nil {
			d.timer.Stop()
		}
		u.beginLocked(t, d)
	}
	u.mu.Unlock()
	u.running.Wait()
}
