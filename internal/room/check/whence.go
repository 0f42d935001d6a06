package check

import (
	"cmp"
	"slices"
	"strings"

	"pennypost/internal/base/process"
	"pennypost/internal/mail"
	"pennypost/internal/room/fold"
)

// Whence describes where a process runs that names the agent it speaks for, as far as the system tells.
type Whence struct {
	// Programs are the process and its ancestors, the nearest first, spelled as sessions spell theirs. Nil: unknown,
	// and the name it gives is believed, unless Guessed, or Doubtful where a process is out of sight.
	Programs []string
	// Opens is the one of Programs for whose session the process speaks: it is a client's hook, or its MCP server.
	// "": it only speaks.
	Opens string
	// Means is how the user is known, if the user is the caller.
	Means mail.Means
	// Pass belongs to the machine that vouches for the caller. Nil: this one does.
	Pass *mail.Pass
	// Doubtful reports whether the process may be an agent's: it runs in a client, or cannot be told from a process
	// that an agent left running. It is called if no session is known there. Nil: the system tells nothing.
	Doubtful func() bool
	// Session is the client's session that the process opens, or in which it says it runs; "": it does not say. For
	// programs that run several agents (threads) it decides whose process it is.
	Session string
	// Thread returns the session in whose shell one of Programs started the process, "" if unknown. Its answer
	// overrides the process's own claim, for threads too.
	Thread func(program string) string
	// Many says that the client runs several sessions in one program, which its hooks tell apart by Session.
	Many bool
	// Joins says that it is an MCP server, which is told about a refusal; a hook must not fail its client.
	Joins bool
	// Elsewhere is the agent of the session that one of Programs has in another room, if none has one in this room.
	Elsewhere mail.Name
	// Guessed says that the caller's name was made up from where the process runs: there must be a session of it.
	Guessed bool
}

// Itself returns the process itself, "" if unknown.
func (w *Whence) Itself() string {
	if len(w.Programs) == 0 {
		return ""
	}
	return w.Programs[0]
}

// MaySpeak finds out whether a process may speak as the caller.
func (v *View) MaySpeak(w Whence) error {
	seats, program := v.Seats(w.Programs)
	if v.IsUser() {
		if len(seats) > 0 {
			return v.notThere(seats)
		}
		return nil
	}
	m := v.Agent(v.Who)
	leads := v.Leads(v.Who)
	switch {
	case w.Opens != "":
		return v.open(w, seats, program)
	case m != nil && slices.Contains(seats, m):
		return v.inThread(m, seats, program, w)
	case len(seats) == 0:
		return v.outside(m, leads, w)
	case len(seats) == 1 && seats[0].Base == v.Who:
		v.Who = seats[0].Name // NAME means NAME-2 where that runs
		return nil
	case m == nil && !leads:
		v.Parent = seats[0].Name
		return nil
	case m != nil && (v.descends(m, seats) || !leads && v.free(m, w.Programs)):
		return nil
	}
	return v.notThere(seats)
}

// outside refuses a process that runs in no session of the room, unless it may still speak as m.
func (v *View) outside(m *fold.Member, leads bool, w Whence) error {
	switch {
	case w.Guessed:
		return mail.Errorf(mail.Denied,
			"this shell belongs to a session unknown in room %s, so its agent is unknown: nothing was done. A "+
				"session becomes known when its hooks run or it uses a tool of Pennypost; otherwise add "+
				"--as NAME", v.Room)
	case w.Elsewhere != "" && !v.mayFrom(w):
		return v.notFrom(w.Elsewhere)
	}
	leads, elsewhere := v.apart(m, leads, w)
	if (leads || elsewhere) && w.Doubtful != nil && w.Doubtful() {
		return mail.Errorf(mail.Denied,
			"this process runs inside an agent's client or without a person's terminal, and %s is another agent: "+
				"nothing was done. A client's own hooks and MCP server identify it: pennypost install CLIENT --as "+
				"NAME. A program that runs on its own needs a token: pennypost agents token '%s'",
			v.Who, v.Who)
	}
	return nil
}

// mayFrom reports whether a session of another room, that of w.Elsewhere, may speak here as the caller: as a
// newcomer, as the agent of that name if no session of this room ever was it, or as an agent that the person lets any
// session be, wherever it runs.
func (v *View) mayFrom(w Whence) bool {
	bearer := v.Bearer(v.Who)
	switch {
	case v.Leads(v.Who):
		return false
	case bearer == nil || v.free(bearer, w.Programs):
		return true
	case bearer.Name == w.Elsewhere && bearer.Session == "" && bearer.Left == "":
		return true
	}
	return slices.ContainsFunc(v.Grants, func(g mail.Grant) bool {
		return g.Agent == v.Who && g.Room == "" && g.Dir == "" && g.Client == "" && g.By == mail.User && !g.Refused
	})
}

func (v *Asker) notFrom(agent mail.Name) error {
	return mail.Errorf(mail.Denied,
		"this process runs inside the session of %s in another room, and %s is another agent of room %s: nothing "+
			"was done. Use --as '%s', or write to '%s@%s'. The user may allow it, except for an orchestrator: "+
			"pennypost agents grant '%s' --room %s", agent, v.Who, v.Room, agent, v.Who, v.Room, v.Who, v.Room)
}

// apart reports whether a caller without a known session is an orchestrator, and whether it runs in another program.
// If the caller is out of sight, as from another container, so is the program of an agent that runs there.
func (v *View) apart(m *fold.Member, leads bool, w Whence) (lead, elsewhere bool) {
	if m == nil || m.Process == "" || !m.Live(v.Now) {
		return leads, false
	}
	if len(w.Programs) == 0 {
		return leads && v.runs(m), v.runs(m)
	}
	return leads, !slices.ContainsFunc(w.Programs, func(p string) bool { return process.Is(m.Process, p) })
}

// inThread refuses a process of a program that runs several agents, unless it says that it is in m's thread: the
// other threads' commands run below the same program.
func (v *View) inThread(m *fold.Member, seats []*fold.Member, program string, w Whence) error {
	threads := slices.DeleteFunc(slices.Clone(seats), func(o *fold.Member) bool {
		return !hasThreads(o.Client) || o.Session == "" || !o.Live(v.Now)
	})
	if w.Opens != "" || len(threads) < 2 || !slices.Contains(threads, m) {
		return nil
	}
	session := w.Session
	if w.Thread != nil {
		session = cmp.Or(w.Thread(program), session)
	}
	if m.Session == session {
		return nil
	}
	// a subagent has its own session, which no agent has
	if session != "" && !slices.ContainsFunc(threads, func(o *fold.Member) bool { return o.Session == session }) {
		return nil
	}
	return mail.Errorf(mail.Denied,
		"%d agents share this program, and this process does not run in the thread of %s: nothing was done. Use "+
			"Pennypost's tools, or a command that the thread itself runs, without --as", len(threads), v.Who)
}

// hasThreads reports whether a client runs several agents in one program, and tells each command and each tool call
// which of them it is for (Codex 0.169.0).
func hasThreads(client string) bool { return client == "codex" }

// Seats returns the agents of the innermost program that any is bound to, in the order of their names, and the
// program. A session binds one even after it has ended, because its program may continue; a connection binds one only
// while it lasts: an MCP server that a person tries out in a terminal belongs to the terminal. An editor is not such
// a program: a person's terminals run in it too, and clients in them.
func (v *View) Seats(programs []string) (seats []*fold.Member, program string) {
	for _, program := range programs {
		for _, m := range v.Programs[program] {
			if m.Listed() && v.Here(m) && (m.Left != "" || m.Session != "" && !v.disconnected(m, programs)) {
				seats = append(seats, m)
			}
		}
		if len(seats) > 0 {
			slices.SortFunc(seats, fold.ByName)
			return seats, program
		}
	}
	return nil, ""
}

// free reports whether any session may speak as m if m runs in no program but one of programs: m belongs to a
// workspace, which is a directory, or to a protocol whose sessions name themselves.
func (v *View) free(m *fold.Member, programs []string) bool {
	return (v.Workspace(m.Name) >= 0 || v.protocolOf(m).Name != "") &&
		(!v.runs(m) || v.Here(m) && slices.Contains(programs, m.Process))
}

// disconnected reports whether m's session is a connection whose MCP server, not one of programs, has ended, as by
// kill -9.
func (v *View) disconnected(m *fold.Member, programs []string) bool {
	return m.Joined && m.Server != "" && !slices.Contains(programs, m.Server) && v.Rules.Ended(m.Server)
}

func (v *View) descends(m *fold.Member, seats []*fold.Member) bool {
	return slices.ContainsFunc(seats, func(seat *fold.Member) bool { return v.Below(m, seat.Name) })
}

// notThere names the sessions in which the process runs.
func (v *View) notThere(seats []*fold.Member) error {
	names := make([]string, len(seats))
	for i, m := range seats {
		names[i] = string(m.Name)
	}
	return mail.Errorf(mail.Denied,
		"this process runs inside the session of %s and cannot act as %s: nothing was done. Use --as '%s', or send "+
			"%[2]s a message: pennypost send --to '%[2]s'. A program that also runs %[2]s needs its token, which "+
			"the user creates with: pennypost agents token '%[2]s'",
		strings.Join(names, " or "), v.Who, names[0])
}

// open finds out whose session a client's hook or MCP server speaks for if it names the caller. Once a program has a
// session, naming another agent changes nothing: the session keeps its agent. A new session may take a name that has
// no session, and one started from within another's session only a free name: the bearer of any other name did not
// start it.
func (v *View) open(w Whence, seats []*fold.Member, program string) error {
	bearer := v.Bearer(v.Who)
	switch {
	case len(seats) > 0 && w.Opens == program:
		return v.goOn(w, seats, bearer)
	case len(seats) > 0:
		return v.nest(seats)
	case bearer != nil && w.Elsewhere != "" && !v.AgentGranted(v.Who):
		return v.notFrom(w.Elsewhere)
	case v.Leads(v.Who) && !v.mayOpen(v.Who):
		return notGranted(v.Who)
	}
	return nil
}

// goOn finds out which of a program's sessions it is; that one keeps its agent. bearer is the agent with the name
// that it gives now.
func (v *View) goOn(w Whence, seats []*fold.Member, bearer *fold.Member) error {
	seat := seatOf(seats, w, v.Agent(v.Who))
	switch {
	case seat == nil && v.Leads(v.Who):
		return v.notThere(seats)
	case seat == nil:
		return nil
	case w.Joins && seat.Base != v.Who && bearer != nil && bearer != seat:
		return v.notThere(seats)
	}
	v.stay(seat)
	return nil
}

// seatOf returns the agent whose session of a program it is; nil if it is a new one, of a program that runs several.
func seatOf(seats []*fold.Member, w Whence, caller *fold.Member) *fold.Member {
	for _, m := range seats {
		if w.Session != "" && (m.Session == w.Session || m.Left == w.Session) {
			return m
		}
	}
	switch {
	case slices.Contains(seats, caller):
		return caller
	case w.Many:
		return nil
	}
	return seats[0]
}

// stay makes a session keep its agent, whatever name it gives now.
func (v *View) stay(seat *fold.Member) {
	if seat.Name != v.Who && seat.Base != v.Who {
		v.Claimed = v.Who
	}
	v.Who = seat.Name
}

// nest gives a client that was started from within another's session its own name: the one that it gives, if no one
// bore it before or it is the outer session's child, or that with a number.
func (v *View) nest(outer []*fold.Member) error {
	base := v.Who
	for n := 2; base != mail.Orchestrator && n <= maxNested; n++ {
		m := v.Bearer(v.Who)
		switch {
		case m == nil && v.CheckNew(v.Who, nil) == nil && !v.LeadGranted(v.Who):
			v.Parent = outer[0].Name
			return nil
		case m != nil && m.Listed() && (v.descends(m, outer) && !v.runs(m) || v.AgentGranted(m.Name)):
			return nil
		case v.Leads(base):
			return v.notThere(outer)
		}
		v.Who = fold.Numbered(base, n)
	}
	v.Who = base
	return v.notThere(outer)
}

// maxNested is how many numbers are tried for such a name: more sessions than anyone starts from within one.
const maxNested = 1000
