package web

import (
	"context"
	"crypto/rand"
	"maps"
	"slices"
	"sync"
	"time"

	"pennypost/internal/mail"
)

const (
	// undoTime is how long a deletion or an answer waits, so that it can be taken back. Until it is over nothing has
	// been deleted or sent, and a crash leaves everything as it was.
	undoTime = 5 * time.Second
	// undoKept is how long it is known how to take back what was done at once. Its toast is gone before.
	undoKept = time.Minute
)

// undo holds what the person did and may still take back. Its zero value is ready; finish ends it.
type undo struct {
	running sync.WaitGroup // deeds that are being carried out

	mu      sync.Mutex
	closed  bool
	deeds   map[string]*deed   // what can be taken back, by key
	pending map[target]*deed   // those that wait, or are being carried out, by what they are about
	unsent  map[target]*answer // answers that could not be sent in the end
}

// target is a message of a room.
type target struct {
	room mail.RoomName
	id   mail.ID
}

// deed is one thing that the person did, be it with many messages.
type deed struct {
	targets []target
	answers map[target]*answer          // what is sent, in a deed that answers
	do      func([]target)              // what is left to do with them; nil: nothing, all is done
	back    func(context.Context) error // takes back what was done at once; nil: nothing was

	key   string
	timer *time.Timer
	going bool // it is being carried out, and cannot be taken back
}

// add notes a deed and returns its key. What is left of it is done after undoTime, or when the site closes, unless it
// is taken back before. What is about to be deleted already goes on as it was; an answer that is on its way goes out
// before the next.
func (u *undo) add(d *deed) string {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.deeds == nil {
		u.deeds, u.pending, u.unsent = map[string]*deed{}, map[target]*deed{}, map[target]*answer{}
	}
	wait := undoKept
	if d.do != nil {
		wait = undoTime
		earlier := u.claimLocked(d)
		if len(d.targets) == 0 {
			return earlier
		}
	}
	d.key = rand.Text()
	u.deeds[d.key] = d
	if u.closed {
		u.beginLocked(d)
		return d.key
	}
	d.timer = time.AfterFunc(wait, func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		if u.deeds[d.key] == d {
			u.beginLocked(d)
		}
	})
	return d.key
}

// claimLocked makes d what is pending of its messages, and takes from it those that are about to be deleted. It
// returns the key of the last such deletion.
func (u *undo) claimLocked(d *deed) (earlier string) {
	d.targets = slices.DeleteFunc(d.targets, func(t target) bool {
		was := u.pending[t]
		if was != nil && was.answers[t] == nil {
			earlier = was.key
			return true
		}
		if was != nil {
			u.beginLocked(was)
		}
		u.pending[t] = d
		delete(u.unsent, t)
		return false
	})
	return earlier
}

// beginLocked carries out what is left of a deed, once.
func (u *undo) beginLocked(d *deed) {
	if d.timer != nil {
		d.timer.Stop()
	}
	delete(u.deeds, d.key)
	if d.do == nil || d.going {
		return
	}
	d.going = true
	u.running.Go(func() {
		d.do(d.targets)
		u.mu.Lock()
		defer u.mu.Unlock()
		u.forgetLocked(d)
	})
}

func (u *undo) forgetLocked(d *deed) {
	delete(u.deeds, d.key)
	for _, t := range d.targets {
		if u.pending[t] == d {
			delete(u.pending, t)
		}
	}
}

// takeBack cancels what is left of a deed, and returns it for taking back what was done. It reports whether it was in
// time.
func (u *undo) takeBack(key string) (*deed, bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	d := u.deeds[key]
	if d == nil {
		return nil, false
	}
	d.timer.Stop()
	u.forgetLocked(d)
	return d, true
}

// hides reports whether a message is about to be deleted, and is to be shown as gone.
func (u *undo) hides(t target) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	d := u.pending[t]
	return d != nil && d.answers[t] == nil
}

// answering returns the answer to a message that is on its way, and the key to take it back, "" if it is too late.
// There is none if it returns nil.
func (u *undo) answering(t target) (*answer, string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	d := u.pending[t]
	if d == nil || d.answers[t] == nil {
		return nil, ""
	}
	if d.going {
		return d.answers[t], ""
	}
	return d.answers[t], d.key
}

// fail keeps an answer that could not be sent, for whoever looks at the question again.
func (u *undo) fail(t target, a *answer) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.unsent[t] = a
}

// failed returns the answer to a message that could not be sent, or nil.
func (u *undo) failed(t target) *answer {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.unsent[t]
}

// finish carries out everything at once and waits for it.
func (u *undo) finish() {
	u.mu.Lock()
	u.closed = true
	for _, d := range slices.Collect(maps.Values(u.deeds)) {
		u.beginLocked(d)
	}
	u.mu.Unlock()
	u.running.Wait()
}
