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

// Machines are machines that use this post office because they have none of their own: their agents are rung over a
// link that each of them keeps open to its Relay.
//
// A ring has succeeded when the machine says that its door was rung. If the link breaks first, it has failed, and it
// is not known whether the door was rung: the agent is rung again rather than never. A machine that is not back within
// linkGrace has no doors any more; with its next link it has them again, and agents that had none are rung.
//
// The zero value is empty and ready once Look is set. It is safe for concurrent use.
type Machines struct {
	// Look is called when the doors of agents in a room have changed. It must not block.
	Look func(mail.RoomName)

	mu sync.Mutex
	by map[mail.Machine]*machine
}

// machine is a machine that has had a link. Everything but name is guarded by Machines.mu.
type machine struct {
	name   mail.Machine
	line   *link // nil: none
	came   chan struct{}
	offers map[sessions.Seat]Offer
	last   uint64 // the number of the last order
	orders map[uint64]chan<- error
	grace  *time.Timer // running while it has no link and its offers still count
}

const (
	// linkGrace is how long a machine without a link keeps its doors: connections break and recover.
	linkGrace = 5 * time.Second
	// orderTime limits a ring on another machine. The slowest door there, a command, takes up to half a minute.
	orderTime = 45 * time.Second
)

// Serve serves the link of a machine, and closes it, until it breaks, ctx ends or the machine has a newer one. Offers
// beyond its pass are ignored.
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

// enter records a machine's new link. Orders sent over the one before have failed.
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
		go old.conn.Close() // may wait for a write in progress
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

// breakLocked fails all open orders.
func (at *machine) breakLocked() {
	for id, answer := range at.orders {
		delete(at.orders, id)
		answer <- errors.New("the connection to " + string(at.name) +
			" broke before it reported whether the door was rung")
	}
}

// offered applies a machine's new list of offers.
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

// rang passes the result of an order to its waiter.
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

// farError is the error of a door that is off.
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

// Alive reports whether a machine says that a session's program runs there.
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

// Move gives an agent's doors its new name, here and on its machine.
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
		_ = l.say(&said{Moved: &moved{Room: room, From: from, To: to}}) // otherwise the next hook tells it
	}
}

// Names returns the machines that have a link now.
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
		return errors.New(string(d.machine) + " did not report in time whether the door was rung")
	}
}

// order returns the machine's link, which may arrive within linkGrace, and the number of a new order.
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
