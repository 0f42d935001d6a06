package daemon_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pennypost/internal/hook"
	"pennypost/internal/hook/hooktest"
	"pennypost/internal/journal/journaltest"
	"pennypost/internal/jsonx"
	"pennypost/internal/mail"
	"pennypost/internal/mailroom"
	"pennypost/internal/policy"
	"pennypost/internal/wake"
)

var (
	histories = flag.Int("histories", 400, "how many random histories TestP8_Together tries")
	history   = flag.Int("history", -1, "the only one that it tries")
)

// TestP8_Together lets two to four clients with their hooks, senders, doors and the post office do random things, turns and mail and crashes at
// the same time, and holds:
//
//   - P8: for an agent that is idle, and mail that should wake it and that it has not seen, a ring is outstanding or the user was told; hours
//     later the agent has seen it, or the user was told;
//   - nothing is shown twice in a session, but what could not be marked when it was shown;
//   - the user is told of the same mail once, whoever finds it waiting;
//   - no agent is rung more often than its budget allows, nor twice at a time, nor while it works;
//   - no turn goes on more often than the client lets it; nothing ever breaks a client's rules.
//
// A seed gives the same steps again. How what happens at the same time falls out may differ, so a failure may want -count.
func TestP8_Together(t *testing.T) {
	n := *histories / patience
	if testing.Short() {
		n /= 5
	}
	for seed := range n {
		if *history >= 0 && seed != *history {
			continue
		}
		synctest.Test(t, func(t *testing.T) { live(t, uint64(seed)) })
		if t.Failed() {
			return
		}
	}
}

// live lives through one history.
func live(t *testing.T, seed uint64) {
	w := newWorld(t, seed)
	defer func() {
		w.close(false)
		if t.Failed() {
			t.Logf("replay with -history %d:\n%s", seed, strings.Join(w.log, "\n"))
		}
	}()
	for range 30 {
		w.step()
		if w.rand.IntN(4) == 0 {
			w.check()
		}
		if t.Failed() {
			return
		}
	}
	w.settle()
}

// world is a room with some clients in it, and what rings them.
type world struct {
	*testing.T
	rand    *rand.Rand
	store   journaltest.Store
	doors   *wake.Doors
	budget  int
	players []*player
	session int

	room    atomic.Pointer[mailroom.Room]
	ends    func()       // ends what runs beside the room
	crashes atomic.Int64 // two more for each; odd while one is under way

	down     bool // no post office answers
	shut     bool // the clients take no output
	unmarked bool // the post office goes away between the output and the marks
	calm     bool // nothing happens beside what happens

	mu          sync.Mutex // guards what follows
	log         []string
	met         map[mail.Name]*player // whose sessions the post office knows how to get at: kept in memory, as the daemon does
	alive       map[string]bool       // processes
	rings       map[mail.Name][]rung
	ringing     map[mail.Name]bool
	lost        []time.Time // when the memory of a ring may have been lost
	outstanding int
}

type rung struct {
	at     time.Time
	urgent bool
}

// player is a client, what runs in it, and what its model has seen.
type player struct {
	*hooktest.Harness
	name    mail.Name
	process string
	running bool
	inTurn  bool
	looks   bool        // its model reads what it is pointed to
	socket  *door       // of its session; nil: it has none
	exec    *door       // starts a session, or begins a turn; nil: not configured
	woken   bool        // guarded by world.mu
	lost    atomic.Bool // what is being shown may not be marked
	seen    map[string]map[mail.ID]int
	excused map[mail.ID]bool // shown, but the marks got lost
}

// door is a door of a player that does what it likes.
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
	ignores                  // it is rung, and nothing happens
	fails
)

func (d *door) Door() string { return d.kind }

func (d *door) Ring(ctx context.Context, r wake.Ring) error {
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
	d.rings[r.Agent] = append(d.rings[r.Agent], rung{time.Now(), r.Urgent > 0})
	d.log = append(d.log, fmt.Sprintf("%s  %s is rung by %s", time.Now().Format("15:04:05"), r.Agent, d.kind))
	d.p.woken = d.p.woken || d.does == answers
	return nil
}

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{
		T: t, rand: rand.New(rand.NewPCG(seed, 7)), alive: make(map[string]bool), rings: make(map[mail.Name][]rung), ringing: make(map[mail.Name]bool),
	}
	w.budget = 3 + w.rand.IntN(10)
	clients := hooktest.Clients()
	var entries []wake.Entry
	for i := range 2 + w.rand.IntN(3) {
		p := &player{name: mail.Name(fmt.Sprint("a", i)), looks: w.rand.IntN(2) == 0, seen: make(map[string]map[mail.ID]int), excused: make(map[mail.ID]bool)}
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
		_, err := w.as(mail.User).Register(context.Background(), mail.Presence{Name: p.name, Roles: role, Tags: []string{"project:x"}})
		w.must(err)
	}
	return w
}

// arrange gives an agent the door of its session, if the post office has heard of one.
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

// open opens the room, and has it looked after as the daemon does.
func (w *world) open() {
	room, err := mailroom.Open(context.Background(), "lab", w.store.Open(), mailroom.Options{
		Door: w.doors.Name, Alive: w.lives, Limits: policy.Limits{RepeatWindow: -1, Exchanges: -1, PerMinute: -1, Depth: -1},
	})
	w.must(err)
	w.mu.Lock()
	w.met = make(map[mail.Name]*player)
	w.mu.Unlock()
	w.room.Store(room)
	ringer := wake.New(wake.Options{Room: room, Doors: w.doors, Ladder: policy.Ladder{Budget: w.budget}, Observe: wake.Observer{Outstanding: w.observe}})
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

// close ends the post office: in order, or as kill -9 does, after which nothing more is written.
func (w *world) close(crash bool) {
	if crash {
		w.must(w.room.Load().Close())
	}
	w.ends()
	if !crash {
		w.must(w.room.Load().Close())
	}
}

// reopen is a crash or a restart, and another start.
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

// shutPipe is the output of a hook whose client has gone.
type shutPipe struct{}

func (shutPipe) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// runner runs the hooks of a player in this process.
func (w *world) runner(p *player) hooktest.Runner {
	return func(client, event, stdin string) hooktest.Result {
		var out bytes.Buffer
		h := hook.Hook{Client: client, Event: event, Stdin: strings.NewReader(stdin), Stdout: &out, Stderr: io.Discard}
		h.Getenv = func(string) string { return "" }
		h.Process = func(bool) string { return p.process }
		if w.shut {
			h.Stdout = shutPipe{}
		}
		asked := false
		h.Enter = func(context.Context, *hook.Event) (*hook.Mailbox, error) {
			if w.down {
				return nil, errDown
			}
			return &hook.Mailbox{Room: "lab", Agent: p.name, As: func(n mail.Name) (hook.Service, error) {
				if asked && w.unmarked {
					return nil, errDown
				}
				asked = true
				return &visit{w.as(n), w, p}, nil
			}}, nil
		}
		before := w.crashes.Load()
		exit := h.Run(context.Background())
		p.lost.Store(w.unmarked || before%2 == 1 || w.crashes.Load() != before)
		if w.shut {
			return hooktest.Result{Out: "{}"} // nobody reads it
		}
		return hooktest.Result{Out: out.String(), Exit: exit}
	}
}

// visit is a hook's view of the room. The post office notes on the way whose session it meets.
type visit struct {
	mail.Service
	w *world
	p *player
}

func (v *visit) Turn(ctx context.Context, t mail.Turn) (mail.Told, error) {
	told, err := v.Service.Turn(ctx, t)
	if err != nil {
		return told, err
	}
	v.w.mu.Lock()
	defer v.w.mu.Unlock()
	if v.w.met[told.Agent] = v.p; t.Moment == mail.SessionEnd {
		delete(v.w.met, told.Agent)
	}
	return told, nil
}

// reads is the model with a new text before it.
func (w *world) reads(p *player, text string) {
	whole, pointed := hooktest.Shown(text)
	denied := strings.Contains(text, "No tool runs")
	if p.seen[p.Session] == nil {
		p.seen[p.Session] = make(map[mail.ID]int)
	}
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
			p.excused[it.ID] = true // in the same moment a hook may have it on its way
		}
		if len(m.IDs) > 0 {
			_, _ = w.as(a).Mark(context.Background(), m)
		}
	}
}

// named returns the names under which a player's session may be known.
func (w *world) named(p *player) (names []mail.Name) {
	list, err := w.as(mail.User).Agents(context.Background())
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

func (w *world) step() {
	p := w.players[w.rand.IntN(len(w.players))]
	switch w.rand.IntN(25) {
	case 0, 1, 2, 3, 4, 5:
		w.sendSomething()
	case 6, 7, 8:
		w.begin(p)
	case 9, 10, 11:
		w.during(func() { w.turnEnds(p) })
	case 12, 13:
		if p.inTurn {
			w.during(func() { p.Tool("Bash", "ls"); w.note("%s ran a tool", p.name) })
		}
	case 14:
		if p.inTurn {
			w.parallel(p)
		}
	case 15:
		w.exit(p)
	case 16:
		w.note("%s is killed", p.name)
		w.dies(p)
	case 17:
		w.reopen(w.rand.IntN(2) == 0)
	case 18:
		w.down = !w.down
		w.note("down: %v", w.down)
	case 19:
		w.shut = !w.shut && !w.unmarked
		w.note("shut: %v", w.shut)
	case 20:
		w.unmarked = !w.unmarked && !w.shut
		w.note("unmarked: %v", w.unmarked)
	case 21:
		w.pass(time.Duration(w.rand.IntN(400)) * time.Second)
	case 22, 23, 24:
		w.doorChanges(p)
	}
	synctest.Wait()
	w.answer()
}

func (w *world) doorChanges(p *player) {
	d := []*door{p.socket, p.exec}[w.rand.IntN(2)]
	if d == nil {
		return
	}
	w.mu.Lock()
	d.does = behaviour(w.rand.IntN(3))
	d.takes = []time.Duration{0, 0, time.Second, 3 * time.Minute}[w.rand.IntN(4)]
	w.mu.Unlock()
	w.note("%s of %s now does %d in %v", d.kind, p.name, d.does, d.takes)
}

// during runs f while somebody sends, or the post office crashes.
func (w *world) during(f func()) {
	if w.calm || w.rand.IntN(2) == 0 {
		f()
		return
	}
	var both sync.WaitGroup
	yields, crash := w.rand.IntN(30), w.rand.IntN(6) == 0
	both.Go(func() {
		for range yields {
			runtime.Gosched()
		}
		if crash {
			w.reopen(true)
			return
		}
		w.sendSomething()
	})
	f()
	both.Wait()
}

func (w *world) sendSomething() {
	w.mu.Lock()
	p := w.players[w.rand.IntN(len(w.players))]
	from := []mail.Name{mail.User, "nobody", w.players[w.rand.IntN(len(w.players))].name}[w.rand.IntN(3)]
	to := []string{string(p.name), string(p.name), string(p.name), "role:builder", "orchestrator", "all", "project:x"}[w.rand.IntN(7)]
	typ := []mail.Type{mail.Question, mail.TaskAssigned, mail.Answer, mail.Status, mail.Custom, mail.TaskDone, mail.Cancel}[w.rand.IntN(7)]
	d := mail.Draft{To: mail.Recipients{to}, Type: string(typ), Body: strings.Repeat("word ", 1+w.rand.IntN(4)*w.rand.IntN(500))}
	if w.rand.IntN(5) == 0 {
		d.Priority = string(mail.Urgent)
	}
	w.mu.Unlock()
	sent, err := w.as(from).Send(context.Background(), d)
	if err == nil {
		w.note("%s %s of %s to %s: %s", typ, d.Priority, from, to, sent.ID)
	}
}

// begin begins a turn, in a session that is there, or is resumed, or is new.
func (w *world) begin(p *player) {
	if !p.running {
		source := "resume"
		if p.Session == "" || w.rand.IntN(2) == 0 {
			w.session++
			p.Session, source = fmt.Sprint("s", w.session), "startup"
		}
		p.process = fmt.Sprint(p.name, ".", w.rand.Int32())
		w.sets(p, true)
		w.note("%s (%s) starts session %s: %s", p.name, p.Client.Name, p.Session, source)
		p.Start(source)
	}
	p.inTurn = true
	w.note("%s begins a turn", p.name)
	w.during(func() { p.Prompt("go on") })
}

func (w *world) sets(p *player, running bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p.running, w.alive[p.process] = running, running
}

func (w *world) turnEnds(p *player) {
	if !p.inTurn {
		return
	}
	p.inTurn = false
	n := p.End()
	w.note("%s ended a turn, which went on %d times", p.name, n)
}

// parallel runs the hooks of several tools at the same time.
func (w *world) parallel(p *player) {
	var tools sync.WaitGroup
	var mu sync.Mutex
	reads := p.Reads
	for range 3 {
		each := hooktest.Harness{Client: p.Client, Run: p.Run, Session: p.Session, Dir: p.Dir, Reads: func(text string) {
			mu.Lock()
			defer mu.Unlock()
			reads(text)
		}}
		tools.Go(func() { each.After("Bash", "ls") })
	}
	tools.Wait()
	w.note("%s ran three tools", p.name)
}

func (w *world) exit(p *player) {
	if !p.running {
		return
	}
	reason := []string{"prompt_input_exit", "other", "user_exit"}[w.rand.IntN(3)]
	w.note("%s exits: %s", p.name, reason)
	p.Exit(reason)
	w.dies(p)
}

func (w *world) dies(p *player) {
	p.inTurn = false
	w.sets(p, false)
}

// answer has those work whom a door has woken.
func (w *world) answer() {
	for _, p := range w.players {
		w.mu.Lock()
		woken := p.woken && (p.running || p.exec != nil)
		p.woken = false
		w.mu.Unlock()
		if woken && !p.inTurn {
			w.begin(p)
			w.turnEnds(p)
		}
	}
}

// pass lets time pass.
func (w *world) pass(d time.Duration) {
	w.note("%s go by", d)
	for part := max(d/24, time.Second); d > 0; d -= part {
		time.Sleep(part)
		synctest.Wait()
		w.answer()
	}
}

// check holds P8 for those that are idle now.
func (w *world) check() {
	time.Sleep(2 * time.Second) // a ring is not owed in the very instant
	synctest.Wait()
	due := 0
	for _, a := range w.idle() {
		if left := w.untold(a); len(left) > 0 {
			due++
			w.note("  %s has %v unseen", a, left)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.outstanding < due {
		w.Errorf("%d are idle over mail that should wake them and of which the user was not told; rings are outstanding for %d", due, w.outstanding)
	}
	w.checkBudget()
}

// settle lets hours pass in which nothing but the doors, and those whom they wake, do anything, and checks what has become of all mail.
func (w *world) settle() {
	for _, p := range w.players {
		w.turnEnds(p)
	}
	w.check()
	w.down, w.shut, w.unmarked, w.calm = false, false, false, true
	w.note("all is well")
	w.pass(4 * time.Hour)
	for _, a := range w.idle() {
		if left := w.untold(a); len(left) > 0 {
			w.Errorf("in the end %s has not seen %v, and the user was not told", a, left)
		}
	}
	w.check()
	w.checkNotices()
	for _, p := range w.players {
		for _, f := range p.Faults {
			w.Errorf("a hook broke the client's rules: %s", f)
		}
		if p.Forced > 0 {
			w.Errorf("%s had to end %d turns by force", p.name, p.Forced)
		}
	}
}

// idle returns the agents that are idle in a session, or could be rung at any time.
func (w *world) idle() (names []mail.Name) {
	list, err := w.as(mail.User).Agents(context.Background())
	w.must(err)
	for _, a := range list {
		if policy.MayRing(a.State) && (a.State == mail.Idle && a.Session != "" || w.doors.Covers(a.Name, a.Roles)) {
			names = append(names, a.Name)
		}
	}
	return names
}

// untold returns the mail that should wake an agent, that nobody has shown it, and of which the user was not told.
func (w *world) untold(n mail.Name) (ids []mail.ID) {
	told := w.notices()[n]
	// As the ringer asks: what is held for a role is one agent's to be woken for, though several have had it.
	for _, u := range w.room.Load().Unwoken(w.doors.Covers) {
		for _, m := range u.Mail {
			if u.Agent == n && !slices.ContainsFunc(told, func(of []mail.ID) bool { return slices.Contains(of, m.ID) }) {
				ids = append(ids, m.ID)
			}
		}
	}
	return ids
}

// notice is what the metadata of a message says of mail that an agent does not see.
type notice struct {
	Agent    mail.Name `json:"agent"`
	Messages []mail.ID `json:"messages"`
}

// notices returns of which mail the user was told, by agent.
func (w *world) notices() map[mail.Name][][]mail.ID {
	page, err := w.as(mail.User).Inbox(context.Background(), mail.InboxQuery{Limit: mail.MaxLimit})
	w.must(err)
	out := make(map[mail.Name][][]mail.ID)
	for _, it := range page.Messages {
		var told struct {
			Turn notice `json:"turn"`
			Wake notice `json:"wake"`
		}
		if it.From != mail.FromSystem || jsonx.UnmarshalLenient([]byte(it.Metadata), &told) != nil {
			continue
		}
		out[told.Turn.Agent] = append(out[told.Turn.Agent], told.Turn.Messages)
		out[told.Wake.Agent] = append(out[told.Wake.Agent], told.Wake.Messages)
	}
	delete(out, "")
	return out
}

// checkNotices holds that the user was not told twice of the same mail.
func (w *world) checkNotices() {
	for agent, all := range w.notices() {
		for i, of := range all {
			if slices.ContainsFunc(all[:i], func(before []mail.ID) bool { return slices.Equal(before, of) }) {
				w.Errorf("the user was told twice that %s does not see %v", agent, of)
			}
		}
	}
}

// checkBudget counts rings. One that a crash kept from being recorded does not count.
func (w *world) checkBudget() {
	for agent, all := range w.rings {
		for i, last := range all {
			since := func(at time.Time) bool { return last.at.Sub(at) < policy.BudgetSpan-time.Second && !at.After(last.at) }
			limit := w.budget
			if last.urgent {
				limit *= 2
			}
			for _, at := range w.lost {
				if since(at) {
					limit++
				}
			}
			within := 0
			for _, r := range all[:i+1] {
				if since(r.at) {
					within++
				}
			}
			if within > limit {
				w.Errorf("%s was rung %d times in the hour before %s, and may be %d times", agent, within, last.at, limit)
			}
		}
	}
}
