package door

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/office/wake"
	"pennypost/internal/policy"
)

// waiting is a waiting process, in a bubble.
type waiting struct {
	cancel context.CancelFunc
	ended  chan struct{}
	err    error // the result of Wait, once ended is closed

	mu    sync.Mutex
	got   []mail.Rung
	signs int // calls of hand with nil
}

// handed returns the rings that it was handed.
func (w *waiting) handed() []mail.Rung {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.got
}

// wait starts a process that waits for ann; takes is the result of writing a ring to it.
func wait(l *Listeners, door, session string, takes error) *waiting {
	ctx, cancel := context.WithCancel(context.Background())
	w := &waiting{cancel: cancel, ended: make(chan struct{})}
	entered := l.Enter("lab", "ann", mail.Listener{Door: door, Session: session})
	go func() {
		defer close(w.ended)
		w.err = entered.Wait(ctx, 15*time.Second, func(r *mail.Rung) error {
			w.mu.Lock()
			defer w.mu.Unlock()
			if r == nil {
				w.signs++
				return nil
			}
			if takes == nil {
				w.got = append(w.got, *r)
			}
			return takes
		})
	}()
	return w
}

func kinds(list []wake.Waker) (out []string) {
	for _, w := range list {
		out = append(out, w.Door())
	}
	return out
}

var annsRing = wake.Ring{ID: "ring_1", Room: "lab", Agent: "ann", Unread: 2, Urgent: 1}

func TestLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := new(Listeners)
		monitor, rewake := wait(l, mail.MonitorDoor, "", nil), wait(l, mail.RewakeDoor, "s1", nil)
		doors := l.Doors("lab", "ann")
		if got := kinds(doors); !slices.Equal(got, []string{mail.RewakeDoor, mail.MonitorDoor}) {
			t.Fatalf("the doors are %v, want rewake and then monitor", got)
		}
		if len(l.Doors("lab", "bob"))+len(l.Doors("den", "ann")) > 0 {
			t.Error("others have ann's doors")
		}
		time.Sleep(time.Minute)
		if err := doors[0].Ring(t.Context(), annsRing); err != nil {
			t.Fatal(err)
		}
		<-rewake.ended
		if rewake.err != nil || rewake.signs != 4 || len(rewake.handed()) != 1 || rewake.handed()[0].ID != "ring_1" ||
			rewake.handed()[0].Text != annsRing.Pointer() {
			t.Errorf("it was handed %+v after %d signs of life, %v; want the pointer after 4", rewake.handed(),
				rewake.signs, rewake.err)
		}
		if got := kinds(l.Doors("lab", "ann")); !slices.Equal(got, []string{mail.MonitorDoor}) {
			t.Errorf("then the doors are %v", got)
		}
		began := time.Now()
		if err := doors[0].Ring(t.Context(), annsRing); err == nil || time.Since(began) != listenerTime {
			t.Errorf("a door at which nobody waits was rung: %v after %v", err, time.Since(began))
		}
		monitor.cancel()
		if <-monitor.ended; len(monitor.handed()) > 0 || monitor.err != context.Canceled || len(l.listeners) > 0 {
			t.Errorf("the other was handed %v, %v; %d lines are left", monitor.handed(), monitor.err, len(l.listeners))
		}
	})
}

// Of two listeners at a door exactly one gets the ring.
func TestLineHasOneTaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := new(Listeners)
		a, b := wait(l, mail.MonitorDoor, "", nil), wait(l, mail.MonitorDoor, "", nil)
		door := l.Doors("lab", "ann")[0]
		for n := 1; n <= 2; n++ {
			if err := door.Ring(t.Context(), annsRing); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if got := len(a.handed()) + len(b.handed()); got != n {
				t.Fatalf("%d rings were handed over %d times", n, got)
			}
		}
		if len(a.handed()) != 1 {
			t.Errorf("one of them got %d", len(a.handed()))
		}
	})
}

// A process that dies with the ring has not taken it: the next one gets it, or the ring failed.
func TestLineDiesWithTheRing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := new(Listeners)
		dead := wait(l, mail.MonitorDoor, "", errors.New("broken pipe"))
		door := l.Doors("lab", "ann")[0]
		if err := door.Ring(t.Context(), annsRing); err == nil {
			t.Error("a ring that nobody took counts as rung")
		}
		<-dead.ended
		dead = wait(l, mail.MonitorDoor, "", errors.New("broken pipe"))
		time.AfterFunc(time.Second, func() { wait(l, mail.MonitorDoor, "", nil) })
		if err := door.Ring(t.Context(), annsRing); err != nil {
			t.Errorf("somebody came within a moment: %v", err)
		}
		<-dead.ended
		synctest.Wait()

		// its connection breaks before it waits
		leaving := l.Enter("lab", "ann", mail.Listener{Door: mail.MonitorDoor})
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		go func() {
			_ = leaving.Wait(gone, time.Minute, func(*mail.Rung) error {
				t.Error("it was handed the ring")
				return nil
			})
		}()
		if err := door.Ring(t.Context(), annsRing); err == nil {
			t.Error("a ring for somebody who has left counts as rung")
		}
	})
}

// A session has one listener, the latest, and none once it has ended.
func TestLineOfSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := new(Listeners)
		first, other := wait(l, mail.RewakeDoor, "s1", nil), wait(l, mail.RewakeDoor, "s2", nil)
		second, monitor := wait(l, mail.RewakeDoor, "s1", nil), wait(l, mail.MonitorDoor, "", nil)
		<-first.ended
		if len(first.handed()) != 1 || !first.handed()[0].Over || first.err != nil {
			t.Errorf("the first was handed %+v, %v; want that it is over", first.handed(), first.err)
		}
		l.End("lab", "ann", "")
		l.End("lab", "ann", "s1")
		<-second.ended
		synctest.Wait()
		if len(second.handed()) != 1 || !second.handed()[0].Over || len(other.handed())+len(monitor.handed()) > 0 {
			t.Errorf("at the session's end the second was handed %+v, another session's %+v, one of no session %+v",
				second.handed(), other.handed(), monitor.handed())
		}
		l.Move("lab", "ann")
		if <-other.ended; mail.CodeOf(other.err) != mail.Unavailable || len(other.handed()) > 0 {
			t.Errorf("when its agent got another name it was handed %+v, %v; want that it asks again", other.handed(),
				other.err)
		}
	})
}

// P8: the ladder works with listeners: a new listener is rung immediately, an unanswered ring is repeated, and a ring
// without a listener has failed.
func TestP8_Listeners(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const moment = 700 * time.Millisecond // enough for a ring that is due immediately
		l, doors := new(Listeners), wake.NewDoors()
		doors.Arrange(func(agent mail.Name, configured []wake.Waker) []wake.Waker {
			return append(l.Doors("lab", agent), configured...)
		})
		b := ringing(t, doors, policy.Ladder{}, mail.Presence{Name: "ann", Session: "s1"})
		id := b.ask("ann")
		pass(time.Minute)
		first := wait(l, mail.RewakeDoor, "", nil)
		b.ringer.Look()
		if pass(moment); len(first.handed()) != 1 {
			t.Fatalf("who came to wait was handed %+v", first.handed())
		}
		if d := b.delivery(id); d.State != mail.Notified || d.Door != mail.RewakeDoor {
			t.Errorf("then the message is %+v", d)
		}
		second := wait(l, mail.RewakeDoor, "", nil)
		b.ringer.Look()
		if pass(time.Minute); len(second.handed()) > 0 {
			t.Error("it is rung again though it has had no time to look")
		}
		if pass(2 * time.Minute); len(second.handed()) != 1 {
			t.Errorf("it was not rung again: %+v", second.handed())
		}
		pass(time.Hour)
		if told := b.notices(); len(told) != 1 || !strings.Contains(told[0].Subject, "ann") {
			t.Errorf("when nobody waits any more the user was told %+v", told)
		}

		third := wait(l, mail.RewakeDoor, "", nil)
		b.state("ann", mail.Working)
		b.state("ann", mail.Idle)
		b.ringer.Look()
		if pass(10 * time.Minute); len(third.handed()) != 1 {
			t.Errorf("one that came back was handed %+v", third.handed())
		}
	})
}

// The listener that a client starts at the end of a turn is a door from then on, if it has started one before: rings
// wait for it. One that never arrives is a door only briefly.
func TestP7_ListenerToCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := new(Listeners)
		at := mail.Listener{Door: mail.RewakeDoor, Session: "s1"}
		if l.Expect("lab", "ann", at); len(l.Doors("lab", "ann")) > 0 {
			t.Error("a listener that was never there is a door")
		}
		first := wait(l, mail.RewakeDoor, "s1", nil)
		if err := l.Doors("lab", "ann")[0].Ring(t.Context(), annsRing); err != nil {
			t.Fatal(err)
		}
		<-first.ended
		l.Expect("lab", "ann", at)
		doors := l.Doors("lab", "ann")
		if got := kinds(doors); !slices.Equal(got, []string{mail.RewakeDoor}) || len(l.Doors("lab", "bob")) > 0 {
			t.Fatalf("the doors are %v", got)
		}
		rung := make(chan error, 1)
		go func() { rung <- doors[0].Ring(t.Context(), annsRing) }()
		time.Sleep(time.Second)
		w := wait(l, mail.RewakeDoor, "s1", nil)
		if err := <-rung; err != nil {
			t.Fatal(err)
		}
		if <-w.ended; len(w.handed()) != 1 || len(l.Doors("lab", "ann")) > 0 {
			t.Errorf("it was handed %v, and the doors are %v", w.handed(), kinds(l.Doors("lab", "ann")))
		}
		l.Expect("lab", "ann", at)
		if time.Sleep(listenerTime + time.Second); len(l.Doors("lab", "ann")) > 0 {
			t.Error("a listener that did not come is a door")
		}
		l.Expect("lab", "ann", at)
		if l.End("lab", "ann", "s1"); len(l.Doors("lab", "ann")) > 0 {
			t.Error("a session that has ended is to have a listener")
		}
	})
}
