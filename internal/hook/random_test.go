package hook_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pennypost/internal/hook/hooktest"
	"pennypost/internal/mail"
)

var (
	seeds = flag.Int("seeds", 400, "how many random histories TestP8_Random tries")
	only  = flag.Int("seed", -1, "the only one that it tries")
)

// TestP8_Random lets clients, senders and the post office do random things, turns and mail at the same time, and holds:
//
//   - P8: of an agent that is idle, no mail that should wake it was there, unseen, when it became so, or the user was told;
//   - nothing is shown twice in a session, but what could not be marked when it was shown;
//   - no turn goes on more often than the client lets it; nothing ever breaks a client's rules;
//   - when all have begun and ended a turn once more, all of it has been seen, or the user was told.
func TestP8_Random(t *testing.T) {
	n := *seeds
	if testing.Short() {
		n /= 10
	}
	for seed := range n {
		if *only >= 0 && seed != *only {
			continue
		}
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, uint64(seed))
			for range 40 {
				w.step()
			}
			w.settle()
			if t.Failed() {
				t.Fatalf("seed %d:\n%s", seed, strings.Join(w.log, "\n"))
			}
		})
		if t.Failed() {
			return
		}
	}
}

// world is a room with some clients in it.
type world struct {
	*bed
	rand    *rand.Rand
	players []*player
	session int
	calm    bool // nobody sends

	mu  sync.Mutex
	log []string
}

// player is a client, what runs in it, and what its model has seen.
type player struct {
	*hooktest.Harness
	name    mail.Name
	running bool
	inTurn  bool
	looks   bool // its model reads what it is pointed to
	seen    map[string]map[mail.ID]int
	excused map[mail.ID]bool // shown, but the marks got lost
}

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{bed: newBed(t), rand: rand.New(rand.NewPCG(seed, 7))}
	clients := hooktest.Clients()
	for i := range 2 + w.rand.IntN(2) {
		p := &player{name: mail.Name(fmt.Sprint("a", i)), looks: w.rand.IntN(2) == 0, seen: make(map[string]map[mail.ID]int), excused: make(map[mail.ID]bool)}
		p.Harness = w.harness(clients[w.rand.IntN(len(clients))], p.name, "")
		p.Reads = func(text string) { w.reads(p, text) }
		w.players = append(w.players, p)
		role := []string{"builder"}
		if i == 0 {
			role = []string{"orchestrator"}
		}
		_, err := w.as(mail.User).Register(t.Context(), mail.Presence{Name: p.name, Roles: role, Tags: []string{"project:x"}})
		w.must(err)
	}
	return w
}

func (w *world) note(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.log = append(w.log, fmt.Sprintf(format, args...))
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
		if denied || w.unmarked {
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
	switch w.rand.IntN(22) {
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
		w.exit(p, true)
	case 16:
		w.note("%s is killed", p.name)
		p.running, p.inTurn = false, false
	case 17:
		w.note("restart")
		w.restart()
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
		d := time.Duration(w.rand.IntN(400)) * time.Second
		w.note("%s go by", d)
		time.Sleep(d)
	}
}

// during runs f while somebody sends.
func (w *world) during(f func()) {
	if w.calm || w.rand.IntN(2) == 0 {
		f()
		return
	}
	var both sync.WaitGroup
	yields := w.rand.IntN(30)
	both.Go(func() {
		for range yields {
			runtime.Gosched()
		}
		w.sendSomething()
	})
	f()
	both.Wait()
}

func (w *world) sendSomething() {
	w.mu.Lock()
	p := w.players[w.rand.IntN(len(w.players))]
	to := []string{string(p.name), string(p.name), string(p.name), "role:builder", "orchestrator", "all", "project:x"}[w.rand.IntN(7)]
	typ := []mail.Type{mail.Question, mail.TaskAssigned, mail.Answer, mail.Status, mail.Custom, mail.TaskDone, mail.Cancel}[w.rand.IntN(7)]
	d := mail.Draft{To: mail.Recipients{to}, Type: string(typ), Body: words(1 + w.rand.IntN(4)*w.rand.IntN(500))}
	if w.rand.IntN(5) == 0 {
		d.Priority = string(mail.Urgent)
	}
	w.mu.Unlock()
	sent, err := w.as(mail.User).Send(context.Background(), d)
	if err == nil {
		w.note("%s %s to %s: %s", typ, d.Priority, to, sent.ID)
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
		p.Run = w.runner(p.name, mail.Name(fmt.Sprint(p.name, ".", w.rand.Int32())))
		p.running = true
		w.note("%s (%s) starts session %s: %s", p.name, p.Client.Name, p.Session, source)
		p.Start(source)
	}
	p.inTurn = true
	w.note("%s begins a turn", p.name)
	w.during(func() { p.Prompt("go on") })
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
		each := *p.Harness
		each.Context, each.Faults = nil, nil
		each.Reads = func(text string) {
			mu.Lock()
			defer mu.Unlock()
			reads(text)
		}
		tools.Go(func() { each.After("Bash", "ls") })
	}
	tools.Wait()
	w.note("%s ran three tools", p.name)
}

func (w *world) exit(p *player, mid bool) {
	if !p.running || p.inTurn && !mid {
		return
	}
	p.running, p.inTurn = false, false
	reason := []string{"prompt_input_exit", "other", "user_exit"}[w.rand.IntN(3)]
	w.note("%s exits: %s", p.name, reason)
	p.Exit(reason)
}

// settle comes to rest and checks; then all is well again, everybody has one more turn, and it checks again.
func (w *world) settle() {
	for _, p := range w.players {
		w.turnEnds(p)
	}
	w.check()
	w.down, w.shut, w.unmarked, w.calm = false, false, false, true
	time.Sleep(5 * time.Minute)
	w.note("all is well")
	for _, p := range w.players {
		w.begin(p)
		p.Tool("Bash", "ls")
		w.turnEnds(p)
	}
	w.check()
	for _, p := range w.players {
		for _, a := range w.named(p) {
			for _, id := range w.unseen(a) {
				if !w.told(a, id) {
					w.Errorf("%s never saw %s, and the user was not told", a, id)
				}
			}
		}
		w.wantNoFaults(p.Harness)
		if p.Forced > 0 {
			w.Errorf("%s had to end %d turns by force", p.name, p.Forced)
		}
	}
}

// check holds P8 for those that are idle.
func (w *world) check() {
	list, err := w.as(mail.User).Agents(context.Background())
	w.must(err)
	since, moved := w.idleSince()
	for _, a := range list {
		if a.State != mail.Idle || a.Session == "" {
			continue
		}
		for _, id := range w.unseen(a.Name) {
			it, err := w.as(mail.User).Message(context.Background(), id)
			w.must(err)
			if strings.HasPrefix(string(it.To[0]), "role:") && moved > since[a.Session] {
				continue // it may have come from another who went
			}
			if at, ended := since[a.Session]; ended && it.Seq < at && !w.told(a.Name, id) {
				w.Errorf("%s became idle at %d over %s of %d, unseen", a.Name, at, id, it.Seq)
			}
		}
	}
}

// unseen returns the mail that should wake an agent and that nobody has shown it.
func (w *world) unseen(n mail.Name) (ids []mail.ID) {
	for _, u := range w.room.Unwoken(func(a mail.Name, _ []string) bool { return a == n }) {
		for _, m := range u.Mail {
			ids = append(ids, m.ID)
		}
	}
	return ids
}

// told reports whether the user was told that an agent stopped over a message.
func (w *world) told(n mail.Name, id mail.ID) bool {
	page, err := w.as(mail.User).Inbox(context.Background(), mail.InboxQuery{Limit: mail.MaxLimit})
	w.must(err)
	return slices.ContainsFunc(page.Messages, func(it mail.Item) bool {
		return it.From == mail.FromSystem && strings.Contains(it.Subject, string(n)+" ") && strings.Contains(string(it.Metadata), string(id))
	})
}

// idleSince returns where in the journal the sessions' last turns ended by their hooks, and where a session began or ended last.
func (w *world) idleSince() (since map[string]mail.Seq, moved mail.Seq) {
	since = make(map[string]mail.Seq)
	watch, err := w.as(mail.User).Watch(context.Background(), 0)
	w.must(err)
	defer watch.Close()
	last := w.room.Shown()
	for at := mail.Seq(0); at < last; {
		events, err := watch.Next(context.Background())
		w.must(err)
		for _, e := range events {
			at = e.Seq
			switch {
			case e.Agent == nil:
			case e.Agent.Turn == mail.TurnEnd:
				since[e.Agent.Session] = e.Seq
			case e.Agent.Session != "" || e.Agent.State != "" || e.Agent.End:
				delete(since, e.Agent.Session)
				moved = e.Seq
			}
		}
	}
	return since, moved
}
