package undo

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
	// Time is how long a deletion or an answer can be undone. Nothing is deleted or sent before it is over, and a
	// crash leaves everything as it was.
	Time = 5 * time.Second
	// kept is how long an immediate action can be undone. Its toast disappears earlier.
	kept = time.Minute
)

// List holds the actions that can still be undone. Its zero value is ready; Finish ends it.
type List struct {
	running sync.WaitGroup // deeds being carried out

	mu      sync.Mutex
	closed  bool
	deeds   map[string]*Deed   // deeds that can be undone, by key
	pending map[Target]*Deed   // deeds waiting or being carried out, by message
	unsent  map[Target]*Answer // answers that failed to send
}

// Target is a message in a room.
type Target struct {
	Room mail.RoomName
	ID   mail.ID
}

// Deed is one action of the person, perhaps on many messages.
type Deed struct {
	Targets []Target
	Answers map[Target]*Answer          // the answers to send, in a deed that answers
	Do      func([]Target)              // the remaining work; nil: all is done
	Back    func(context.Context) error // reverts the immediate part; nil: there is none

	key   string
	timer *time.Timer
	going bool // being carried out, too late to undo
}

// Add records a deed and returns its key. The remaining work runs after Time, or when the site closes, unless it is
// undone before. A message already about to be deleted stays with the earlier deed; an answer that still waits is
// sent before the new deed.
func (u *List) Add(d *Deed) string {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.deeds == nil {
		u.deeds, u.pending, u.unsent = map[string]*Deed{}, map[Target]*Deed{}, map[Target]*Answer{}
	}
	wait := kept
	if d.Do != nil {
		wait = Time
		earlier := u.claimLocked(d)
		if len(d.Targets) == 0 {
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

// claimLocked makes d the pending deed of its messages, and removes those about to be deleted. It returns the key of
// the last such deletion.
func (u *List) claimLocked(d *Deed) (earlier string) {
	d.Targets = slices.DeleteFunc(d.Targets, func(t Target) bool {
		was := u.pending[t]
		if was != nil && was.Answers[t] == nil {
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

// beginLocked starts the remaining work of a deed once.
func (u *List) beginLocked(d *Deed) {
	if d.timer != nil {
		d.timer.Stop()
	}
	delete(u.deeds, d.key)
	if d.Do == nil || d.going {
		return
	}
	d.going = true
	u.running.Go(func() {
		d.Do(d.Targets)
		u.mu.Lock()
		defer u.mu.Unlock()
		u.forgetLocked(d)
	})
}

func (u *List) forgetLocked(d *Deed) {
	delete(u.deeds, d.key)
	for _, t := range d.Targets {
		if u.pending[t] == d {
			delete(u.pending, t)
		}
	}
}

// TakeBack cancels the remaining work of a deed, and returns the deed so that the caller can revert the rest. It
// reports whether that was in time.
func (u *List) TakeBack(key string) (*Deed, bool) {
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

// Hides reports whether a message is about to be deleted, and so must be hidden.
func (u *List) Hides(t Target) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	d := u.pending[t]
	return d != nil && d.Answers[t] == nil
}

// Answering returns the pending answer to a message and the key to undo it, "" if it is too late. It returns nil if
// there is no answer.
func (u *List) Answering(t Target) (*Answer, string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	d := u.pending[t]
	if d == nil || d.Answers[t] == nil {
		return nil, ""
	}
	if d.going {
		return d.Answers[t], ""
	}
	return d.Answers[t], d.key
}

// Fail stores an answer that failed to send, to show it with the question.
func (u *List) Fail(t Target, a *Answer) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.unsent[t] = a
}

// Failed returns the answer to a message that failed to send, or nil.
func (u *List) Failed(t Target) *Answer {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.unsent[t]
}

// Finish starts all remaining work immediately and waits for it.
func (u *List) Finish() {
	u.mu.Lock()
	u.closed = true
	for _, d := range slices.Collect(maps.Values(u.deeds)) {
		u.beginLocked(d)
	}
	u.mu.Unlock()
	u.running.Wait()
}
