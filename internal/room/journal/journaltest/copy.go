package journaltest

import (
	"context"
	"sync"

	"pennypost/internal/mail"
	"pennypost/internal/room/journal"
)

var (
	_ journal.Journal       = (*Copy)(nil)
	_ journal.Compacter     = (*Copy)(nil)
	_ journal.AfterAppender = (*Copy)(nil)
)

// Machine is a disk with a copy of a store, like a post office's copy of a shared stream. Compaction on one machine
// changes neither the store nor other machines; erasure changes the store and this machine. A machine can be held
// back, and cut off.
type Machine struct {
	store *Store
	disk  Store

	mu   sync.Mutex
	held chan struct{} // closed when the copy continues; nil: it is not held
	cut  error         // the error of appends; nil: they reach the store
}

// Machine returns a machine with an empty disk.
func (s *Store) Machine() *Machine { return &Machine{store: s} }

// Hold keeps all later events, of any machine, from this machine's copy until release is called.
func (m *Machine) Hold() (release func()) {
	held := make(chan struct{})
	m.mu.Lock()
	defer m.mu.Unlock()
	m.held = held
	return sync.OnceFunc(func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.held = nil
		close(held)
	})
}

// Cut makes appends of this machine return err, and append nothing, until it is called with nil.
func (m *Machine) Cut(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.cut = err
}

// Open returns the journal of the machine. Its copy continues where it was when the last one was closed, and catches
// up with the store unless it is held back.
func (m *Machine) Open() *Copy {
	c := &Copy{Memory: m.disk.Open(), machine: m, shared: m.store.Open(), done: make(chan struct{})}
	ctx, stop := context.WithCancel(context.Background())
	c.stop = stop
	go c.follow(ctx)
	if m.holds() == nil {
		c.copied(c.shared.Last())
	}
	return c
}

// Copy is the journal of a machine: it writes to the store, and reads its own disk.
type Copy struct {
	*Memory // of the disk
	machine *Machine
	shared  *Memory
	appends sync.RWMutex // held for reading by appends in progress
	stop    context.CancelFunc
	done    chan struct{} // closed when follow has ended
}

// follow copies new events of the store.
func (c *Copy) follow(ctx context.Context) {
	defer close(c.done)
	for {
		cursor := c.shared.Follow(c.Last())
		events, err := cursor.Next(ctx)
		cursor.Close()
		if err != nil {
			return
		}
		held := c.machine.holds()
		if held == nil {
			c.store.place(events)
			continue
		}
		select {
		case <-held:
		case <-ctx.Done():
			return
		}
	}
}

// holds returns a channel that closes when the copy continues; nil if it is not held.
func (m *Machine) holds() chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.held
}

// place adds events with their own sequence numbers.
func (s *Store) place(events []mail.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, events...)
	s.last = events[len(events)-1].Seq
	if s.grown != nil {
		close(s.grown)
		s.grown = nil
	}
}

// Append implements journal.Journal. It returns when the copy has the events.
func (c *Copy) Append(ctx context.Context, events ...mail.Event) (mail.Seq, error) {
	c.appends.RLock()
	defer c.appends.RUnlock()
	if err := c.reaches(); err != nil {
		return 0, err
	}
	place, err := c.shared.Append(ctx, events...)
	if err == nil {
		err = c.copied(place)
	}
	return place, err
}

// AppendAfter implements journal.AfterAppender.
func (c *Copy) AppendAfter(ctx context.Context, after mail.Seq, e mail.Event) (mail.Seq, bool, error) {
	c.appends.RLock()
	defer c.appends.RUnlock()
	if err := c.reaches(); err != nil {
		return 0, false, err
	}
	place, ok, err := c.shared.AppendAfter(ctx, after, e)
	if ok {
		err = c.copied(place)
	}
	return place, ok, err
}

// End implements journal.AfterAppender.
func (c *Copy) End(ctx context.Context) (mail.Seq, error) {
	if err := c.reaches(); err != nil {
		return 0, err
	}
	return c.shared.End(ctx)
}

func (c *Copy) reaches() error {
	c.machine.mu.Lock()
	defer c.machine.mu.Unlock()
	return c.machine.cut
}

// copied returns when the copy has reached a sequence number.
func (c *Copy) copied(place mail.Seq) error {
	for at := c.Last(); at < place; at = c.Last() {
		_, grown := c.store.behind(at)
		if grown == nil {
			continue
		}
		select {
		case <-grown:
		case <-c.done:
			return journal.ErrClosed
		}
	}
	return nil
}

// Erase implements journal.Compacter. It erases in the store first.
func (c *Copy) Erase(ctx context.Context, id mail.ID, match func(mail.Event) bool) (int, error) {
	if err := c.reaches(); err != nil {
		return 0, err
	}
	if _, err := c.shared.Erase(ctx, id, match); err != nil {
		return 0, err
	}
	return c.Memory.Erase(ctx, id, match)
}

// Close implements journal.Journal. It does not wait for appends of a machine that is held back.
func (c *Copy) Close() error {
	if c.machine.holds() == nil {
		c.appends.Lock()
		defer c.appends.Unlock()
	}
	c.stop()
	<-c.done
	c.shared.Close()
	return c.Memory.Close()
}
