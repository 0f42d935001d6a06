package jetstream

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"pennypost/internal/base/pause"
)

const (
	// unheard is how long the leader of a stream has not heard a server that is called silent. Servers announce
	// themselves each second, and a leader that is silent for four is replaced.
	unheard = 3 * time.Second
	// doubted is the silence after which a server is checked more often, so that it is soon known whether it is
	// there.
	doubted = 1500 * time.Millisecond
	// behindFrom is the number of missing writes from which a server's copy of a room is called behind: the servers
	// acknowledge what most of them have, so the slowest one always lags a little.
	behindFrom = 100
	// behindAfter is how long it must have been behind.
	behindAfter = 4 * time.Second
)

// group is the servers that keep a stream, as its leader sees them.
type group struct {
	leader string // "": there is none
	peers  []peer // including the leader, by name
}

type peer struct {
	name   string
	heard  time.Time // when the leader last heard it; zero: never since its election
	silent bool
	lag    uint64
	behind time.Time // since when the lag is worth reporting; zero: it is not
}

// groupOf returns the servers of a stream. For a stream on a single server, only its name is known.
func groupOf(ci *jetstream.ClusterInfo, connected string, now time.Time) group {
	if ci == nil {
		return group{connected, []peer{{name: connected, heard: now}}}
	}
	g := group{leader: ci.Leader}
	if ci.Leader != "" {
		g.peers = append(g.peers, peer{name: ci.Leader, heard: now})
	}
	for _, r := range ci.Replicas {
		p := peer{name: r.Name, lag: r.Lag, silent: r.Offline || r.Active > unheard || r.Active == 0 && !r.Current}
		if r.Active > 0 {
			p.heard = now.Add(-r.Active)
		}
		if p.lag >= behindFrom && !p.silent {
			p.behind = now
		}
		g.peers = append(g.peers, p)
	}
	slices.SortFunc(g.peers, func(a, b peer) int { return cmp.Compare(a.name, b.name) })
	return g
}

// quorum is how many servers of the group must be there.
func (g *group) quorum() int { return len(g.peers)/2 + 1 }

// leaderless returns, for a group without a leader, the servers that cannot be there. A follower that answers knows
// of no other: if more are missing than may be, and that means all but one, all the others are.
func (g *group) leaderless(answers string) (silent []string) {
	if g.leader != "" || len(g.peers)-g.quorum()+1 < len(g.peers)-1 {
		return nil
	}
	for _, p := range g.peers {
		if p.name != answers {
			silent = append(silent, p.name)
		}
	}
	return silent
}

// watch is what is known of the servers: from the leader of the list of machines, the leaders of rooms, and the
// servers themselves.
type watch struct {
	changed pause.Nudge // something has changed

	mu      sync.Mutex
	servers map[string]*server
	canary  group            // of the list of machines
	rooms   map[string]group // as last listed
	size    int              // how many servers there are, as far as they say
	doubt   bool             // a server was not heard in time
	missed  bool             // no server answered for the list of machines
}

// server is what is known of one server.
type server struct {
	silent  time.Time // since when it is not heard; zero: it is heard
	doubted time.Time // since when its leader has not heard it at all; zero: it has
	seen    bool      // it is known whether it is there
	said    *Server   // its last description of itself
	answers bool      // it answered when last asked
}

func newWatch() watch {
	return watch{changed: pause.NewNudge(), servers: make(map[string]*server), rooms: make(map[string]group)}
}

// of returns the entry of a server. The caller holds mu.
func (w *watch) of(name string) *server {
	s := w.servers[name]
	if s == nil {
		s = new(server)
		w.servers[name] = s
	}
	return s
}

// note notes that a server is there, or has not been since some time. The caller holds mu.
func (w *watch) note(name string, silent bool, since, now time.Time) {
	s := w.of(name)
	switch {
	case !silent && (!s.seen || !s.silent.IsZero()):
		s.silent = time.Time{}
		w.changed.Give()
	case silent && s.silent.IsZero():
		if s.silent = since; since.IsZero() {
			s.silent = now
		}
		w.changed.Give()
	}
	s.seen, s.doubted = true, time.Time{}
}

// saw takes in a server's answer about the list of machines, and reports whether the list has a leader.
func (w *watch) saw(ci *jetstream.ClusterInfo, connected string, now time.Time) bool {
	g := groupOf(ci, connected, now)
	w.mu.Lock()
	defer w.mu.Unlock()
	if g.leader != w.canary.leader || len(g.peers) != len(w.canary.peers) {
		w.changed.Give()
	}
	w.canary, w.missed, w.doubt = g, false, false
	if g.leader == "" {
		for _, name := range g.leaderless(connected) {
			w.note(name, true, time.Time{}, now)
		}
		w.note(connected, false, time.Time{}, now)
		return false
	}
	for _, p := range g.peers {
		switch s := w.of(p.name); {
		case p.silent && p.heard.IsZero() && s.silent.IsZero():
			// a leader that was just elected has heard no one yet
			if w.doubt = true; s.doubted.IsZero() {
				s.doubted = now
			} else if now.Sub(s.doubted) > 2*doubtEvery {
				w.note(p.name, true, s.doubted, now)
			}
		default:
			w.note(p.name, p.silent, p.heard, now)
			w.doubt = w.doubt || !p.silent && now.Sub(p.heard) > doubted
		}
	}
	return true
}

// doubtful reports whether it will soon be known if a server is there.
func (w *watch) doubtful() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.doubt || w.missed
}

// beyond reports whether there are servers that do not keep the list of machines.
func (w *watch) beyond() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return max(w.size, len(w.servers)) > len(w.canary.peers) && len(w.canary.peers) > 0
}

// inspected takes in the servers' descriptions of themselves. since is when no server answered for the list of
// machines any more; zero: it has a leader, which knows better which servers are there. connected, if not "", does
// not answer.
func (w *watch) inspected(found []Server, since time.Time, connected string) {
	now := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	here := make(map[string]bool)
	for i := range found {
		f := &found[i]
		here[f.Name] = true
		if s := w.of(f.Name); s.said == nil || *s.said != *f {
			s.said = f
			w.changed.Give()
		}
		w.size = max(w.size, f.Size)
	}
	w.missed = w.missed || !since.IsZero()
	for name, s := range w.servers {
		if s.answers != here[name] {
			s.answers = here[name]
			w.changed.Give()
		}
		switch {
		case since.IsZero() && w.led(name): // its leader knows
		case here[name]:
			w.note(name, false, time.Time{}, now)
		case name == connected, s.said != nil, name == w.canary.leader && !since.IsZero():
			w.note(name, true, since, now)
		}
	}
}

// led reports whether a leader says whether a server is there. The caller holds mu.
func (w *watch) led(name string) bool {
	if w.canary.has(name) {
		return true
	}
	for _, g := range w.rooms {
		if g.leader != "" && g.has(name) {
			return true
		}
	}
	return false
}

func (g *group) has(name string) bool {
	return slices.ContainsFunc(g.peers, func(p peer) bool { return p.name == name })
}

// listed takes in which servers keep the rooms. The missing rooms have no leader, or one that does not answer.
func (w *watch) listed(rooms map[string]group, missing []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	for name, g := range rooms {
		before := w.rooms[name]
		for i := range g.peers {
			p := &g.peers[i]
			if at := slices.IndexFunc(before.peers, func(b peer) bool { return b.name == p.name }); at >= 0 &&
				!p.behind.IsZero() && !before.peers[at].behind.IsZero() {
				p.behind = before.peers[at].behind
			}
		}
		if len(g.peers) == 0 {
			g.peers = before.peers
		}
		rooms[name] = g
	}
	for _, name := range missing {
		g := w.rooms[name]
		g.leader = ""
		rooms[name] = g
	}
	w.rooms = rooms
	w.believe(now)
}

// believe takes the state of servers that do not keep the list of machines from the leaders of rooms: the last one to
// hear a server counts. The caller holds mu.
func (w *watch) believe(now time.Time) {
	last := make(map[string]peer)
	for _, g := range w.rooms {
		for _, p := range g.peers {
			known, ok := last[p.name]
			if g.leader != "" && !w.canary.has(p.name) && (!ok || p.heard.After(known.heard)) {
				last[p.name] = p
			}
		}
	}
	for name, p := range last {
		w.note(name, p.silent, p.heard, now)
	}
}

// unsettled reports whether the rooms should be listed again soon: a copy may be behind, a room has no leader, or a
// server is silent.
func (w *watch) unsettled() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.servers {
		if !s.silent.IsZero() {
			return true
		}
	}
	for _, g := range w.rooms {
		odd := func(p peer) bool { return p.silent || !p.behind.IsZero() }
		if g.leader == "" || slices.ContainsFunc(g.peers, odd) {
			return true
		}
	}
	return false
}
