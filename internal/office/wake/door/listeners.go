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

// Listeners connect rings to listeners, the processes that wait beside agents. A listener names its agent and door,
// and is handed the next ring.
//
// A ring goes to one of the listeners at the door, and has succeeded when the pointer was written to that process. The
// process does not report its use; the agent's next turn, or its reading, is the proof. If no listener is there or
// arrives within listenerTime, or the pointer could be written to none of them, the ring has failed. So no ring is
// lost with a process that dies: it has failed, or the agent is rung again.
//
// The zero value is empty and ready, and safe for concurrent use.
type Listeners struct {
	mu        sync.Mutex
	listeners map[spot]*queue
	came      map[spot]string    // the session of the last listener
	expected  map[spot]time.Time // until when the next listener may arrive
}

// spot is a door of an agent.
type spot struct {
	sessions.Seat
	door string
}

// queue is a spot with a listener or a ring.
type queue struct {
	calls chan call // unbuffered: a ring meets a listener

	// Guarded by Listeners.mu.
	held    int // by listeners and rings; the last one removes the queue
	waiters []*Waiter
}

// call hands a ring to a listener.
type call struct {
	rung mail.Rung
	took chan<- error // buffered: the listener does not block on a ring that has left
}

// Waiter is one waiting process.
type Waiter struct {
	listeners *Listeners
	at        spot
	queue     *queue
	session   string
	over      chan error // buffered, size one: ends the wait, with an error or, with nil, for good
}

// Enter makes a listener wait for rings of an agent, starting now. The caller must then call Wait.
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

// Wait waits for one ring and passes it to hand. After every silence it passes nil, to check that the process is still
// there. To a listener whose wait is over it passes a Rung that is over. Wait returns the error of hand or of ctx.
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

// End ends the wait of listeners of an ended session.
func (l *Listeners) End(room mail.RoomName, agent mail.Name, id string) {
	l.end(sessions.SeatOf(room, agent), func(w *Waiter) bool { return id != "" && w.session == id }, nil)
}

// Move makes an agent's listeners enter again, because its name has changed.
func (l *Listeners) Move(room mail.RoomName, agent mail.Name) {
	l.end(sessions.SeatOf(room, agent), func(*Waiter) bool {
		return true
	}, mail.Errorf(mail.Unavailable, "%s was renamed; wait again", agent))
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

// endLocked ends the wait of the waiters for which who is true.
func (q *queue) endLocked(who func(*Waiter) bool, why error) {
	q.waiters = slices.DeleteFunc(q.waiters, func(w *Waiter) bool {
		ends := who(w)
		if ends {
			w.over <- why // sent only once, because w leaves the queue
		}
		return ends
	})
}

// Expect says that a session's client is about to start a listener, as it does at the end of each turn. If it has
// started one before, the next one counts as present for listenerTime, because a ring waits for it.
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

// Doors returns the doors with a listener of an agent, or one about to arrive, in the order in which they are tried.
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

// Waiting returns the agents that have a listener, in no order and possibly more than once.
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

// listenerTime limits a ring. A process that polls every minute is away for milliseconds, and so is one that is just
// starting.
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
			return errors.New("the listener has gone")
		}
		select {
		case err := <-took:
			if err == nil {
				return nil // otherwise it died with the ring, which the next listener gets
			}
		case <-ctx.Done():
			return errors.New("the listener did not accept the ring in time")
		}
	}
}
