package wake

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
	"pennypost/internal/room/journal"
	"pennypost/internal/room/journal/journaltest"
	"pennypost/internal/room/mailroom"
)

// fleet is a room served by several machines, in a bubble of fake time.
type fleet struct {
	*testing.T
	store    journaltest.Store
	machines []*outpost

	mu       sync.Mutex
	sessions map[mail.Name]*outpost // the machine of an agent's session; nil: none
}

// outpost is a machine of the fleet: its room, its ringer and its doors.
type outpost struct {
	*fleet
	name    mail.Machine
	bell    *bell // of the doors configured here
	socket  *bell // of sessions here
	doors   *Doors
	room    *mailroom.Room
	ringer  *Ringer
	stop    context.CancelFunc
	running sync.WaitGroup

	link  network
	rings map[mail.Address]bool // who has a ring of this machine in progress or scheduled; guarded by fleet.mu
	lost  []time.Time           // when the record of a ring may have been lost; guarded by fleet.mu
}

// How long it takes until the fleet considers a machine away, until a machine considers itself cut off, and until it
// is back.
const (
	testAway = 10 * time.Second
	testCut  = 6 * time.Second
	testBack = time.Second
	testLag  = 4 * time.Second
)

// inFleet runs f with machines that have doors for the given agents and roles.
func inFleet(t *testing.T, doors map[mail.Machine][]mail.Address, f func(*fleet), names ...mail.Machine) {
	synctest.Test(t, func(t *testing.T) {
		w := &fleet{T: t, sessions: make(map[mail.Name]*outpost)}
		for _, n := range names {
			m := &outpost{fleet: w, name: n, bell: &bell{kind: "exec"}, socket: &bell{kind: "socket"}}
			var entries []Entry
			for _, a := range doors[n] {
				entries = append(entries, Entry{For: a, Wakers: []Waker{m.bell}})
			}
			m.doors = NewDoors(entries...)
			m.doors.Arrange(m.arrange)
			w.machines = append(w.machines, m)
		}
		for _, m := range w.machines {
			m.start()
			w.must(m.room.Announce(w.Context(), doors[m.name]))
			w.pass(time.Second) // so that the first one keeps the room
		}
		defer func() {
			for _, m := range w.machines {
				if m.link.dead {
					continue
				}
				m.link.restore()
				m.end()
			}
		}()
		f(w)
	})
}

func (w *fleet) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// arrange adds the door of an agent's session, if that is here.
func (m *outpost) arrange(agent mail.Name, configured []Waker) []Waker {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.sessions[agent] == m {
		return append([]Waker{m.socket}, configured...)
	}
	return configured
}

func (m *outpost) start() {
	m.Helper()
	m.link.Memory = m.store.Open()
	room, err := mailroom.Open(context.Background(), "lab", &m.link, mailroom.Options{
		Machine: m.name, Away: m.away, Door: m.doors.Name, PutOff: m.doors.PutOff,
		Alive:  func(string) bool { return true },
		Limits: policy.Limits{RepeatWindow: -1, Exchanges: -1, PerMinute: -1, Depth: -1},
	})
	m.must(err)
	m.room = room
	m.ringer = New(Options{Room: room, Doors: m.doors, Machine: m.name, Cut: m.link.cut})
	m.ringer.looked = m.look
	ctx, stop := context.WithCancel(context.Background())
	m.stop = stop
	m.running.Go(func() {
		if err := m.ringer.Run(ctx); err != nil {
			m.Errorf("Run = %v", err)
		}
	})
	m.running.Go(func() { _ = room.Run(ctx) })
}

// away reports whether another machine has not been heard from.
func (m *outpost) away(other mail.Machine) bool {
	i := slices.IndexFunc(m.machines, func(o *outpost) bool { return o.name == other })
	return i < 0 || m.machines[i].link.silent(testAway) || m.link.silent(testAway)
}

// end shuts a machine down; kill stops it as kill -9 does.
func (m *outpost) end() {
	m.Helper()
	m.stop()
	m.running.Wait()
	m.must(m.room.Close())
}

func (m *outpost) kill() {
	m.Helper()
	m.mu.Lock()
	m.lost = append(m.lost, time.Now())
	m.mu.Unlock()
	m.link.sever(true)
	m.must(m.room.Close())
	m.stop()
	m.running.Wait()
}

func (m *outpost) restart() {
	m.Helper()
	m.link.restore()
	m.start()
}

// enter begins an agent's session on m.
func (m *outpost) enter(agent mail.Name, session string, roles ...string) {
	m.Helper()
	_, err := m.room.As(agent).Register(m.Context(), mail.Presence{Session: session, Process: session, TakeOver: true,
		State: mail.Idle})
	m.must(err)
	if len(roles) > 0 {
		_, err = m.room.As(mail.User).Register(m.Context(), mail.Presence{Name: agent, Roles: roles})
		m.must(err)
	}
	m.mu.Lock()
	m.sessions[agent] = m
	m.mu.Unlock()
	synctest.Wait()
}

// leave ends an agent's session normally.
func (m *outpost) leave(agent mail.Name, session string) {
	m.Helper()
	_, err := m.room.As(agent).Register(m.Context(), mail.Presence{Session: session, End: true})
	m.must(err)
	m.mu.Lock()
	delete(m.sessions, agent)
	m.mu.Unlock()
	synctest.Wait()
}

func (m *outpost) send(to string) mail.Sent {
	m.Helper()
	sent, err := m.room.As("worker").Send(m.Context(), mail.Draft{To: mail.Recipients{to}, Type: "question",
		Body: "body"})
	m.must(err)
	synctest.Wait()
	return sent
}

func (w *fleet) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// rang checks the number of rings in the order of the machines: configured doors, then sockets.
func (w *fleet) rang(when string, want ...int) {
	w.Helper()
	w.pass(moment)
	var got []int
	for _, m := range w.machines {
		got = append(got, m.bell.rung(), m.socket.rung())
	}
	if !slices.Equal(got, want) {
		w.Errorf("%s: the bells were rung %v times, want %v", when, got, want)
	}
}

func (m *outpost) notices() []mail.Item { return noticesIn(m.T, m.room) }

// network is a journal over a network that may be cut.
type network struct {
	*journaltest.Memory
	mu    sync.Mutex
	open  chan struct{} // closed when the network is back; nil: not cut
	since time.Time     // when it was last cut or restored
	dead  bool          // the machine is off
}

var errCut = errors.New("the servers cannot be reached")

func (l *network) sever(dead bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dead = l.dead || dead; l.open == nil {
		l.open, l.since = make(chan struct{}), time.Now()
	}
}

func (l *network) restore() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dead = false; l.open != nil {
		close(l.open)
		l.open, l.since = nil, time.Now()
	}
}

// silent reports whether the link has been silent for at least d.
func (l *network) silent(d time.Duration) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open == nil {
		return !l.since.IsZero() && time.Since(l.since) < testBack
	}
	return time.Since(l.since) >= d
}

func (l *network) cut() bool { return l.silent(testCut) }

// gate returns a channel that is closed when the network is back; nil: it is not cut.
func (l *network) gate() chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open
}

func (l *network) Append(ctx context.Context, events ...mail.Event) (mail.Seq, error) {
	if l.gate() != nil {
		select {
		case <-time.After(2 * time.Second):
			return 0, errCut
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
	return l.Memory.Append(ctx, events...)
}

func (l *network) Follow(after mail.Seq) journal.Cursor {
	return &networkCursor{Cursor: l.Memory.Follow(after), link: l}
}

type networkCursor struct {
	journal.Cursor
	link *network
	kept []mail.Event // received while the network was cut
}

func (c *networkCursor) Next(ctx context.Context) ([]mail.Event, error) {
	if c.kept == nil {
		events, err := c.Cursor.Next(ctx)
		if err != nil {
			return nil, err
		}
		c.kept = events
	}
	if back := c.link.gate(); back != nil && !c.link.dead {
		select {
		case <-back:
			time.Sleep(testLag) // signs of life arrive before the events
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	events := c.kept
	c.kept = nil
	return events, nil
}
