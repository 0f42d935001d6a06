package reach

import (
	"cmp"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"pennypost/internal/base/versions"
	"pennypost/internal/config"
	"pennypost/internal/mail"
	"pennypost/internal/office/wake"
	"pennypost/internal/office/wake/door"
	"pennypost/internal/office/wake/remote"
	"pennypost/internal/office/wake/sessions"
)

// Known are the doors of agents that this machine knows: from the configuration, from sessions, from waiting
// processes, and from other machines.
type Known struct {
	cfg       *config.Config
	log       *slog.Logger
	Sessions  sessions.List      // of agents' clients, as reported by their hooks
	Listeners door.Listeners     // where processes alongside sessions wait
	Machines  remote.Machines    // other machines that use this post office
	Claude    *door.ClaudeSocket // the doors of such sessions
	Codex     *door.Codex
	tmux      wake.Waker // the last door, if it is turned on
	Copilot   *door.CopilotNotes
	Turns     *door.Turns // of agents without a session, over ACP
	program   string      // this program
	Changed   func()      // called when doors have changed; the ringers of this machine have been told by then
}

// New returns the doors that are known at a start. It calls look when the doors of agents in a room have changed.
func New(cfg *config.Config, log *slog.Logger, look func(mail.RoomName)) *Known {
	k := &Known{cfg: cfg, log: log, Changed: func() {}}
	k.Copilot = &door.CopilotNotes{Sessions: &k.Sessions, Dir: clientDir("COPILOT_HOME", ".copilot")}
	k.Claude = &door.ClaudeSocket{Sessions: &k.Sessions, Config: ClaudeDir(), Below: cfg.ClaudeBelow}
	k.Codex = &door.Codex{Sessions: &k.Sessions, Env: config.WithoutAgent(os.Environ())}
	k.Turns = door.NewTurns(cfg.Home.Turns(), log)
	if self, err := os.Executable(); err != nil {
		log.Warn("agents woken over ACP have no mailbox", "err", err)
	} else {
		k.program = versions.Stable(self)
	}
	k.tmux = &door.Tmux{Sessions: &k.Sessions}
	k.Machines.Look = look
	if err := k.Sessions.Keep(cfg.Home.Doors()); err != nil {
		log.Warn("doors", "err", err)
	}
	return k
}

// Configured returns the doors in the configuration for the agents of a room.
func (k *Known) Configured(name mail.RoomName) *wake.Doors {
	list := k.cfg.For(name).Wake
	var entries []wake.Entry
	for _, who := range slices.Sorted(maps.Keys(list)) {
		a, err := config.WakeAddress(who)
		if err != nil {
			k.log.Error("doors left out", "room", name, "err", err) // the check of the configuration refuses it
			continue
		}
		w := list[who]
		entries = append(entries, wake.Entry{For: a, Wakers: k.wakers(&w), Budget: w.Budget})
	}
	return wake.NewDoors(entries...)
}

// Ladder returns the doors of an agent in the order in which they are tried: those of its session, then the
// configured ones that lead anywhere.
func (k *Known) Ladder(room mail.RoomName, agent mail.Name, configured []wake.Waker) []wake.Waker {
	s := k.Sessions.Look(room, agent)
	out := k.sessionDoors(&s, room, agent)
	for _, w := range configured {
		if door.Leads(w, &s) {
			out = append(out, w)
		}
	}
	return out
}

// sessionDoors returns the doors of an agent's live session s, by the client in which it runs.
func (k *Known) sessionDoors(s *sessions.Session, room mail.RoomName, agent mail.Name) []wake.Waker {
	var out []wake.Waker
	for _, w := range []wake.Waker{k.Claude, k.Codex} {
		if door.Leads(w, s) {
			out = append(out, w)
		}
	}
	out = append(out, k.Listeners.Doors(room, agent)...) // of processes alongside the session
	return append(out, k.Machines.Doors(room, agent)...)
}

// ClaudeDir is Claude Code's own directory.
func ClaudeDir() string { return clientDir("CLAUDE_CONFIG_DIR", ".claude") }

// clientDir returns a client's own directory: the one that a variable names, or the usual one.
func clientDir(variable, usual string) string {
	if dir := os.Getenv(variable); dir != "" {
		return dir
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(home, usual)
}

// Meet records a session as a client's hook reported it.
func (k *Known) Meet(room mail.RoomName, brief *mail.Briefing, t *mail.Turn, a *mail.Access) {
	defer k.Changed()
	agent := brief.Agent
	switch {
	case t.Sub: // its parent's hooks report it
	case t.Moment == mail.SessionEnd:
		k.Sessions.Drop(room, agent, t.Session)
		k.Listeners.End(room, agent, t.Session)
	case a != nil:
		s := k.Sessions.Filled(sessions.Session{
			Room: room, Agent: agent, Client: t.Client, ID: t.Session, Dir: a.Dir, Version: a.Version,
			Process: t.Process, Mode: a.Mode, Working: brief.State == mail.Working,
			Socket: sessions.NewSecret(a.Socket), Token: sessions.NewSecret(a.Token), Tmux: a.Tmux, Pane: a.Pane,
			Window: a.Window, Home: a.Home, Transcript: a.Transcript, Broken: t.Over,
		})
		s.Held = k.Claude.Holds(&s)
		k.Sessions.Put(s)
	}
}

// Join records the session of a connection, if no hook has reported it: an MCP server alone has doors, too.
func (k *Known) Join(room mail.RoomName, agent mail.Name, p *mail.Presence, a *mail.Access) {
	s := sessions.Session{
		Room: room, Agent: agent, Client: p.Client, ID: a.Session, Dir: a.Dir, Version: a.Version, Process: p.Process,
		Socket: sessions.NewSecret(a.Socket), Token: sessions.NewSecret(a.Token), Tmux: a.Tmux, Pane: a.Pane,
		Joined: p.Session,
	}
	if old, ok := k.Sessions.Get(room, agent); ok && old.Joined == "" && old.Process == s.Process {
		return
	}
	s.Held = k.Claude.Holds(&s)
	k.Sessions.Put(s)
	k.Changed()
}

// wakers turns one agent's configuration into doors, in the order in which they are tried: keystrokes last.
func (k *Known) wakers(w *config.Wake) (out []wake.Waker) {
	limit := time.Duration(w.Timeout)
	if w.OpenCode != "" {
		out = append(out, &door.OpenCode{Server: w.OpenCode, Password: sessions.NewSecret(string(w.Password)),
			Timeout: limit})
	}
	if len(w.Exec) > 0 {
		// A process started by a command inside an agent's session, perhaps the post office itself, must not pass
		// that session on.
		out = append(out, &door.Exec{
			Argv: w.Exec, Env: config.WithoutAgent(os.Environ()), Dir: string(k.cfg.Home), Home: string(k.cfg.Home),
			Timeout: limit, Log: k.log,
			Gone: w.When == config.WhenGone, Sessions: &k.Sessions,
		})
	}
	if len(w.ACP) > 0 {
		out = append(out, &door.ACP{
			Argv: w.ACP, Env: config.WithoutAgent(os.Environ()), Dir: w.Dir, Home: string(k.cfg.Home),
			Program: k.program, Timeout: time.Duration(cmp.Or(w.Timeout, config.DefaultTurnTimeout)), Log: k.log,
			Sessions: &k.Sessions, Turns: k.Turns,
		})
	}
	if w.Webhook != "" {
		out = append(out, door.NewWebhook(w.Webhook, w.Secret, limit))
	}
	if w.Tmux {
		out = append(out, k.tmux)
	}
	return out
}

// Here returns the doors of an agent on this machine.
func (k *Known) Here(room mail.RoomName, agent mail.Name) []wake.Waker {
	var configured []wake.Waker
	for who, w := range k.cfg.For(room).Wake {
		if a, err := config.WakeAddress(who); err == nil && a == mail.AgentAddress(agent) {
			configured = k.wakers(&w)
		}
	}
	return k.Ladder(room, agent, configured)
}

// Offers returns the doors by which the agents of this machine can be rung.
func (k *Known) Offers() []remote.Offer {
	programs := append(k.Sessions.Programs(), k.Listeners.Waiting()...)
	slices.SortStableFunc(programs, func(a, b sessions.Program) int {
		return cmp.Or(cmp.Compare(a.Room, b.Room), cmp.Compare(a.Agent, b.Agent))
	})
	programs = slices.CompactFunc(programs, func(a, b sessions.Program) bool {
		return a.Room == b.Room && a.Agent == b.Agent // the first is the session's
	})
	out := []remote.Offer{}
	for _, p := range programs {
		offer := remote.Offer{Room: p.Room, Agent: p.Agent, Process: p.Process}
		for _, w := range k.Here(p.Room, p.Agent) {
			offer.Doors = append(offer.Doors, w.Door())
		}
		if len(offer.Doors) > 0 || offer.Process != "" {
			out = append(out, offer)
		}
	}
	return out
}
