package sessions

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/text/unicode/norm"

	"pennypost/internal/base/process"
	"pennypost/internal/mail"
)

// Session has the facts that hooks report about a live session: how to reach it from here. It is kept in memory and in
// one file of this machine (see Keep), and neither it nor its secrets can be printed, logged or encoded.
type Session struct {
	Room  mail.RoomName
	Agent mail.Name

	Client  string // as hooks name it: claude, codex, …
	ID      string // the client's own id
	Dir     string
	Version string // of the client; "": not known
	Process string // the client's program, as package process names it: its pid and start time
	// Window is the program that shows the session, where several share Process; "": not known, or the same as
	// Process.
	Window string
	Mode   string // the permission mode, as the client names it

	Socket Secret // where the session takes messages: a Unix socket, or the address of an HTTP server
	Token  Secret // the token that it expects first

	Tmux string // the variable TMUX of the session: its tmux server
	Pane string // the variable TMUX_PANE
	Home string // the client's own directory, if known

	Transcript string // the file with the client's record of the conversation

	Broken bool // its user interrupted its last turn

	Held    bool      // do not write to its socket: its user would be asked for permission
	Working bool      // it is in a turn, according to hooks
	Heard   time.Time // the time of the last hook in a turn

	// Joined is the connection that reported the session, and with which it ends; "": a hook reported it.
	Joined string

	Over bool // it has ended
}

// Gone reports whether the session is known to have ended with its program, or with its window.
func (s *Session) Gone() bool { return ended(s.Process) || ended(s.Window) }

// Terminal returns the program that has the session's terminal.
func (s *Session) Terminal() string { return cmp.Or(s.Window, s.Process) }

// String hides the session.
func (s Session) String() string { return "session of " + string(s.Agent) }

// Format hides the session, whatever the verb.
func (s Session) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// LogValue hides the session.
func (s Session) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalJSON refuses: a session is only valid at this moment on this machine.
func (s Session) MarshalJSON() ([]byte, error) { return nil, errors.New("a session is not written") }

// Secret is text that does not print, not even as part of a printed struct: that is why it is behind a pointer.
type Secret struct{ text *string }

// NewSecret returns text as a Secret.
func NewSecret(text string) Secret {
	if text == "" {
		return Secret{}
	}
	return Secret{&text}
}

// String hides the secret.
func (s Secret) String() string { return "(secret)" }

// Format hides the secret, whatever the verb.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// LogValue hides the secret.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText refuses.
func (s Secret) MarshalText() ([]byte, error) { return nil, errors.New("a secret is not written") }

// None reports whether the secret is empty.
func (s Secret) None() bool { return s.text == nil }

// Reveal returns the text.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// List has the latest session of each agent on this machine that hooks have reported. The zero value is empty and
// ready; it is safe for concurrent use.
type List struct {
	mu     sync.Mutex
	latest map[Seat]Session // a session that is over has only the facts needed to resume it
	file   string           // the file that stores them; "": none
	saving *time.Timer      // nil: nothing to write
}

// Seat is an agent in a room, which has one session at a time.
type Seat struct {
	Room  mail.RoomName
	Agent mail.Name
}

// SeatOf returns the seat of an agent, whose name it normalises (NFC).
func SeatOf(room mail.RoomName, agent mail.Name) Seat {
	return Seat{room, mail.Name(norm.NFC.String(string(agent)))}
}

// Put stores the facts about a session. The facts about another session of the agent are forgotten. For the same
// session, known facts stay where s is empty, because not every hook is told everything.
//
// If a session's program cannot be seen when the session reports it (in a container, for example), we can never say
// that it has ended.
func (l *List) Put(s Session) {
	if ended(s.Process) || process.IsUnseen(s.Process) {
		s.Process = ""
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.latest == nil {
		l.latest = make(map[Seat]Session)
	}
	if s.Working {
		s.Heard = time.Now()
	}
	at := SeatOf(s.Room, s.Agent)
	old, ok := l.latest[at]
	if ok && !old.Over && old.Client == s.Client && old.ID == s.ID &&
		(s.Process == "" || old.Process == "" || old.Process == s.Process) {
		s.fill(&old)
	}
	l.latest[at] = s
	if !s.same(&old) {
		l.changed()
	}
}

// Filled returns s with the known facts about the same session.
func (l *List) Filled(s Session) Session {
	if old := l.Look(s.Room, s.Agent); !old.Over && old.Client == s.Client && old.ID == s.ID {
		s.fill(&old)
	}
	return s
}

// same reports whether two sessions are equal, including their secrets, but ignoring Heard.
func (s *Session) same(old *Session) bool {
	a, b := *s, *old
	if a.Socket.Reveal() != b.Socket.Reveal() || a.Token.Reveal() != b.Token.Reveal() {
		return false
	}
	a.Socket, a.Token, b.Socket, b.Token = Secret{}, Secret{}, Secret{}, Secret{}
	a.Heard, b.Heard = time.Time{}, time.Time{}
	return a == b
}

// fill copies known facts to the empty fields of s. A socket goes with its token, and a pane with its server.
func (s *Session) fill(old *Session) {
	for _, f := range []struct{ to, from *string }{{&s.Dir, &old.Dir}, {&s.Version, &old.Version},
		{&s.Process, &old.Process}, {&s.Mode, &old.Mode}, {&s.Home, &old.Home},
		{&s.Transcript, &old.Transcript}} {
		if *f.to == "" {
			*f.to = *f.from
		}
	}
	if s.Socket.None() {
		s.Socket, s.Token = old.Socket, old.Token
	}
	if s.Pane == "" {
		s.Tmux, s.Pane = old.Tmux, old.Pane
	}
}

// Get returns the live session of an agent.
func (l *List) Get(room mail.RoomName, agent mail.Name) (Session, bool) {
	at := SeatOf(room, agent)
	l.mu.Lock()
	s, ok := l.latest[at]
	l.mu.Unlock()
	if !ok || s.Over || s.Gone() {
		return Session{}, false
	}
	return s, true
}

// Killed returns the sessions whose program or window has ended without a hook, and records them as over. Sessions of
// connections are left out: they end with their connection.
func (l *List) Killed() (killed []Session) {
	l.mu.Lock()
	all := slices.Collect(maps.Values(l.latest))
	l.mu.Unlock()
	for _, s := range all {
		if !s.Over && s.Joined == "" && s.Gone() && l.replace(s, s.remains()) {
			killed = append(killed, s)
		}
	}
	return killed
}

// replace replaces a session by another, unless it has changed since.
func (l *List) replace(old, s Session) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := SeatOf(old.Room, old.Agent)
	if l.latest[at] != old {
		return false
	}
	l.latest[at] = s
	l.changed()
	return true
}

// Program is an agent with the program of its session on this machine.
type Program struct {
	Room    mail.RoomName
	Agent   mail.Name
	Process string // of the live session; "": none, or not known
}

// Programs returns the agents that have had a session here, according to hooks, in no order.
func (l *List) Programs() []Program {
	l.mu.Lock()
	all := slices.Collect(maps.Values(l.latest))
	l.mu.Unlock()
	out := make([]Program, len(all))
	for i := range all {
		s, _ := l.Get(all[i].Room, all[i].Agent)
		out[i] = Program{all[i].Room, all[i].Agent, s.Process}
	}
	return out
}

// In returns the agent of a session that is not known to be over and that runs in one of programs; "": none. It
// ignores sessions of the room in not; "": it ignores none.
func (l *List) In(programs []string, not mail.RoomName) mail.Name {
	l.mu.Lock()
	defer l.mu.Unlock()
	for at, s := range l.latest {
		if at.Room != not && !s.Over && s.Process != "" && slices.Contains(programs, s.Process) {
			return s.Agent
		}
	}
	return ""
}

// Dirs returns the directories of the sessions, live or over, of an agent of a room, or of all of its agents.
func (l *List) Dirs(room mail.RoomName, agent mail.Name) (dirs []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for at, s := range l.latest {
		if at.Room == room && (agent == "" || at == SeatOf(room, agent)) {
			dirs = append(dirs, s.Dir)
		}
	}
	return dirs
}

// Others returns the directories of the live sessions of a room, except those of one agent.
func (l *List) Others(room mail.RoomName, agent mail.Name) (dirs []string) {
	var found []Session
	l.mu.Lock()
	for at, s := range l.latest {
		if at.Room == room && at != SeatOf(room, agent) && !s.Over && s.Dir != "" {
			found = append(found, s)
		}
	}
	l.mu.Unlock()
	for _, s := range found {
		if !s.Gone() {
			dirs = append(dirs, s.Dir)
		}
	}
	return dirs
}

// Of returns the agent of a client's session, "" if none is known, and whether the session is known to be over.
func (l *List) Of(room mail.RoomName, id string) (agent mail.Name, over bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for at, s := range l.latest {
		if at.Room == room && s.ID == id {
			agent, over = s.Agent, s.Over
		}
	}
	return agent, over
}

// Find returns a client's session, whichever agent has it, and whether it is live according to hooks; the zero value
// if it is not known.
func (l *List) Find(client, id string) (found Session, lives bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.latest {
		if s.Client == client && s.ID == id && !lives {
			found, lives = s, !s.Over
		}
	}
	return found, lives
}

// Left returns the session of an agent in a window, and whether it has been left: its window was closed, or is window
// and the session is not working.
func (l *List) Left(room mail.RoomName, agent mail.Name, window string) (s Session, left bool) {
	s = l.Look(room, agent)
	return s, !s.Over && s.Window != "" && (ended(s.Window) || s.Window == window && !s.Working)
}

// Live returns the sessions of a client that are not known to have ended.
func (l *List) Live(client string) (found []Session) {
	l.mu.Lock()
	for _, s := range l.latest {
		if s.Client == client && !s.Over {
			found = append(found, s)
		}
	}
	l.mu.Unlock()
	return slices.DeleteFunc(found, func(s Session) bool { return s.Gone() })
}

// Working returns the live sessions of a client that are in a turn.
func (l *List) Working(client string) (found []Session) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.latest {
		if s.Client == client && s.Working && !s.Over {
			found = append(found, s)
		}
	}
	return found
}

// Rested records that a session is not in a turn, unless it has changed since s was returned.
func (l *List) Rested(s Session) {
	rested := s
	rested.Working = false
	l.replace(s, rested)
}

// Gone returns the latest session of an agent if its program is known to have ended. A hook for the session's end is
// not enough: the program may run another session, or be still exiting.
func (l *List) Gone(room mail.RoomName, agent mail.Name) (s Session, known, gone bool) {
	l.mu.Lock()
	s, known = l.latest[SeatOf(room, agent)]
	l.mu.Unlock()
	if !known || !s.Gone() {
		return Session{}, known, false
	}
	return s.remains(), true, true
}

// Typed returns the time of the last keystroke in the terminal of an agent's live session; zero: not known.
func (l *List) Typed(room mail.RoomName, agent mail.Name) mail.Time {
	s, ok := l.Get(room, agent)
	if at := process.LastInput(s.Terminal()); ok && !at.IsZero() {
		return mail.TimeOf(at)
	}
	return 0
}

// Look returns an agent's latest session, live or not; the zero value if none is known.
func (l *List) Look(room mail.RoomName, agent mail.Name) Session {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.latest[SeatOf(room, agent)]
}

// Move gives an agent's session its new name.
func (l *List) Move(room mail.RoomName, from, to mail.Name) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s, ok := l.latest[SeatOf(room, from)]; ok {
		delete(l.latest, SeatOf(room, from))
		s.Agent = to
		l.latest[SeatOf(room, to)] = s
		l.changed()
	}
}

// Drop records that an agent's session has ended, if it is this one, and forgets how to reach it.
func (l *List) Drop(room mail.RoomName, agent mail.Name, id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if at := SeatOf(room, agent); l.latest[at].ID == id && id != "" {
		s := l.latest[at]
		l.latest[at] = s.remains()
		l.changed()
	}
}

// remains returns the facts that are kept about an ended session.
func (s *Session) remains() Session {
	return Session{Room: s.Room, Agent: s.Agent, Client: s.Client, ID: s.ID, Dir: s.Dir, Process: s.Process,
		Window: s.Window, Over: true}
}

// String returns the number of sessions.
func (l *List) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return fmt.Sprintf("%d sessions", len(l.latest))
}

// Format writes the number of sessions, whatever the verb.
func (l *List) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, l.String()) }

// LogValue returns the number of sessions.
func (l *List) LogValue() slog.Value { return slog.StringValue(l.String()) }
