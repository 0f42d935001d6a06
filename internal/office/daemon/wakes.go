package daemon

import (
	"context"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"pennypost/internal/config"
	"pennypost/internal/mail"
	"pennypost/internal/office/hook"
	"pennypost/internal/office/notify"
	"pennypost/internal/office/wake"
	"pennypost/internal/office/wake/door"
	"pennypost/internal/office/wake/sessions"
)

// doors returns the doors that the configuration gives to the agents of a room.
func (o *office) doors(name mail.RoomName) *wake.Doors {
	list := o.cfg.For(name).Wake
	var entries []wake.Entry
	for _, who := range slices.Sorted(maps.Keys(list)) {
		a, err := config.WakeAddress(who)
		if err != nil {
			o.log.Error("doors left out", "room", name, "err", err) // the check of the configuration refuses it
			continue
		}
		w := list[who]
		entries = append(entries, wake.Entry{For: a, Wakers: o.wakers(&w), Budget: w.Budget})
	}
	return wake.NewDoors(entries...)
}

// ladder returns the doors of an agent in the order in which they are tried: those of its session, then of the
// configured ones those that lead anywhere.
func (o *office) ladder(room mail.RoomName, agent mail.Name, configured []wake.Waker) []wake.Waker {
	s := o.sessions.Look(room, agent)
	out := o.sessionDoors(&s, room, agent)
	for _, w := range configured {
		if door.Leads(w, &s) {
			out = append(out, w)
		}
	}
	return out
}

// sessionDoors returns the doors of an agent's live session s, by the client in which it runs.
func (o *office) sessionDoors(s *sessions.Session, room mail.RoomName, agent mail.Name) []wake.Waker {
	var out []wake.Waker
	for _, w := range []wake.Waker{o.claude, o.codex} {
		if door.Leads(w, s) {
			out = append(out, w)
		}
	}
	out = append(out, o.listeners.Doors(room, agent)...) // of processes beside the session
	return append(out, o.machines.Doors(room, agent)...)
}

// ClaudeDir is Claude Code's own directory.
func ClaudeDir() string { return clientDir("CLAUDE_CONFIG_DIR", ".claude") }

// clientDir returns a client's own directory: that which a variable names, else the usual one.
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

// meet notes what a client's hook told of a session.
func (o *office) meet(room mail.RoomName, brief *mail.Briefing, t *mail.Turn, a *mail.Access) {
	defer o.changed()
	agent := brief.Agent
	switch {
	case t.Sub: // whose parent has told
	case t.Moment == mail.SessionEnd:
		o.sessions.Drop(room, agent, t.Session)
		o.listeners.End(room, agent, t.Session)
	case a != nil:
		s := o.sessions.Filled(sessions.Session{
			Room: room, Agent: agent, Client: t.Client, ID: t.Session, Dir: a.Dir, Version: a.Version,
			Process: t.Process, Mode: a.Mode, Working: brief.State == mail.Working,
			Socket: sessions.NewSecret(a.Socket), Token: sessions.NewSecret(a.Token), Tmux: a.Tmux, Pane: a.Pane,
			Window: a.Window, Home: a.Home, Transcript: a.Transcript, Broken: t.Over,
		})
		s.Held = o.claude.Holds(&s)
		o.sessions.Put(s)
	}
}

// join notes what a connection told of its session, if no hook has told of that: an MCP server alone has doors, too.
func (o *office) join(room mail.RoomName, agent mail.Name, p *mail.Presence, a *mail.Access) {
	s := sessions.Session{
		Room: room, Agent: agent, Client: p.Client, ID: a.Session, Dir: a.Dir, Version: a.Version, Process: p.Process,
		Socket: sessions.NewSecret(a.Socket), Token: sessions.NewSecret(a.Token), Tmux: a.Tmux, Pane: a.Pane,
		Joined: p.Session,
	}
	if old, ok := o.sessions.Get(room, agent); ok && old.Joined == "" && old.Process == s.Process {
		return
	}
	s.Held = o.claude.Holds(&s)
	o.sessions.Put(s)
	o.changed()
}

// lookAgain has the ringer of a room look at everybody, because the doors of some have changed. The room is opened for
// that: mail may wait in it.
func (o *office) lookAgain(name mail.RoomName) {
	if !o.exists(name) {
		return
	}
	go func() {
		if e, err := o.borrow(context.Background(), name); err == nil { // it logs what went wrong
			e.ringer.Look()
			o.giveBack(e, name)
		}
	}()
}

// wakers turns what the configuration says of one agent into doors, in the order in which they are tried: keystrokes
// come last.
func (o *office) wakers(w *config.Wake) (out []wake.Waker) {
	limit := time.Duration(w.Timeout)
	if w.OpenCode != "" {
		out = append(out, &door.OpenCode{Server: w.OpenCode, Password: sessions.NewSecret(string(w.Password)),
			Timeout: limit})
	}
	if len(w.Exec) > 0 {
		// What a command inside an agent's session started, the post office perhaps, must not pass that session on.
		out = append(out, &door.Exec{
			Argv: w.Exec, Env: config.WithoutAgent(os.Environ()), Dir: string(o.cfg.Home), Home: string(o.cfg.Home),
			Timeout: limit, Log: o.log,
			Gone: w.When == config.WhenGone, Sessions: &o.sessions,
		})
	}
	if w.Webhook != "" {
		out = append(out, door.NewWebhook(w.Webhook, w.Secret, limit))
	}
	if w.Tmux {
		out = append(out, o.tmux)
	}
	return out
}

// newRinger returns what rings the doors of a room.
func (o *office) newRinger(e *entry, doors *wake.Doors) *wake.Ringer {
	opts := wake.Options{Room: e.room, Doors: doors, Log: o.log, Observe: wake.Observer{
		Rang: func(ok bool) {
			o.metrics.rings.Inc()
			if !ok {
				o.metrics.failedRings.Inc()
			}
		},
		Outstanding: func(delta int) { o.metrics.outstanding.Add(float64(delta)) },
	}, Typed: func(agent mail.Name) mail.Time { return o.sessions.Typed(e.room.Name(), agent) }}
	if e.clustered {
		opts.Machine, opts.Cut = e.machine, o.peers.Cut
	}
	return wake.New(opts)
}

// How often the office looks for turns that were broken off, which costs a small file for each session that works, and
// every how many of these looks for sessions that were killed, which costs a look at each session's process.
const (
	brokenOffPause = time.Second
	killedLooks    = 3
)

// followSessions tells the rooms, until ctx ends, of ends that no hook tells of: turns that were broken off, and
// sessions whose program was killed.
func (o *office) followSessions(ctx context.Context) {
	ticker := time.NewTicker(brokenOffPause)
	defer ticker.Stop()
	for look := 0; ; look++ {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		now := time.Now()
		for _, s := range slices.Concat(o.claude.BrokenOff(now), o.copilot.BrokenOff(now)) {
			if o.ended(ctx, s, mail.TurnEnd) {
				o.sessions.Rested(s)
			}
		}
		if look%killedLooks != 0 {
			continue
		}
		for _, s := range o.sessions.Killed() {
			o.end(ctx, s)
		}
	}
}

// ended tells a session's room that the session or its turn has ended, and reports whether the room took note.
func (o *office) ended(ctx context.Context, s sessions.Session, m mail.Moment) bool {
	t := mail.Turn{Moment: m, Session: s.ID, Client: s.Client, Process: s.Process, Over: true, Quiet: true,
		Held: func() map[mail.ID]bool { return hook.Holds(s.Client, s.Transcript, m == mail.SessionEnd) }}
	_, err := o.own(ctx, s.Room, s.Agent).Turn(ctx, t)
	if err != nil {
		o.log.Warn("the end of a session or a turn is not noted", "agent", s.Agent, "moment", m, "err", err)
	}
	return err == nil
}

// run looks after an open room until ctx ends.
func (e *entry) run(ctx context.Context, log *slog.Logger, n *notify.Notifier) {
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(func() {
		if err := e.ringer.Run(ctx); err != nil {
			log.Error("nobody is woken", "err", err)
		}
	})
	running.Go(func() {
		if err := n.Follow(ctx, e.room); err != nil && ctx.Err() == nil {
			log.Error("the person is not told of mail", "err", err)
		}
	})
	if e.clustered {
		running.Go(func() { e.followBridges(ctx, log) })
		running.Go(func() { e.announce(ctx, n) })
	}
	_ = e.room.Run(ctx) // it logs what goes wrong and ends only with ctx
}

// announce has the other machines know for whom this one has doors, and that it can tell the person, until it has or
// ctx ends.
func (e *entry) announce(ctx context.Context, n *notify.Notifier) {
	doors := e.doors.For()
	if n.Able() {
		doors = append(doors, mail.ToUser)
	}
	for e.room.Announce(ctx, doors) != nil {
		select {
		case <-ctx.Done():
			return
		case <-time.After(announcePause):
		}
	}
}

// announcePause is how long the servers are left alone that could not be written to.
const announcePause = 5 * time.Second

// wakes reports whether the configuration has doors for a room: somebody may have to be woken there.
func (o *office) wakes(name mail.RoomName) bool { return o.doors(name).Len() > 0 }

// quiet reports whether nobody is to be woken, and the person not told.
func (o *office) quiet() bool {
	quiet := !o.notify.Busy() && (o.far == nil || len(o.offers()) == 0)
	o.each(func(e *entry) { quiet = quiet && e.ringer.Quiet() })
	return quiet
}
