package cli

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"pennypost/internal/base/process"
	"pennypost/internal/config"
	"pennypost/internal/mail"
	"pennypost/internal/wire"
	"pennypost/internal/wire/client"
)

// clients are the client programs we can recognize: by the name of their process, or by a variable that they set.
func clients() []struct{ name, comm, prefix string } {
	return []struct{ name, comm, prefix string }{
		{"claude", "claude", "CLAUDE"}, {"codex", "codex", "CODEX_"}, {"gemini", "gemini", "GEMINI_"},
		{"agy", "agy", "ANTIGRAVITY_"},
		{"qwen", "qwen", "QWEN_"},
		{"cursor", "cursor", "CURSOR_"},
		{"copilot", "copilot", "COPILOT_"}, {"opencode", "opencode", "OPENCODE"},
		{"pi", "pi\n", "PI_CODING_AGENT="},
		{"cline", "cline", "CLINE_"},
		{"vscode", "code", ""}, // its variables are in all of its terminals
	}
}

// ClientName returns the program that started this one, "" if it is unknown.
func (a *App) ClientName() string {
	// The parent first: a variable may be inherited from a client further up the process tree.
	comm, _ := os.ReadFile("/proc/" + strconv.Itoa(os.Getppid()) + "/comm")
	for _, c := range clients() {
		if strings.HasPrefix(string(comm), c.comm) {
			return c.name
		}
	}
	for _, c := range clients() {
		for _, v := range a.Env.Environ {
			if c.prefix != "" && strings.HasPrefix(v, c.prefix) {
				return c.name
			}
		}
	}
	return ""
}

// inShell returns the name that the agent of the client in whose shell this process runs has if it is the only one in
// its directory; "" if it runs in none. It recognizes clients that identify themselves to every command. The post
// office finds the agent: by the session, or by the process if the client does not name the session.
func (a *App) inShell() (mail.Name, error) {
	if id, client := a.Session(); id != "" {
		return a.Agent(client)
	}
	for _, c := range []struct{ name, variable string }{{"gemini", "GEMINI_CLI"}, {"qwen", "QWEN_CODE"}} {
		if a.Env.Getenv(c.variable) != "" {
			return a.agentIn(c.name, cmp.Or(process.SetterDir(c.variable), a.Env.Dir))
		}
	}
	return "", nil
}

// LeaveServer discards the variables that this process got from a Codex server that serves several windows, if there
// is one: they are those of the window that started the server. The post office knows the session's own.
func (a *App) LeaveServer() {
	tree := process.Tree(os.Getpid())
	for i := range tree {
		if config.AgentProgram(tree[i].Names()) != "codex" {
			continue
		}
		if !config.SharedServer(tree[i].Args()) {
			return
		}
		given := process.Environ(tree[i].PID)
		a.server = cmp.Or(config.Getenv(given, "CODEX_HOME"), filepath.Join(config.Getenv(given, "HOME"), ".codex"))
		a.Env.Environ = slices.DeleteFunc(slices.Clone(a.Env.Environ), func(v string) bool {
			name, _, _ := strings.Cut(v, "=")
			return name == "PENNYPOST_AGENT" || name == "PENNYPOST_ROOM"
		})
		return
	}
}

// Agent returns a client session's agent, for its hooks and for its MCP server alike: the one that the command line
// or the environment names, else the one that the project's file names, else one with a name that the next session in
// this project will have again.
func (a *App) Agent(client string) (mail.Name, error) {
	if a.As != "" || a.Env.Getenv("PENNYPOST_AGENT") != "" {
		return a.Who()
	}
	dir := config.ClientDir(client, a.Env.Getenv)
	if dir == "" {
		dir = a.Env.Dir
	}
	return a.agentIn(client, dir)
}

// agentIn returns the agent of a client's session in a directory if no one gave it a name.
func (a *App) agentIn(client, dir string) (mail.Name, error) {
	p, err := a.findPlace("", func(name string) string {
		if name == "PENNYPOST_AGENT" {
			return ""
		}
		return a.Env.Getenv(name)
	}, client, dir)
	session, _ := a.Session()
	if err != nil || p.File.Agent == "" && (a.server == "" || session == "") {
		return p.Free, err
	}
	at, err := a.place(&p, client, session, false)
	return at.Agent, err
}

// findPlace is config.FindPlace, on a machine that may have been admitted for one room only, or as one agent.
func (a *App) findPlace(as string, getenv func(string) string, client, dir string) (config.Place, error) {
	p, err := config.FindPlace(a.Room, as, getenv, client, dir)
	if err != nil {
		return p, err
	}
	home, err := config.FindHome(a.Env.Getenv)
	if err != nil {
		return p, err
	}
	if r, err := config.LoadRemote(home); err == nil && r != nil { // the code that uses it reports its errors
		p.LetIn(r.Only(), r.Agent)
	}
	return p, nil
}

// Begin returns the room and the name of a client's session that begins, for its MCP server. It is RoomName and
// Agent, but it asks the user for rights that the session cannot take. session is the client's id of it, if known.
func (a *App) Begin(client, session string) (mail.RoomName, mail.Name, error) {
	dir := cmp.Or(config.ClientDir(client, a.Env.Getenv), a.Env.Dir)
	p, err := a.findPlace(a.As, a.Env.Getenv, client, dir)
	if err != nil {
		return "", "", err
	}
	if (p.Plain() || p.Agent == mail.User) && (a.server == "" || session == "") {
		room, err := a.RoomName()
		if err != nil {
			return "", "", err
		}
		name, err := a.Agent(client)
		return room, name, err
	}
	if p.Agent != "" {
		a.ForModel()
	}
	at, err := a.place(&p, client, session, true)
	return at.Room, at.Agent, err
}

// place asks the post office which room and agent a session has, given those that a project's file, a command line
// and its window name. If no post office answers, it is the named room, else the directory's own.
func (a *App) place(p *config.Place, program, session string, starts bool) (wire.Placed, error) {
	asked := wire.Place{Client: program, Room: p.Room, Agent: p.Agent, FileRoom: p.File.Room, FileAgent: p.File.Agent,
		Own: p.Own, Free: p.Free, Home: p.Home, Starts: starts}
	if a.server != "" {
		asked.Session, asked.SessionHome = session, a.server
	}
	if at, ok := a.placed[asked]; ok {
		return at, nil
	}
	office, err := a.local(true, client.Options{}) // the question is no agent's
	if err != nil {
		return wire.Placed{}, err
	}
	defer office.Close()
	at, err := office.Place(context.Background(), &asked)
	if mail.CodeOf(err) == mail.Unavailable {
		return wire.Placed{Room: cmp.Or(p.Room, p.Own), Agent: cmp.Or(p.Agent, p.Free)}, nil
	}
	if err == nil {
		if a.placed == nil {
			a.placed = make(map[wire.Place]wire.Placed)
		}
		a.placed[asked] = at
	}
	return at, err
}

// shell returns the session in whose shell this process runs, and wire.ShellUse if several agents may run in it: a
// command of Claude Code that does not name its speaker may be the session's own or a teammate's.
func (a *App) shell() (session, use string) {
	session, _ = a.Session()
	if id := a.Env.Getenv("CLAUDE_CODE_SESSION_ID"); session == "" && id != "" && a.As == "" && !a.Beside {
		return id, wire.ShellUse
	}
	return session, ""
}

// Session returns the session in whose shell this process runs, by its client's id, and that client; "" if no
// variable names one. It tells apart several sessions of a project.
func (a *App) Session() (id, client string) { return config.ShellSession(a.Env.Getenv) }

// Record records the grants that a person gave with a command that set a client up. If no post office can record
// them, the setup is still valid: a card asks when the client starts.
func (a *App) Record(ctx context.Context, room mail.RoomName, grants ...mail.Grant) error {
	office, err := a.Post()
	if err != nil {
		return err
	}
	svc, err := office.Room(ctx, room, mail.User)
	if err != nil {
		return err
	}
	for _, g := range grants {
		if _, err := svc.Grant(ctx, g); err != nil {
			return err
		}
	}
	return nil
}
