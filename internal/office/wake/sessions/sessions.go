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

// Session is what the hooks of a client tell of a live session: what it takes to get at it from here. It is kept in
// memory and in one file of this machine (see Keep), and neither it nor its secrets can be printed, logged or encoded.
type Session struct {
	Room  mail.RoomName
	Agent mail.Name

	Client  string // as hooks call it: claude, codex, …
	ID      string // the client's own
	Dir     string
	Version string // of the client; "" if nobody told
	Process string // the client's program, as package process names it: a number and when it started
	// Window is the program in which the session's person sits, where several of them share Process; "": it is not
	// known, or Process is that.
	Window string
	Mode   string // of its permissions, as the client calls it

	Socket Secret // where the session takes messages: a Unix socket, or the address of an HTTP server
	Token  Secret // what that wants to see first

	Tmux string // the variable TMUX of the session: which server of tmux it runs under
	Pane string // the variable TMUX_PANE
	Home string // the client's own directory, where sessions tell it

	Transcript string // the file in which the client keeps the conversation

	Broken bool // its user broke its last turn off

	Held    bool      // its socket is not to be written to: its user would be asked whether to let that in
	Working bool      // it is in a turn, as far as hooks have told
	Heard   time.Time // when a hook told so last

	// Joined is the connection that told of the session, where no hook has: it goes with that. "": a hook has.
	Joined string

	Over bool // it has ended
}

// Gone reports whether the session is known to have ended with its program, or with its window.
func (s *Session) Gone() bool { return ended(s.Process) || ended(s.Window) }

// Terminal returns the program that has the session's terminal.
func (s *Session) Terminal() string { return cmp.Or(s.Window, s.Process) }

// String does not tell.
func (s Session) String() string { return "session of " + string(s.Agent) }

// Format does not tell, whatever the verb.
func (s Session) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// LogValue does not tell.
func (s Session) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalJSON refuses: a session is of this moment and this machine, and of no use to any file.
func (s Session) MarshalJSON() ([]byte, error) { return nil, errors.New("a session is not written") }

// Secret is text that does not print, not even as part of something that is printed whole: that is why it is held by a
// pointer.
type Secret struct{ text *string }

// NewSecret hides a text.
func NewSecret(text string) Secret {
	if text == "" {
		return Secret{}
	}
	return Secret{&text}
}

// String does not tell.
func (s Secret) String() string { return "(secret)" }

// Format does not tell, whatever the verb.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// LogValue does not tell.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText refuses.
func (s Secret) MarshalText() ([]byte, error) { return nil, errors.New("a secret is not written") }

// None reports whether there is none.
func (s Secret) None() bool { return s.text == nil }

// Reveal returns the text.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// List is the latest sessions of the agents of this machine, as far as hooks have reported them. The zero value
// is empty and ready; it may be used concurrently.
type List struct {
	mu     sync.Mutex
	latest map[Seat]Session // of one that is over only what it takes to resume it
	file   string           // where they are kept; "": nowhere
	saving *time.Timer      // nil: all is written
}

// Seat is an agent of a room, which has one session at a time.
type Seat struct {
	Room  mail.RoomName
	Agent mail.Name
}

// SeatOf returns the seat of an agent, whose name may be spelled with combining characters.
func SeatOf(room mail.RoomName, agent mail.Name) Seat {
	return Seat{room, mail.Name(norm.NFC.String(string(agent)))}
}

// Put notes what is known of a session. If the agent had another session before, what was known of that is forgotten.
// If it is the same session, what was known stays where s is empty, because not every hook is told everything.
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

// Filled returns s with what was known of the same session before.
func (l *List) Filled(s Session) Session {
	if old := l.Look(s.Room, s.Agent); !old.Over && old.Client == s.Client && old.ID == s.ID {
		s.fill(&old)
	}
	return s
}

// same reports whether two sessions are alike, their secrets included, whenever a hook was heard of them last.
func (s *Session) same(old *Session) bool {
	a, b := *s, *old
	if a.Socket.Reveal() != b.Socket.Reveal() || a.Token.Reveal() != b.Token.Reveal() {
		return false
	}
	a.Socket, a.Token, b.Socket, b.Token = Secret{}, Secret{}, Secret{}, Secret{}
	a.Heard, b.Heard = time.Time{}, time.Time{}
	return a == b
}

// fill takes from what was known what s does not say. A socket and its token come together, and so do a pane and its
// server.
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

// Killed returns the sessions whose program, or whose window, has ended without a hook that said so, and takes them
// for over from then on. Connections end by themselves.
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

// replace puts one session in the place of another, unless more was told of that since.
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

// Program is what of an agent's session runs on this machine.
type Program struct {
	Room    mail.RoomName
	Agent   mail.Name
	Process string // of the session that lives; "": it is over, or not known
}

// Programs returns the agents that have had a session here, as far as hooks have told, in no order.
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

// In returns the agent of a session that lives, as far as is known, and that one of programs runs; "": none does.
// Those of one room are left out; "": of none.
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

// Dirs returns where the sessions of an agent of a room work or did, or those of all of its agents.
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

// Others returns where the live sessions of a room work, but for those of one agent.
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

// Of returns the agent that has a session of the client's, "" if none is known, and whether it is known to be over.
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

// Find returns a client's session, whichever agent has it, and whether it lives as far as hooks have told; the zero
// value if none has told of it.
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

// Left returns the session of an agent that sat in a window, if that was closed or another session is to begin there:
// one that is at work is not left then.
func (l *List) Left(room mail.RoomName, agent mail.Name, window string) (s Session, left bool) {
	s = l.Look(room, agent)
	return s, !s.Over && s.Window != "" && (ended(s.Window) || s.Window == window && !s.Working)
}

// Live returns the sessions that run in a client and are not known to have ended.
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

// Working returns the live sessions that run in a client and are in a turn.
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

// Rested notes that a session is in no turn, unless more was told of it since s was returned.
func (l *List) Rested(s Session) {
	rested := s
	rested.Working = false
	l.replace(s, rested)
}

// Gone returns the latest session of an agent if its program is known to have ended. That it said goodbye is not
// enough: the program may have gone on to another session, or be about to end.
func (l *List) Gone(room mail.RoomName, agent mail.Name) (s Session, known, gone bool) {
	l.mu.Lock()
	s, known = l.latest[SeatOf(room, agent)]
	l.mu.Unlock()
	if !known || !s.Gone() {
		return Session{}, known, false
	}
	return s.remains(), true, true
}

// Typed returns when somebody last typed into the terminal of an agent's live session; zero: that is not known.
func (l *List) Typed(room mail.RoomName, agent mail.Name) mail.Time {
	s, ok := l.Get(room, agent)
	if at := process.LastInput(s.Terminal()); ok && !at.IsZero() {
		return mail.TimeOf(at)
	}
	return 0
}

// Look returns what is known of an agent's latest session, whether it lives or not; the zero value if nothing is.
func (l *List) Look(room mail.RoomName, agent mail.Name) Session {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.latest[SeatOf(room, agent)]
}

// Move has what is known of an agent's session go with its new name.
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

// Drop notes that an agent's session has ended, if it is this one. What it takes to get at it is forgotten.
func (l *List) Drop(room mail.RoomName, agent mail.Name, id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if at := SeatOf(room, agent); l.latest[at].ID == id && id != "" {
		s := l.latest[at]
		l.latest[at] = s.remains()
		l.changed()
	}
}

// remains is what is kept of a session that has ended.
func (s *Session) remains() Session {
	return Session{Room: s.Room, Agent: s.Agent, Client: s.Client, ID: s.ID, Dir: s.Dir, Process: s.Process,
		Window: s.Window, Over: true}
}

// String tells how many there are.
func (l *List) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return fmt.Sprintf("%d sessions", len(l.latest))
}

// Format tells how many there are, whatever the verb.
func (l *List) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, l.String()) }

// LogValue tells how many there are.
func (l *List) LogValue() slog.Value { return slog.StringValue(l.String()) }
