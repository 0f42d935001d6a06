package daemon_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pennypost/internal/front/hookpipe"
	"pennypost/internal/mail"
	"pennypost/internal/office/hook"
	"pennypost/internal/office/hook/hooktest"
	"pennypost/internal/office/wake"
	"pennypost/internal/policy"
	"pennypost/internal/room/journal/journaltest"
	"pennypost/internal/room/mailroom"
	"pennypost/internal/wire"
)

// world is a room with some clients in it, and the ringer for them.
type world struct {
	*testing.T
	rand    *rand.Rand
	store   journaltest.Store
	doors   *wake.Doors
	budget  int
	players []*player
	session int

	room    atomic.Pointer[mailroom.Room]
	ends    func()       // ends the goroutines of the room
	crashes atomic.Int64 // two more for each crash; odd while one is under way

	down     bool // no post office answers
	shut     bool // the clients take no output
	unmarked bool // the post office goes away between the output and the marks
	calm     bool // nothing happens at the same time

	mu  sync.Mutex // guards the fields below
	log []string
	// whose sessions the post office can reach: kept in memory, as in the daemon
	met         map[mail.Name]*player
	alive       map[string]bool // processes
	rings       map[mail.Name][]rung
	ringing     map[mail.Name]bool
	lost        []time.Time // when the memory of a ring may have been lost
	outstanding int
}

type rung struct {
	at     time.Time // when it began
	urgent bool
	about  []mail.ID
}

// player is a client, its processes, and the mail that its model has seen.
type player struct {
	*hooktest.Harness
	name    mail.Name
	process string
	running bool
	inTurn  bool
	looks   bool        // its model reads the mail that it is pointed to
	socket  *door       // of its session; nil: it has none
	exec    *door       // starts a session, or begins a turn; nil: not configured
	woken   bool        // guarded by world.mu
	lost    atomic.Bool // the mail being shown may not be marked
	seen    map[string]map[mail.ID]int
	excused map[mail.ID]bool // shown, but the marks were lost, or the turn was interrupted
	hangs   []mail.ID        // shown since the model last answered
}

// door is a door of a player with a set behaviour.
type door struct {
	*world
	p    *player
	kind string

	does  behaviour     // guarded by world.mu, like takes
	takes time.Duration // how long a ring takes
}

type behaviour int

const (
	answers behaviour = iota // the player begins a turn
	ignores                  // the player does nothing
	fails
)

func (d *door) Door() string { return d.kind }

func (d *door) Ring(ctx context.Context, r wake.Ring) error {
	began := time.Now()
	d.mu.Lock()
	takes := d.takes
	if d.ringing[r.Agent] {
		d.Errorf("%s is rung twice at a time", r.Agent)
	}
	d.ringing[r.Agent] = true
	d.mu.Unlock()
	select {
	case <-time.After(takes):
	case <-ctx.Done():
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ringing[r.Agent] = false
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case d.does == fails, d == d.p.socket && !d.alive[d.p.process]:
		return errors.New("out of order")
	}
	d.rings[r.Agent] = append(d.rings[r.Agent], rung{began, r.Urgent > 0, r.Messages})
	d.log = append(d.log, fmt.Sprintf("%s  %s is rung by %s", time.Now().Format("15:04:05"), r.Agent, d.kind))
	d.p.woken = d.p.woken || d.does == answers
	return nil
}

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{
		T: t, rand: rand.New(rand.NewPCG(seed, 7)), alive: make(map[string]bool), rings: make(map[mail.Name][]rung),
		ringing: make(map[mail.Name]bool),
	}
	w.budget = 3 + w.rand.IntN(10)
	clients := hooktest.Clients()
	var entries []wake.Entry
	for i := range 2 + w.rand.IntN(3) {
		p := &player{name: mail.Name(fmt.Sprint("a", i)), looks: w.rand.IntN(2) == 0,
			seen: make(map[string]map[mail.ID]int), excused: make(map[mail.ID]bool)}
		if w.rand.IntN(2) == 0 {
			p.socket = &door{world: w, p: p, kind: "socket"}
		}
		if w.rand.IntN(2) == 0 {
			p.exec = &door{world: w, p: p, kind: "exec"}
			entries = append(entries, wake.Entry{For: mail.AgentAddress(p.name), Wakers: []wake.Waker{p.exec}})
		}
		p.Harness = &hooktest.Harness{Client: clients[w.rand.IntN(len(clients))], Dir: "/srv/parser", Run: w.runner(p)}
		p.Reads = func(text string) { w.reads(p, text) }
		w.players = append(w.players, p)
	}
	w.doors = wake.NewDoors(entries...)
	w.doors.Arrange(w.arrange)
	w.open()
	for i, p := range w.players {
		role := []string{"builder"}
		if i == 0 {
			role = []string{"orchestrator"}
		}
		_, err := w.as(mail.User).Register(context.Background(),
			mail.Presence{Name: p.name, Roles: role, Tags: []string{"project:x"}})
		w.must(err)
	}
	return w
}

// arrange adds the door of an agent's session, if the post office has heard of one.
func (w *world) arrange(agent mail.Name, configured []wake.Waker) []wake.Waker {
	w.mu.Lock()
	defer w.mu.Unlock()
	if p := w.met[agent]; p != nil && p.socket != nil {
		return append([]wake.Waker{p.socket}, configured...)
	}
	return configured
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) as(n mail.Name) mail.Service { return w.room.Load().As(n) }

// open opens the room, and starts whatever looks after it, as the daemon does.
func (w *world) open() {
	room, err := mailroom.Open(context.Background(), "lab", w.store.Open(), mailroom.Options{
		Door: w.doors.Name, Alive: w.lives, Limits: policy.Limits{RepeatWindow: -1, Exchanges: -1, PerMinute: -1,
			Depth: -1},
	})
	w.must(err)
	w.mu.Lock()
	w.met = make(map[mail.Name]*player)
	w.mu.Unlock()
	w.room.Store(room)
	ringer := wake.New(wake.Options{Room: room, Doors: w.doors, Ladder: policy.Ladder{Budget: w.budget},
		Observe: wake.Observer{Outstanding: w.observe}})
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = ringer.Run(ctx) })
	running.Go(func() { _ = room.Run(ctx) })
	w.ends = func() {
		stop()
		running.Wait()
	}
}

func (w *world) lives(process string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.alive[process]
}

func (w *world) observe(delta int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.outstanding += delta
}

// close ends the post office: cleanly, or as kill -9 does, after which nothing more is written.
func (w *world) close(crash bool) {
	if crash {
		w.must(w.room.Load().Close())
	}
	w.ends()
	if !crash {
		w.must(w.room.Load().Close())
	}
}

// reopen is a crash or a restart, followed by a start.
func (w *world) reopen(crash bool) {
	w.note("the post office goes away, by a crash: %v", crash)
	w.crashes.Add(1)
	w.close(crash)
	w.mu.Lock()
	if crash {
		w.lost = append(w.lost, time.Now())
	}
	w.mu.Unlock()
	w.open()
	w.crashes.Add(1)
}

func (w *world) note(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.log = append(w.log, time.Now().Format("15:04:05  ")+fmt.Sprintf(format, args...))
}

var errDown = errors.New("no post office answers")

// shutPipe is the output of a hook whose client has exited.
type shutPipe struct{}

func (shutPipe) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// runner runs the hooks of a player in this process.
func (w *world) runner(p *player) hooktest.Runner {
	return func(client, event, stdin string) hooktest.Result {
		var out bytes.Buffer
		pipe := hookpipe.Pipe{
			Hook:  wire.Hook{Client: client, Event: event, Environ: hooktest.Environ(client)},
			Stdin: strings.NewReader(stdin), Stdout: &out,
			Stderr: io.Discard,
			Enter: func(bool) (hookpipe.Office, error) {
				if w.down {
					return nil, errDown
				}
				return &hooktest.Counter{Process: p.process, Unmarked: w.unmarked,
					Enter: func(context.Context, *hook.Event) (*hook.Mailbox, error) {
						return &hook.Mailbox{Room: "lab", Agent: p.name, As: func(n mail.Name) (hook.Service, error) {
							return &callerRoom{w.as(n), w, p}, nil
						}}, nil
					}}, nil
			},
		}
		if w.shut {
			pipe.Stdout = shutPipe{}
		}
		before := w.crashes.Load()
		exit := pipe.Run(context.Background())
		p.lost.Store(w.unmarked || before%2 == 1 || w.crashes.Load() != before)
		if w.shut {
			return hooktest.Result{Out: "{}"} // no one reads it
		}
		return hooktest.Result{Out: out.String(), Exit: exit}
	}
}

// callerRoom is a hook's view of the room. The post office notes whose session calls.
type callerRoom struct {
	mail.Service
	w *world
	p *player
}

func (v *callerRoom) Turn(ctx context.Context, t mail.Turn) (mail.Briefing, error) {
	brief, err := v.Service.Turn(ctx, t)
	if err == nil && brief.Unequipped { // it began while no post office answered, and its MCP server connects now
		_, err = v.Register(ctx, mail.Presence{Session: "mcp-" + v.p.process, Process: v.p.process, Join: true})
		if err == nil {
			brief, err = v.Service.Turn(ctx, t)
		}
	}
	if err != nil {
		return brief, err
	}
	v.w.mu.Lock()
	defer v.w.mu.Unlock()
	switch {
	case t.Proof:
		v.p.hangs = nil
	case t.Moment != mail.AfterTool: // no one may have heard the end of the previous turn
		for _, id := range v.p.hangs {
			v.p.excused[id] = true
		}
		v.p.hangs = nil
	}
	if v.w.met[brief.Agent] = v.p; t.Moment == mail.SessionEnd {
		delete(v.w.met, brief.Agent)
	}
	return brief, nil
}

// reads is the model that reads a new text.
func (w *world) reads(p *player, text string) {
	whole, pointed := hooktest.Shown(text)
	denied := strings.Contains(text, "No tool runs")
	if p.seen[p.Session] == nil {
		p.seen[p.Session] = make(map[mail.ID]int)
	}
	p.hangs = append(p.hangs, whole...)
	for _, id := range slices.Concat(whole, pointed) {
		if p.seen[p.Session][id]++; p.seen[p.Session][id] > 1 && !denied && !p.excused[id] {
			w.Errorf("%s was told of %s twice in session %s", p.name, id, p.Session)
		}
		if denied || p.lost.Load() {
			p.excused[id] = true
		}
	}
	w.note("  %s sees %v, is pointed to %v", p.name, whole, pointed)
	if !p.looks || w.down {
		return
	}
	for _, a := range w.named(p) { // read_messages
		page, err := w.as(a).Inbox(context.Background(), mail.InboxQuery{})
		if err != nil {
			continue
		}
		m := mail.Marking{Mark: mail.MarkPresented, Door: "mcp"}
		for _, it := range page.Messages {
			m.IDs = append(m.IDs, it.ID)
			p.excused[it.ID] = true // a hook may be delivering it at the same moment
		}
		if len(m.IDs) > 0 {
			_, _ = w.as(a).Mark(context.Background(), m)
		}
	}
}

// named returns the names under which a player's session may be known.
func (w *world) named(p *player) (names []mail.Name) {
	list, err := mail.Roster(context.Background(), w.as(mail.User))
	if err != nil {
		return nil
	}
	for _, a := range list {
		if a.Session != "" && a.Session == p.Session {
			names = append(names, a.Name)
		}
	}
	return names
}
