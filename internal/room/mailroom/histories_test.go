package mailroom

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
)

// saga is a random history of a room on three machines, which lag, are closed and opened again, and whose clocks are
// ten minutes apart.
type saga struct {
	*fleet
	rnd  *rand.Rand
	held []func() // by machine; nil: it keeps up
	busy []sync.WaitGroup
	// the time, in nanoseconds since 1970
	clock atomic.Int64

	mu     sync.Mutex
	calls  int
	ids    []mail.ID               // those that were acknowledged
	keys   map[string]mail.ID      // the id acknowledged for each sender's key
	takers map[mail.ID][]mail.Name // who was told that it has marked role mail read
	roles  map[mail.ID]bool        // role mail
	erased map[mail.ID]bool        // that someone wanted to erase
	wrong  []string
	lapses [3]sync.Mutex
}

var sagaNames = []mail.Name{"ann", "bob", "eve", "ida"}

// do runs a call on a machine, in the background: it may be held back.
func (g *saga) do(i int, call func(p *post)) {
	g.mu.Lock()
	over := g.calls > 12
	if !over {
		g.calls++
	}
	g.mu.Unlock()
	if over {
		return
	}
	p := g.posts[i]
	g.busy[i].Go(func() {
		call(p)
		g.mu.Lock()
		defer g.mu.Unlock()
		g.calls--
	})
	for range g.rnd.IntN(200) {
		runtime.Gosched()
	}
}

func (g *saga) failf(format string, args ...any) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.wrong = append(g.wrong, fmt.Sprintf(format, args...))
}

func (g *saga) someID() mail.ID {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.ids) == 0 {
		return "none"
	}
	return g.ids[max(0, len(g.ids)-1-g.rnd.IntN(20))]
}

func (g *saga) send() {
	from := sagaNames[g.rnd.IntN(len(sagaNames))]
	to := []string{"ann", "bob", "role:builder", "role:builder", "all", "user", "project:x"}[g.rnd.IntN(7)]
	d := mail.Draft{To: mail.Recipients{to}, Body: fmt.Sprint("text ", g.rnd.IntN(40))}
	if g.rnd.IntN(3) == 0 {
		d.Key = fmt.Sprint("key ", g.rnd.IntN(15))
		d.Body = d.Key
		d.To = mail.Recipients{"user"}
	}
	switch g.rnd.IntN(6) {
	case 0:
		d.Type = string(mail.Question)
	case 1:
		d.ReplyTo = g.someID()
	}
	if d.Key != "" {
		d.Type, d.ReplyTo = "", ""
	}
	g.do(g.rnd.IntN(len(g.posts)), func(p *post) {
		sent, err := p.As(from).Send(g.Context(), d)
		if err != nil {
			return // to someone who is not there, or too much
		}
		g.mu.Lock()
		defer g.mu.Unlock()
		g.ids = append(g.ids, sent.ID)
		if g.roles[sent.ID] = to == "role:builder"; d.Key != "" {
			key := string(from) + d.Key
			if was := g.keys[key]; was != "" && was != sent.ID && !g.erased[was] {
				g.wrong = append(g.wrong, fmt.Sprintf("%s was acknowledged as %s and as %s", key, was, sent.ID))
			}
			g.keys[key] = sent.ID
		}
	})
}

func (g *saga) mark() {
	who, id := sagaNames[g.rnd.IntN(len(sagaNames))], g.someID()
	mark := []mail.Mark{mail.MarkRead, mail.MarkRead, mail.MarkArchived, mail.MarkUnread}[g.rnd.IntN(4)]
	g.mu.Lock()
	if g.roles[id] {
		mark = mail.MarkRead
	}
	g.mu.Unlock()
	g.do(g.rnd.IntN(len(g.posts)), func(p *post) {
		got, err := p.As(who).Mark(g.Context(), mail.Marking{IDs: []mail.ID{id}, Mark: mark})
		if err != nil || mark != mail.MarkRead || len(got.Marked) == 0 {
			return
		}
		g.mu.Lock()
		defer g.mu.Unlock()
		g.takers[id] = append(g.takers[id], who)
	})
}

func (g *saga) roster() {
	who := sagaNames[g.rnd.IntN(len(sagaNames))]
	what, n := g.rnd.IntN(7), g.rnd.IntN(3)
	g.do(g.rnd.IntN(len(g.posts)), func(p *post) {
		ctx := g.Context()
		switch what {
		case 0:
			_, _ = p.As(who).Register(ctx, mail.Presence{State: mail.Gone})
		case 1:
			_, _ = p.As(who).Register(ctx, mail.Presence{Roles: []string{"builder"}, Tags: []string{"project:x"}})
		case 2:
			_ = p.As(mail.User).Retire(ctx, who)
		case 3:
			_, _ = p.As(who).Register(ctx, mail.Presence{Session: fmt.Sprint(p.opts.Machine, n), Process: "1.a"})
		case 4:
			_, _ = p.As(who).Turn(ctx, mail.Turn{Moment: mail.TurnStart, Session: fmt.Sprint(p.opts.Machine, n)})
		case 5:
			_, _ = p.As(who).Turn(ctx, mail.Turn{Moment: mail.TurnEnd, Session: fmt.Sprint(p.opts.Machine, n)})
		case 6:
			_, _ = p.As(who).Register(ctx, mail.Presence{State: []mail.State{mail.Frozen, mail.Idle}[n%2]})
		}
	})
}

func (g *saga) upkeep() {
	i, what, id := g.rnd.IntN(len(g.posts)), g.rnd.IntN(8), g.someID()
	g.do(i, func(p *post) {
		ctx := g.Context()
		switch what {
		case 0, 1, 2:
			_, _ = p.trim(ctx, !p.Keeps())
		case 3, 4:
			if err := p.compactToMark(ctx); err != nil {
				g.failf("compactToMark: %v", err)
			}
		case 5:
			p.mu.RLock()
			at := p.state.UpkeepAt
			p.mu.RUnlock()
			_, _ = p.commit(ctx, mail.Event{Machine: &mail.MachineChange{Name: p.opts.Machine, Upkeep: true,
				After: at}})
		case 6:
			g.lapses[i].Lock() // only Run calls it
			defer g.lapses[i].Unlock()
			_ = p.endLapsed(ctx)
		case 7:
			g.mu.Lock()
			g.erased[id] = true
			g.mu.Unlock()
			_ = p.As(mail.User).Erase(ctx, id)
		}
	})
}

// lag holds a machine back, or lets it continue.
func (g *saga) lag() {
	i := g.rnd.IntN(len(g.posts))
	if g.held[i] == nil {
		g.held[i] = g.posts[i].disk.Hold()
		return
	}
	g.held[i]()
	g.held[i] = nil
}

// reopen closes the room on a machine, when its calls are over, and opens it again.
func (g *saga) reopen() {
	i := g.rnd.IntN(len(g.posts))
	if g.held[i] != nil {
		g.held[i]()
		g.held[i] = nil
	}
	g.busy[i].Wait()
	if err := g.posts[i].Close(); err != nil {
		g.Error(err)
	}
	g.posts[i].open(g.T)
}

func (g *saga) run(steps int) {
	acts := []func(){g.send, g.send, g.send, g.send, g.mark, g.mark, g.mark, g.roster, g.roster, g.upkeep, g.lag,
		g.reopen, func() { g.clock.Add(int64(g.rnd.IntN(100)) * int64(time.Minute) / 10) }}
	for range steps {
		acts[g.rnd.IntN(len(acts))]()
	}
	for i := range g.posts {
		if g.held[i] != nil {
			g.held[i]()
		}
	}
	for i := range g.posts {
		g.busy[i].Wait()
	}
	// A machine that lagged may journal a key of an erased message once more, and the others erase that line too.
	for rounds := 0; ; rounds++ {
		g.settle()
		owed := 0
		for _, p := range g.posts {
			owed += len(p.owed())
			g.must("finish", p.finishErasures(g.Context()))
		}
		switch {
		case owed == 0:
			return
		case rounds > 3:
			g.Fatal("erasures come to no end")
		}
	}
}

// check checks that every acknowledged message is there once, on every machine, and that at most one agent was told
// that it has read a message for a role.
func (g *saga) check() {
	for _, wrong := range g.wrong {
		g.Error(wrong)
	}
	for id, who := range g.takers {
		if slices.Sort(who); g.roles[id] && len(slices.Compact(who)) > 1 {
			g.Errorf("%s was read by %v", id, who)
		}
	}
	for _, p := range g.posts {
		there := make(map[mail.ID]int)
		for it, err := range p.As(mail.User).Export(g.Context()) {
			g.must("export", err)
			there[it.ID]++
		}
		for _, id := range g.ids {
			if n := there[id]; n != 1 && !(g.erased[id] && n == 0) {
				g.Errorf("%s is %d times on %s", id, n, p.opts.Machine)
			}
		}
	}
}

// TestHistories runs random histories of a room on three machines and checks that all have the same state at the end:
// those that took part, each when it opens the room again, and one that reads it from its first event.
var (
	histories = flag.Int("histories", 150, "random histories")
	firstSeed = flag.Uint64("history", 0, "the seed of the first of them")
)

func TestHistories(t *testing.T) {
	inMemory(t) // each machine has a copy of it that is held back
	seeds := uint64(*histories)
	if testing.Short() {
		seeds = 10
	}
	for seed := *firstSeed; seed < *firstSeed+seeds; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			g := &saga{rnd: rand.New(rand.NewPCG(seed, 1)), held: make([]func(), 3),
				busy: make([]sync.WaitGroup, 3), keys: map[string]mail.ID{}, takers: map[mail.ID][]mail.Name{},
				roles: map[mail.ID]bool{}, erased: map[mail.ID]bool{}}
			g.clock.Store(1_000_000_000 * int64(time.Second))
			g.fleet = &fleet{T: t, skews: []time.Duration{-10 * time.Minute, 0, 10 * time.Minute},
				now: func() time.Time { return time.Unix(0, g.clock.Load()) },
				opts: Options{Away: func(mail.Machine) bool {
					return true
				}, Retention: policy.Retention{Count: 12, Age: 5 * time.Hour},
					Limits: policy.Limits{Exchanges: -1, PerMinute: -1, Depth: -1}}}
			g.start(3)
			defer g.close()
			for _, n := range sagaNames[:2] {
				_, err := g.posts[0].As(mail.User).Register(t.Context(),
					mail.Presence{Name: n, Roles: []string{"builder"}})
				g.must("register", err)
			}
			g.run(120)
			g.check()
			g.agree()
		})
	}
}
