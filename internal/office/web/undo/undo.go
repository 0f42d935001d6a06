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
	// Time is how long a deletion or an answer waits, so that it can be taken back. Until it is over nothing has
	// been deleted or sent, and a crash leaves everything as it was.
	Time = 5 * time.Second
	// kept is how long it is known how to take back what was done at once. Its toast is gone before.
	kept = time.Minute
)

// List holds what the person did and may still take back. Its zero value is ready; Finish ends it.
type List struct {
	running sync.WaitGroup // deeds that are being carried out

	mu      sync.Mutex
	closed  bool
	deeds   map[string]*Deed   // what can be taken back, by key
	pending map[Target]*Deed   // those that wait, or are being carried out, by what they are about
	unsent  map[Target]*Answer // answers that could not be sent in the end
}

// Target is a message of a room.
type Target struct {
	Room mail.RoomName
	ID   mail.ID
}

// Deed is one thing that the person did, be it with many messages.
type Deed struct {
	Targets []Target
	Answers map[Target]*Answer          // what is sent, in a deed that answers
	Do      func([]Target)              // what is left to do with them; nil: nothing, all is done
	Back    func(context.Context) error // takes back what was done at once; nil: nothing was

	key   string
	timer *time.Timer
	going bool // it is being carried out, and cannot be taken back
}

// Add notes a deed and returns its key. What is left of it is done after Time, or when the site closes, unless it
// is taken back before. What is about to be deleted already goes on as it was; an answer that is on its way goes out
// before the next.
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

// claimLocked makes d what is pending of its messages, and takes from it those that are about to be deleted. It
// returns the key of the last such deletion.
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

// beginLocked carries out what is left of a deed, once.
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

// TakeBack cancels what is left of a deed, and returns it for taking back what was done. It reports whether it was in
// time.
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

// Hides reports whether a message is about to be deleted, and is to be shown as gone.
func (u *List) Hides(t Target) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	d := u.pending[t]
	return d != nil && d.Answers[t] == nil
}

// Answering returns the answer to a message that is on its way, and the key to take it back, "" if it is too late.
// There is none if it returns nil.
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

// Fail keeps an answer that could not be sent, for whoever looks at the question again.
func (u *List) Fail(t Target, a *Answer) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.unsent[t] = a
}

// Failed returns the answer to a message that could not be sent, or nil.
func (u *List) Failed(t Target) *Answer {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.unsent[t]
}

// Finish carries out everything at once and waits for it.
func (u *List) Finish() {
	u.mu.Lock()
	u.closed = true
	for _, d := range slices.Collect(maps.Values(u.deeds)) {
		u.beginLocked(d)
	}
	u.mu.Unlock()
	u.running.Wait()
}
