package jetstream

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"pennypost/internal/mail"
)

// Health returns the state of the servers, as far as it is known now.
func (c *Cluster) Health() mail.ServersHealth {
	return c.health.judge(len(c.cfg.URLs))
}

// Changed receives a value whenever Health has changed.
func (c *Cluster) Changed() <-chan struct{} { return c.health.changed }

// Unsettled reports whether the rooms should be listed again soon.
func (c *Cluster) Unsettled() bool { return c.health.unsettled() }

// judge returns the known state of the servers, and what in it endangers mail. addresses is the number of server
// addresses in the configuration.
func (w *watch) judge(addresses int) mail.ServersHealth {
	w.mu.Lock()
	defer w.mu.Unlock()
	h := mail.ServersHealth{Servers: []mail.ServerStatus{}}
	if len(w.servers) == 0 {
		return h
	}
	h.Unknown = max(0, max(w.size, addresses)-len(w.servers))
	behind := w.behind()
	for _, name := range slices.Sorted(maps.Keys(w.servers)) {
		st := w.servers[name].status(name)
		for _, lag := range behind[name] {
			st.BehindIn++
			st.Behind = max(st.Behind, lag)
		}
		h.Servers = append(h.Servers, st)
	}
	spare, stopped, headless := w.spare()
	h.MayFail = &spare
	for i := range h.Servers {
		if st := &h.Servers[i]; st.State == mail.ServerSilent {
			h.Degraded = append(h.Degraded, notHeard(st, spare))
		}
	}
	if len(stopped) > 0 {
		h.Degraded = append(h.Degraded, mail.Degraded{About: "stopped", Stops: true,
			Text: fmt.Sprintf("too few NATS servers answer: %s no mail until more do", takeNo(stopped)),
			Fix:  "start the servers that do not answer, or check the network between them and here"})
	}
	if len(headless) > 0 {
		h.Degraded = append(h.Degraded, mail.Degraded{About: "leaderless " + strings.Join(headless, ","), Stops: true,
			Text: "no NATS server leads: " + takeNo(headless) + " no mail until one does",
			Fix: "wait ten seconds while the servers elect a leader; if they do not, restart the servers one by " +
				"one, or see their logs"})
	}
	if len(stopped)+len(headless) == 0 && (w.missed || w.orphaned()) {
		h.Degraded = append(h.Degraded, mail.Degraded{About: "election",
			Text: "the NATS servers are electing new leaders; some mail is refused for up to ten seconds",
			Fix:  "wait ten seconds; if this continues, see the servers' logs"})
	}
	for _, name := range slices.Sorted(maps.Keys(behind)) {
		h.Degraded = append(h.Degraded, late(name, behind[name]))
	}
	return h
}

// status returns what the person is told about a server.
func (s *server) status(name string) mail.ServerStatus {
	st := mail.ServerStatus{Name: name, State: mail.ServerUp}
	switch {
	case !s.seen:
		st.State = mail.ServerUnknown
	case !s.silent.IsZero():
		st.State, st.Since = mail.ServerSilent, mail.TimeOf(s.silent)
	}
	if s.said != nil {
		st.Version, st.Sync = s.said.Version, "always"
		if !s.said.Synced {
			st.Sync = s.said.Interval.String()
		}
	}
	return st
}

// behind returns, for each server, the rooms whose copies there lag, and by how much. The caller holds mu.
func (w *watch) behind() map[string]map[string]uint64 {
	late := make(map[string]map[string]uint64)
	for room, g := range w.rooms {
		for _, p := range g.peers {
			if p.late() && w.there(p.name) {
				if late[p.name] == nil {
					late[p.name] = make(map[string]uint64)
				}
				late[p.name][room] = p.lag
			}
		}
	}
	return late
}

func (p *peer) late() bool { return !p.behind.IsZero() && time.Since(p.behind) >= behindAfter }

func (w *watch) there(name string) bool { s := w.servers[name]; return s == nil || s.silent.IsZero() }

// spare returns how many more servers may fail before some room takes no mail, -1 if one takes none already. Too few
// servers of the stopped rooms are there; the headless rooms have their servers, but no leader. The caller holds mu.
func (w *watch) spare() (most int, stopped, headless []string) {
	most = len(w.canary.peers)
	left := func(g *group) int {
		n := -g.quorum()
		for i := range g.peers {
			if p := &g.peers[i]; w.there(p.name) && !p.silent && !p.late() {
				n++
			}
		}
		return n
	}
	if len(w.canary.peers) > 0 {
		most = left(&w.canary)
	}
	if away := len(w.servers) - w.heard(); w.size > 0 { // they elect all leaders together
		most = min(most, w.size-away-(w.size/2+1))
	}
	for _, room := range slices.Sorted(maps.Keys(w.rooms)) {
		g := w.rooms[room]
		switch n := left(&g); {
		case len(g.peers) > 0 && n < 0:
			stopped = append(stopped, room)
		case g.leader == "":
			headless = append(headless, room)
		case len(g.peers) > 0:
			most = min(most, n)
		}
	}
	if len(stopped)+len(headless) > 0 {
		most = -1
	}
	return max(most, -1), stopped, headless
}

// orphaned reports whether the leader of the list of machines, or of a room, is not there. The caller holds mu.
func (w *watch) orphaned() bool {
	for _, g := range w.rooms {
		if g.leader != "" && !w.there(g.leader) {
			return true
		}
	}
	return len(w.canary.peers) > 0 && w.canary.leader == ""
}

// heard counts the servers that are there. The caller holds mu.
func (w *watch) heard() (n int) {
	for name := range w.servers {
		if w.there(name) {
			n++
		}
	}
	return n
}

// notHeard says that a server is not heard, and the consequences.
func notHeard(st *mail.ServerStatus, spare int) mail.Degraded {
	d := mail.Degraded{About: "silent " + st.Name, Since: st.Since,
		Text: fmt.Sprintf("the NATS server %s has not answered since %s", st.Name,
			st.Since.Std().Local().Format("15:04:05")),
		Fix: fmt.Sprintf("start the NATS server %s again, or check its network: it catches up by itself", st.Name)}
	switch {
	case spare == 0:
		d.Text += "; mail continues, and stops if one more fails"
	case spare > 0:
		d.Text += fmt.Sprintf("; mail continues, even if %d more fail", spare)
	}
	return d
}

// late says that copies of rooms on a server lag far behind.
func late(name string, rooms map[string]uint64) mail.Degraded {
	most := slices.Max(slices.Collect(maps.Values(rooms)))
	return mail.Degraded{About: "behind " + name,
		Text: fmt.Sprintf("the copies of %s on the NATS server %s are behind, by up to %d writes: it does not "+
			"count until it has caught up", some(slices.Sorted(maps.Keys(rooms))), name, most),
		Fix: "if this continues, check the disk and the network of " + name}
}

// mostNamed is how many rooms are named when there are many.
const mostNamed = 3

// some names rooms, only the first of many.
func some(rooms []string) string {
	switch more := len(rooms) - mostNamed; {
	case len(rooms) == 1:
		return "room " + rooms[0]
	case more > 0:
		return fmt.Sprintf("the rooms %s and %d others", strings.Join(rooms[:mostNamed], ", "), more)
	}
	return "the rooms " + strings.Join(rooms, ", ")
}

func takeNo(rooms []string) string {
	if len(rooms) == 1 {
		return some(rooms) + " takes"
	}
	return some(rooms) + " take"
}
