package cli

import (
	"cmp"
	"os"
	"strconv"
	"strings"

	"pennypost/internal/base/process"
	"pennypost/internal/config"
	"pennypost/internal/mail"
)

// clients are the programs that we know to tell apart: by the name of their process, or by a variable that they set.
func clients() []struct{ name, comm, prefix string } {
	return []struct{ name, comm, prefix string }{
		{"claude", "claude", "CLAUDE"}, {"codex", "codex", "CODEX_"}, {"gemini", "gemini", "GEMINI_"},
		{"qwen", "qwen", "QWEN_"},
		{"cursor", "cursor", "CURSOR_"},
		{"copilot", "copilot", "COPILOT_"}, {"opencode", "opencode", "OPENCODE"},
		{"pi", "pi\n", "PI_CODING_AGENT="},
		{"cline", "cline", "CLINE_"},
		{"vscode", "code", ""}, // whose variables are in all of its terminals
	}
}

// ClientName returns the program that started this one, "" if it is not known.
func (a *App) ClientName() string {
	// The parent first: a variable may be inherited from a client further up.
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

// inShell returns the agent of the client in whose shell this process runs, if the client says to every command that
// it is there, but not which session it is of: the post office knows that by the process. "": it runs in none.
func (a *App) inShell() (mail.Name, error) {
	for _, c := range []struct{ name, variable string }{{"gemini", "GEMINI_CLI"}, {"qwen", "QWEN_CODE"}} {
		if a.Env.Getenv(c.variable) != "" {
			return config.FindAgent(c.name, cmp.Or(process.SetterDir(c.variable), a.Env.Dir))
		}
	}
	return "", nil
}

// Agent returns which agent a client's session is, for its hooks and for its MCP server alike: the one that the
// command line or the environment names, else the one that the project's file names, else one with a name that the
// next session in this project will have again.
func (a *App) Agent(client string) (mail.Name, error) {
	if a.As != "" || a.Env.Getenv("PENNYPOST_AGENT") != "" {
		return a.Who()
	}
	dir := config.ClientDir(client, a.Env.Getenv)
	if dir == "" {
		dir = a.Env.Dir
	}
	return config.FindAgent(client, dir)
}

// session returns the session in whose shell this process runs, as its client calls it, and that client; "" if none
// says so. These clients put the id into the environment of every command (Codex 0.169.0, Copilot CLI 1.0.102): it
// says which of several sessions of a project this is.
func (a *App) session() (id, client string) {
	for _, v := range []struct{ name, client string }{
		{"CODEX_SESSION_ID", "codex"}, // of a subagent's command too, which is no agent
		{"CODEX_THREAD_ID", "codex"},
		{"COPILOT_AGENT_SESSION_ID", "copilot"},
	} {
		if id := a.Env.Getenv(v.name); id != "" {
			return id, v.client
		}
	}
	return "", ""
}
