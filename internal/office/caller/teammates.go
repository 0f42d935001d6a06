package caller

import (
	"cmp"
	"context"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"pennypost/internal/mail"
	"pennypost/internal/office/dialect/claudeteams"
	"pennypost/internal/office/hook"
	"pennypost/internal/office/reach"
	"pennypost/internal/wire"
)

// Several agents of one client may share a process: the teammates of Claude Code's teams. Its hooks report who makes
// each tool call, the MCP server is told the call's id, and the team's files list the teammates.

// maxToolUses is how many tool calls are remembered. A hook reports one right before the call, or before a person is
// asked to allow it.
const maxToolUses = 4096

// maxApart is how many programs of teammates are remembered before ended ones are forgotten.
const maxApart = 256

// toolUses knows who makes which tool call.
type toolUses struct {
	mu    sync.Mutex
	by    map[string]toolUse
	order []string // the oldest first
	apart map[program]mail.Name
}

// program is a program with a teammate of its own, as package process names it. Its MCP server does not know that.
type program struct {
	room mail.RoomName
	name string
}

// in returns the teammate that has one of programs for itself; "" if there is none.
func (u *toolUses) in(room mail.RoomName, programs ...string) mail.Name {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, p := range programs {
		if n := u.apart[program{room, p}]; n != "" {
			return n
		}
	}
	return ""
}

// settle records the program of a teammate. alive reports whether a program is running.
func (u *toolUses) settle(room mail.RoomName, name string, teammate mail.Name, alive func(string) bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.apart == nil {
		u.apart = make(map[program]mail.Name)
	}
	if len(u.apart) >= maxApart {
		maps.DeleteFunc(u.apart, func(p program, _ mail.Name) bool { return !alive(p.name) })
	}
	u.apart[program{room, name}] = teammate
}

// toolUse is a tool call, as a hook reported it beforehand.
type toolUse struct {
	room         mail.RoomName
	agent        mail.Name // the session's agent
	session      string
	teams        string // the client's directory of teams
	worker, kind string // the subagent; "": the session itself
}

// Note records a hook's report. It is hook.Call.Use.
func (u *toolUses) Note(room mail.RoomName, agent mail.Name, e *hook.Event) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.by == nil {
		u.by = make(map[string]toolUse)
	}
	if _, again := u.by[e.ToolUse]; !again {
		u.order = append(u.order, e.ToolUse)
	}
	u.by[e.ToolUse] = toolUse{room, agent, e.Session.ID, teamsDir(e.Session.Script), e.Worker, e.Kind}
	if len(u.order) > maxToolUses {
		delete(u.by, u.order[0])
		u.order = slices.Delete(u.order, 0, 1)
	}
}

func (u *toolUses) find(id string) (toolUse, bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	use, ok := u.by[id]
	return use, ok
}

// teamsDir returns Claude Code's directory of teams, beside the transcript of a session.
func teamsDir(transcript string) string {
	if dir, _, ok := strings.Cut(filepath.ToSlash(transcript), "/projects/"); ok && filepath.IsAbs(dir) {
		return filepath.Join(filepath.FromSlash(dir), "teams")
	}
	return filepath.Join(reach.ClaudeDir(), "teams")
}

// Teammate returns the agent of a Claude Code hook's session, if that is a teammate with its own session; "" if not.
func (o *Rooms) Teammate(ctx context.Context, room mail.RoomName, pane string, e *hook.Event) (mail.Name, error) {
	if e.Client != "claude" || e.Sub || pane == "" || e.Kind == "" {
		return "", nil
	}
	for _, t := range claudeteams.Teams(teamsDir(e.Session.Script)) {
		member := t.InPane(pane, e.Kind)
		if member == "" {
			continue
		}
		roster, err := mail.Roster(ctx, o.Own(ctx, room, mail.User))
		if err != nil {
			return "", err
		}
		name, err := mail.ParseName(string(t.Called(roster, member)))
		if i := slices.IndexFunc(roster, func(a mail.Agent) bool { return a.Session == e.Session.ID }); i >= 0 {
			name = roster[i].Name
		}
		if err == nil && e.Session.Process != "" {
			o.ToolUses.settle(room, e.Session.Process, name, o.Set.Alive)
		}
		return name, err
	}
	return "", nil
}

// member returns the agent that makes a call of a client: the caller, or the teammate that shares its process. An
// error says that it cannot be told.
func (v *Room) member(ctx context.Context, user mail.Registrar, caller mail.Name) (mail.Name, error) {
	if p := v.ID.Peer(); p != nil {
		if name := v.office.ToolUses.in(v.name, p.Programs()...); name != "" {
			return name, nil
		}
	}
	use, known := v.office.ToolUses.find(v.ID.ToolUse())
	if known && (use.room != v.name || use.agent != caller) {
		known = false // it is another agent's
	}
	session, dir := use.session, use.teams
	if !known {
		session, _ = v.ID.Session()
		dir = teamsDir("")
	}
	for _, t := range claudeteams.Teams(dir) {
		inside := t.Inside()
		if !t.LedBy(session) || len(inside) == 0 {
			continue
		}
		who := t.Worker(use.worker, use.kind)
		switch {
		case !known || use.worker != "" && who == "":
			return "", v.unattributed(caller, &t, inside)
		case who == "":
			return caller, nil
		}
		return v.seat(ctx, user, &t, who)
	}
	return caller, nil
}

// seat returns the agent of a teammate without a session.
func (v *Room) seat(ctx context.Context, user mail.Registrar, t *claudeteams.Team, member string) (mail.Name,
	error) {
	roster, err := mail.Roster(ctx, user)
	if err != nil {
		return "", err
	}
	name := t.Called(roster, member)
	if i := slices.IndexFunc(roster, func(a mail.Agent) bool { return a.Name == name }); i >= 0 &&
		roster[i].Session != "" {
		return "", mail.Errorf(mail.Denied,
			"the teammate %s of %s has the same name as an agent with a session in room %s, and cannot act for it: "+
				"nothing was done. Ask the lead to start it under another name", member,
			t.Name,
			v.name)
	}
	return mail.ParseName(string(name))
}

// unattributed says why it is not known which agent calls.
func (v *Room) unattributed(caller mail.Name, t *claudeteams.Team, inside []string) error {
	why := "no hook has reported who called the tool, or a subagent called it. Try again; if that does not help, " +
		"tell your user to run: pennypost install claude"
	if v.ID.ToolUse() == wire.ShellUse {
		why = "a shell command does not show which. Use Pennypost's tools, such as send_message; the lead may also " +
			"add --as '" + string(caller) + "'"
	}
	return mail.Errorf(mail.Denied,
		"nothing was done: %s may be the lead of %s or a teammate that shares its process (%s), and %s",
		cmp.Or(caller, "this"), t.Name, strings.Join(inside, ", "), why)
}
