package door

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/office/wake"
	"pennypost/internal/office/wake/sessions"
)

// Listeners are where listeners, the processes beside agents, wait to be rung. A listener says for which agent it
// waits and at which door, and is handed the next ring.
//
// A ring goes to one of the listeners at the door, and has succeeded when the pointer was written to that process.
// Nobody reports what the process does with it; the agent's next turn, or its reading, is the proof. If nobody listens
// there or comes within a moment, or if the pointer could be written to none of those who came, the ring has failed.
// So no ring is lost with a process that dies: it has failed, or the agent is rung again.
//
// The zero value is empty and ready; it may be used concurrently.
type Listeners struct {
	mu        sync.Mutex
	listeners map[spot]*queue
	came      map[spot]string    // the session beside which the last listener was
	expected  map[spot]time.Time // until when the next one may come
}

// spot is where an agent's processes wait.
type spot struct {
	sessions.Seat
	door string
}

// queue is one spot with somebody there.
type queue struct {
	calls chan call // unbuffered: who rings meets one who waits

	// Guarded by Listeners.mu.
	held    int // by those who wait and those who ring; the queue is forgotten with the last
	waiters []*Waiter
}

// call hands a ring to one who waits.
type call struct {
	rung mail.Rung
	took chan<- error // has room: nobody waits for somebody who rang and left
}

// Waiter is one process that waits.
type Waiter struct {
	listeners *Listeners
	at        spot
	queue     *queue
	session   string
	over      chan error // has room for one: it is not to wait any more, because of an error or, with nil, for good
}

// Enter makes a listener wait for rings of an agent, from now on. The caller must then call Wait.
func (l *Listeners) Enter(room mail.RoomName, agent mail.Name, at mail.Listener) *Waiter {
	w := &Waiter{listeners: l, at: spot{sessions.SeatOf(room, agent), at.Door}, session: at.Session,
		over: make(chan error, 1)}
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.expected, w.at)
	if l.came == nil {
		l.came = make(map[spot]string)
	}
	l.came[w.at] = at.Session
	w.queue = l.holdLocked(w.at)
	w.queue.endLocked(func(w *Waiter) bool { return at.Session != "" && w.session == at.Session }, nil)
	w.queue.waiters = append(w.queue.waiters, w)
	return w
}

// Wait waits for one ring and gives it to hand. Every silence hand is given nil, to see whether the process is still
// there. Somebody who is not to wait any more is given a Rung that is over. Wait returns what hand returns, or the
// error of ctx.
func (w *Waiter) Wait(ctx context.Context, silence time.Duration, hand func(*mail.Rung) error) error {
	defer w.leave()
	tick := time.NewTicker(silence)
	defer tick.Stop()
	for {
		select {
		case c := <-w.queue.calls:
			err := ctx.Err()
			if err == nil {
				err = hand(&c.rung)
			}
			c.took <- err
			return err
		case err := <-w.over:
			if err != nil {
				return err
			}
			return hand(&mail.Rung{Over: true})
		case <-tick.C:
			if err := hand(nil); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (w *Waiter) leave() {
	w.listeners.mu.Lock()
	defer w.listeners.mu.Unlock()
	w.queue.waiters = slices.DeleteFunc(w.queue.waiters, func(x *Waiter) bool { return x == w })
	w.listeners.releaseLocked(w.at)
}

// End lets those go who wait for a session that has ended.
func (l *Listeners) End(room mail.RoomName, agent mail.Name, id string) {
	l.end(sessions.SeatOf(room, agent), func(w *Waiter) bool { return id != "" && w.session == id }, nil)
}

// Move has those who wait for an agent ask again, because it has another name.
func (l *Listeners) Move(room mail.RoomName, agent mail.Name) {
	l.end(sessions.SeatOf(room, agent), func(*Waiter) bool {
		return true
	}, mail.Errorf(mail.Unavailable, "%s has another name now; wait again", agent))
}

func (l *Listeners) end(at sessions.Seat, who func(*Waiter) bool, why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.DeleteFunc(l.came, func(p spot, _ string) bool { return p.Seat == at })
	maps.DeleteFunc(l.expected, func(p spot, _ time.Time) bool { return p.Seat == at })
	for _, door := range mail.ListenerDoors() {
		if q := l.listeners[spot{at, door}]; q != nil {
			q.endLocked(who, why)
		}
	}
}

// endLocked lets some of those go who wait.
func (q *queue) endLocked(who func(*Waiter) bool, why error) {
	q.waiters = slices.DeleteFunc(q.waiters, func(w *Waiter) bool {
		ends := who(w)
		if ends {
			w.over <- why // once, because it leaves the queue
		}
		return ends
	})
}

// Expect says that a session's client is about to start a listener, as it does at each turn's end. If it has started
// one before, the next counts as there for as long as it may take to come, because whoever rings waits for it.
func (l *Listeners) Expect(room mail.RoomName, agent mail.Name, at mail.Listener) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p, now := spot{sessions.SeatOf(room, agent), at.Door}, time.Now()
	if at.Session == "" || l.came[p] != at.Session {
		return
	}
	maps.DeleteFunc(l.expected, func(_ spot, until time.Time) bool { return now.After(until) })
	if l.expected == nil {
		l.expected = make(map[spot]time.Time)
	}
	l.expected[p] = now.Add(listenerTime)
}

// Doors returns the doors at which somebody waits for an agent, or is about to, in the order in which they are tried.
func (l *Listeners) Doors(room mail.RoomName, agent mail.Name) (out []wake.Waker) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, door := range mail.ListenerDoors() {
		at := spot{sessions.SeatOf(room, agent), door}
		if q := l.listeners[at]; q != nil && len(q.waiters) > 0 || time.Now().Before(l.expected[at]) {
			out = append(out, listenerDoor{l, door})
		}
	}
	return out
}

// Waiting returns for whom somebody waits, in no order; some of them more than once.
func (l *Listeners) Waiting() (out []sessions.Program) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for at, q := range l.listeners {
		if len(q.waiters) > 0 {
			out = append(out, sessions.Program{Room: at.Room, Agent: at.Agent})
		}
	}
	return out
}

func (l *Listeners) holdLocked(at spot) *queue {
	q := l.listeners[at]
	if q == nil {
		q = &queue{calls: make(chan call)}
		if l.listeners == nil {
			l.listeners = make(map[spot]*queue)
		}
		l.listeners[at] = q
	}
	q.held++
	return q
}

func (l *Listeners) releaseLocked(at spot) {
	if q := l.listeners[at]; q.held > 1 {
		q.held--
		return
	}
	delete(l.listeners, at)
}

// listenerDoor is the Waker of one kind of listener.
type listenerDoor struct {
	listeners *Listeners
	kind      string
}

var _ wake.Waker = listenerDoor{}

// listenerTime is how long a ring may take. A process that asks again every minute is away for milliseconds, and so is
// one that is just being started.
const listenerTime = 2 * time.Second

// Door implements wake.Waker.
func (d listenerDoor) Door() string { return d.kind }

// Ring implements wake.Waker.
func (d listenerDoor) Ring(ctx context.Context, r wake.Ring) error {
	at := spot{sessions.SeatOf(r.Room, r.Agent), d.kind}
	d.listeners.mu.Lock()
	q := d.listeners.holdLocked(at)
	d.listeners.mu.Unlock()
	defer func() {
		d.listeners.mu.Lock()
		defer d.listeners.mu.Unlock()
		d.listeners.releaseLocked(at)
	}()
	ctx, cancel := context.WithTimeout(ctx, listenerTime)
	defer cancel()
	for {
		took := make(chan error, 1)
		select {
		case q.calls <- call{mail.Rung{ID: r.ID, Text: r.Pointer()}, took}:
		case <-ctx.Done():
			return errors.New("nobody waits there any more")
		}
		select {
		case err := <-took:
			if err == nil {
				return nil // else it died with the ring, which is for the next
			}
		case <-ctx.Done():
			return errors.New("who waits there did not take the ring in time")
		}
	}
}
