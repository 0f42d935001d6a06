package remote

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/office/wake"
	"pennypost/internal/office/wake/sessions"
)

// Machines are those that have no post office of their own and use this one: their agents are rung over a line that
// each of them keeps open. The far end of that is a Relay.
//
// A ring has succeeded when the machine says that its door was rung. If the line breaks before, it has failed, and
// whether the door was rung is not known: the agent is rung again rather than never. A machine that is not back within
// linkGrace has no doors any more; with its next line it has them again, and who was alone for want of one is rung.
//
// The zero value is empty and ready, but for Look. It may be used concurrently.
type Machines struct {
	// Look is told that the doors of agents in a room have changed. It must not block.
	Look func(mail.RoomName)

	mu sync.Mutex
	by map[mail.Machine]*machine
}

// machine is one that has had a line. Everything but name is guarded by Machines.mu.
type machine struct {
	name   mail.Machine
	line   *link // nil: none
	came   chan struct{}
	offers map[sessions.Seat]Offer
	last   uint64 // number of an order
	orders map[uint64]chan<- error
	grace  *time.Timer // running while it has no line and its offers still stand
}

const (
	// linkGrace is how long a machine without a line keeps its doors: connections break, and are there again.
	linkGrace = 5 * time.Second
	// orderTime is how long a ring on another machine may take. The slowest door there, a command, has half a minute.
	orderTime = 45 * time.Second
)

// Serve speaks with a machine over a line, which it closes, until that breaks, ctx ends or the machine has a newer
// one.
// What it offers beyond its pass is passed over.
func (m *Machines) Serve(ctx context.Context, pass *mail.Pass, conn io.ReadWriteCloser) error {
	l := &link{conn: conn}
	at := m.enter(pass.Machine, l)
	err := l.hear(ctx, func(s *said) {
		switch {
		case s.Offers != nil:
			m.offered(at, l, slices.DeleteFunc(*s.Offers, func(o Offer) bool {
				return !pass.Enters(o.Room) || pass.Agent != "" && pass.Agent != o.Agent
			}))
		case s.Rung != nil:
			m.rang(at, s.Rung)
		}
	})
	m.leave(at, l)
	return err
}

// enter notes that a machine has a line. What was ordered over the one before has failed.
func (m *Machines) enter(name mail.Machine, l *link) *machine {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.by == nil {
		m.by = make(map[mail.Machine]*machine)
	}
	at := m.by[name]
	if at == nil {
		at = &machine{name: name, came: make(chan struct{}), orders: make(map[uint64]chan<- error)}
		m.by[name] = at
	}
	if at.line != nil {
		old := at.line
		go old.conn.Close() // may wait for what is being written
		at.breakLocked()
	}
	if at.grace != nil {
		at.grace.Stop()
		at.grace = nil
	}
	at.line = l
	close(at.came)
	at.came = make(chan struct{})
	return at
}

func (m *Machines) leave(at *machine, l *link) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if at.line != l {
		return // it has a newer one
	}
	at.line = nil
	at.breakLocked()
	var grace *time.Timer
	grace = time.AfterFunc(linkGrace, func() {
		m.mu.Lock()
		var was map[sessions.Seat]Offer
		if at.grace == grace {
			was, at.offers, at.grace = at.offers, nil, nil
		}
		m.mu.Unlock()
		m.look(roomsOf(was))
	})
	at.grace = grace
}

// breakLocked has everything fail that was ordered.
func (at *machine) breakLocked() {
	for id, answer := range at.orders {
		delete(at.orders, id)
		answer <- errors.New("the connection to " + string(at.name) +
			" broke before it had said whether the door was rung")
	}
}

// offered takes in what a machine offers from now on.
func (m *Machines) offered(at *machine, l *link, list []Offer) {
	offers := make(map[sessions.Seat]Offer, len(list))
	for _, o := range list {
		offers[sessions.SeatOf(o.Room, o.Agent)] = o
	}
	m.mu.Lock()
	if at.line != l {
		m.mu.Unlock()
		return
	}
	changed := make(map[sessions.Seat]Offer)
	for _, pair := range [][2]map[sessions.Seat]Offer{{offers, at.offers}, {at.offers, offers}} {
		for s, o := range pair[0] {
			if other, ok := pair[1][s]; !ok || !o.equal(&other) {
				changed[s] = o
			}
		}
	}
	at.offers = offers
	m.mu.Unlock()
	m.look(roomsOf(changed))
}

func roomsOf(offers map[sessions.Seat]Offer) map[mail.RoomName]bool {
	rooms := make(map[mail.RoomName]bool)
	for s := range offers {
		rooms[s.Room] = true
	}
	return rooms
}

func (m *Machines) look(rooms map[mail.RoomName]bool) {
	for room := range rooms {
		m.Look(room)
	}
}

// rang hands the outcome of an order to who waits for it.
func (m *Machines) rang(at *machine, r *rung) {
	m.mu.Lock()
	defer m.mu.Unlock()
	answer := at.orders[r.ID]
	delete(at.orders, r.ID)
	switch {
	case answer == nil:
	case r.Err == "":
		answer <- nil
	case r.Off:
		answer <- &farError{r.Err}
	default:
		answer <- errors.New(r.Err)
	}
}

// farError is that of a door that is off.
type farError struct{ text string }

func (e *farError) Error() string { return e.text }
func (e *farError) Unwrap() error { return wake.ErrOff }

// Doors returns the doors of an agent on other machines, in the order in which they are tried.
func (m *Machines) Doors(room mail.RoomName, agent mail.Name) (out []wake.Waker) {
	at := sessions.SeatOf(room, agent)
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, machine := range m.by {
		for _, door := range machine.offers[at].Doors {
			out = append(out, machineDoor{m, machine.name, door})
		}
	}
	slices.SortStableFunc(out, func(a, b wake.Waker) int {
		return cmp.Compare(a.(machineDoor).machine, b.(machineDoor).machine)
	})
	return out
}

// Alive reports whether a session's program is said to run on one of the machines.
func (m *Machines) Alive(process string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, at := range m.by {
		for _, o := range at.offers {
			if o.Process == process && process != "" {
				return true
			}
		}
	}
	return false
}

// Move has the doors of an agent go with its new name, here and there.
func (m *Machines) Move(room mail.RoomName, from, to mail.Name) {
	m.mu.Lock()
	var tell []*link
	for _, at := range m.by {
		if o, ok := at.offers[sessions.SeatOf(room, from)]; ok {
			delete(at.offers, sessions.SeatOf(room, from))
			o.Agent = to
			at.offers[sessions.SeatOf(room, to)] = o
			if at.line != nil {
				tell = append(tell, at.line)
			}
		}
	}
	m.mu.Unlock()
	for _, l := range tell {
		_ = l.say(&said{Moved: &moved{Room: room, From: from, To: to}}) // else it hears of it with the next hook
	}
}

// Names returns the machines that have a line now.
func (m *Machines) Names() (names []mail.Machine) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name, at := range m.by {
		if at.line != nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// machineDoor is the wake.Waker of one door of another machine.
type machineDoor struct {
	machines *Machines
	machine  mail.Machine
	door     string
}

var _ wake.Waker = machineDoor{}

// Door implements wake.Waker.
func (d machineDoor) Door() string { return d.door + " on " + string(d.machine) }

// Ring implements wake.Waker.
func (d machineDoor) Ring(ctx context.Context, r wake.Ring) error {
	ctx, cancel := context.WithTimeout(ctx, orderTime)
	defer cancel()
	l, id, answer, err := d.order(ctx)
	if err != nil {
		return err
	}
	defer d.machines.settle(d.machine, id)
	if l.say(&said{Order: &order{ID: id, Door: d.door, State: r.State, Ring: r}}) != nil {
		return errors.New("the connection to " + string(d.machine) + " broke")
	}
	select {
	case err := <-answer:
		return err
	case <-ctx.Done():
		return errors.New(string(d.machine) + " did not say in time whether the door was rung")
	}
}

// order returns the line to the machine, which may come within linkGrace, and the number of an order there.
func (d machineDoor) order(ctx context.Context) (l *link, id uint64, answer <-chan error, err error) {
	grace := time.NewTimer(linkGrace)
	defer grace.Stop()
	for {
		d.machines.mu.Lock()
		at := d.machines.by[d.machine]
		if at.line != nil {
			at.last++
			to := make(chan error, 1)
			at.orders[at.last] = to
			l, id = at.line, at.last
			d.machines.mu.Unlock()
			return l, id, to, nil
		}
		came := at.came
		d.machines.mu.Unlock()
		select {
		case <-came:
		case <-grace.C:
			return nil, 0, nil, errors.New(string(d.machine) + " has no connection to the post office now")
		case <-ctx.Done():
			return nil, 0, nil, ctx.Err()
		}
	}
}

// settle forgets an order.
func (m *Machines) settle(name mail.Machine, id uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.by[name].orders, id)
}
