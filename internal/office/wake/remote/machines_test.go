package remote

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/office/wake"
)

// far is a Waker that records its rings.
type far struct {
	kind string
	err  error

	mu    sync.Mutex
	rings []wake.Ring
}

func (f *far) Door() string { return f.kind }

func (f *far) Ring(_ context.Context, r wake.Ring) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rings = append(f.rings, r)
	return f.err
}

// faraway is a post office and a relay with one agent, in a bubble.
type faraway struct {
	machines Machines
	relay    Relay
	pass     mail.Pass
	socket   far
	codex    far
	looks    chan mail.RoomName
	moved    []string

	mu     sync.Mutex
	offers []Offer
	conn   net.Conn // the relay's end
	closed sync.WaitGroup
}

func newFaraway() *faraway {
	f := &faraway{pass: mail.Pass{Machine: "ship"}, socket: far{kind: "socket"}, codex: far{kind: "codex"},
		looks: make(chan mail.RoomName, 100)}
	f.offers = []Offer{{Room: "lab", Agent: "ann", Doors: []string{"socket", "codex"}, Process: "7.1@x"}}
	f.machines.Look = func(r mail.RoomName) { f.looks <- r }
	f.relay.Offers = func() []Offer {
		f.mu.Lock()
		defer f.mu.Unlock()
		return slices.Clone(f.offers)
	}
	f.relay.Doors = func(mail.RoomName, mail.Name) []wake.Waker { return []wake.Waker{&f.socket, &f.codex} }
	f.relay.Moved = func(room mail.RoomName, from, to mail.Name) {
		f.moved = append(f.moved, string(room)+" "+string(from)+" "+string(to))
	}
	return f
}

// connect gives the relay a link. cut breaks it.
func (f *faraway) connect(t *testing.T) (cut func()) {
	ctx, cancel := context.WithCancel(t.Context())
	near, there := net.Pipe()
	f.conn = near
	f.closed.Go(func() { _ = f.machines.Serve(ctx, &f.pass, there) })
	f.closed.Go(func() { _ = f.relay.Serve(ctx, near) })
	synctest.Wait()
	return cancel
}

// offer changes the relay's offers.
func (f *faraway) offer(list ...Offer) {
	f.mu.Lock()
	f.offers = list
	f.mu.Unlock()
	f.relay.Changed()
	time.Sleep(offerGather)
	synctest.Wait()
}

func (f *faraway) doors() []string { return kinds(f.machines.Doors("lab", "ann")) }

// TestMachines: doors of another machine are rung there and their results returned; offers, and the machine itself,
// appear and disappear.
func TestMachines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFaraway()
		defer f.closed.Wait()
		cut := f.connect(t)
		if got := f.doors(); !slices.Equal(got, []string{"socket on ship", "codex on ship"}) {
			t.Fatalf("doors %q", got)
		}
		if room := <-f.looks; room != "lab" {
			t.Errorf("it is looked at room %s", room)
		}
		f.codex.err = errors.New("nobody takes it")
		doors := f.machines.Doors("lab", "ann")
		ring := wake.Ring{ID: "r1", Room: "lab", Agent: "ann", Unread: 2, State: mail.Gone}
		if err := doors[0].Ring(t.Context(), ring); err != nil || len(f.socket.rings) != 1 ||
			f.socket.rings[0].Unread != 2 || f.socket.rings[0].State != mail.Gone {
			t.Errorf("ringing: %v, and there %+v", err, f.socket.rings)
		}
		if err := doors[1].Ring(t.Context(), ring); err == nil || err.Error() != "nobody takes it" ||
			errors.Is(err, wake.ErrOff) {
			t.Errorf("a door that fails there: %v", err)
		}
		f.codex.err = wake.ErrOff
		if err := doors[1].Ring(t.Context(), ring); !errors.Is(err, wake.ErrOff) {
			t.Errorf("a door that is off there: %v", err)
		}
		if !f.machines.Alive("7.1@x") || f.machines.Alive("7.2@x") || f.machines.Alive("") {
			t.Error("it is not known which programs run there")
		}
		f.machines.Move("lab", "ann", "eve")
		synctest.Wait()
		if !slices.Equal(f.moved, []string{"lab ann eve"}) || len(f.doors()) > 0 ||
			len(f.machines.Doors("lab", "eve")) != 2 {
			t.Errorf("a new name: the machine is told %q", f.moved)
		}
		f.offer(Offer{Room: "lab", Agent: "ann", Doors: []string{"socket"}})
		if got := f.doors(); !slices.Equal(got, []string{"socket on ship"}) ||
			len(f.machines.Doors("lab", "eve")) > 0 {
			t.Errorf("of fewer offers there are %q", got)
		}
		cut()
		synctest.Wait()
		if got := f.doors(); len(got) != 1 || len(f.machines.Names()) > 0 {
			t.Errorf("a machine that was just lost has %q", got)
		}
		for len(f.looks) > 0 {
			<-f.looks
		}
		time.Sleep(linkGrace)
		synctest.Wait()
		if got := f.doors(); len(got) > 0 || len(f.looks) != 1 {
			t.Errorf("a machine that stays away has %q, and %d looks", got, len(f.looks))
		}
		f.connect(t)()
		synctest.Wait()
		if got := f.doors(); len(got) != 1 {
			t.Errorf("a machine that is back has %q", got)
		}
		time.Sleep(linkGrace)
	})
}

// TestMachinesBreak: an order over a link that breaks has failed; a ring waits for the link to recover, for a while.
func TestMachinesBreak(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFaraway()
		defer f.closed.Wait()
		stuck := make(chan struct{})
		f.relay.Doors = func(mail.RoomName, mail.Name) []wake.Waker { <-stuck; return nil }
		cut := f.connect(t)
		door := f.machines.Doors("lab", "ann")[0]
		failed := make(chan error, 1)
		go func() { failed <- door.Ring(t.Context(), wake.Ring{Room: "lab", Agent: "ann"}) }()
		synctest.Wait()
		cut()
		if err := <-failed; err == nil || !strings.Contains(err.Error(), "broke before") {
			t.Errorf("a ring whose line breaks: %v", err)
		}
		close(stuck)
		f.relay.Doors = func(mail.RoomName, mail.Name) []wake.Waker { return []wake.Waker{&f.socket} }
		go func() { failed <- door.Ring(t.Context(), wake.Ring{Room: "lab", Agent: "ann"}) }()
		time.Sleep(linkGrace / 2)
		cut = f.connect(t)
		if err := <-failed; err != nil {
			t.Errorf("a ring that waits for the line: %v", err)
		}
		cut()
		synctest.Wait()
		if err := door.Ring(t.Context(), wake.Ring{Room: "lab", Agent: "ann"}); err == nil ||
			!strings.Contains(err.Error(), "no connection") {
			t.Errorf("a ring to a machine that is away: %v", err)
		}
	})
}

// TestMachinesScope: a machine can offer nothing beyond its pass.
func TestMachinesScope(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFaraway()
		defer f.closed.Wait()
		f.pass.Rooms, f.pass.Agent = []mail.RoomName{"lab"}, "ann"
		f.offers = append(f.offers, Offer{Room: "lab", Agent: "eve", Doors: []string{"socket"}},
			Offer{Room: "den", Agent: "ann", Doors: []string{"socket"}})
		cut := f.connect(t)
		if len(f.doors()) != 2 || len(f.machines.Doors("lab", "eve")) > 0 || len(f.machines.Doors("den", "ann")) > 0 {
			t.Error("a machine has doors that it may not have")
		}
		cut()
		time.Sleep(linkGrace)
	})
}

// deaf is a connection to nowhere: writes are lost, and reads block.
type deaf struct{ closed chan struct{} }

func (d *deaf) Read([]byte) (int, error)    { <-d.closed; return 0, io.EOF }
func (d *deaf) Write(b []byte) (int, error) { return len(b), nil }
func (d *deaf) Close() error {
	select {
	case <-d.closed:
	default:
		close(d.closed)
	}
	return nil
}

// TestDeadLine: both ends notice within half a minute that the other one is gone, as after the sleep of a laptop, and
// an idle link stays open.
func TestDeadLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, serve := range map[string]func(f *faraway, conn io.ReadWriteCloser) error{
			"post office": func(f *faraway, c io.ReadWriteCloser) error {
				return f.machines.Serve(t.Context(), &f.pass, c)
			},
			"relay": func(f *faraway, c io.ReadWriteCloser) error { return f.relay.Serve(t.Context(), c) },
		} {
			f := newFaraway()
			began := time.Now()
			err := serve(f, &deaf{make(chan struct{})})
			if took := time.Since(began); err == nil || took > 30*time.Second {
				t.Errorf("the %s notices after %s: %v", name, took, err)
			}
		}
		f := newFaraway()
		defer f.closed.Wait()
		cut := f.connect(t)
		time.Sleep(time.Hour)
		if len(f.machines.Names()) != 1 {
			t.Error("a quiet line was not kept")
		}
		cut()
		time.Sleep(linkGrace)
	})
}

func kinds(list []wake.Waker) (out []string) {
	for _, w := range list {
		out = append(out, w.Door())
	}
	return out
}
