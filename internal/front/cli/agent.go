package cli

import (
	"os"
	"strconv"
	"strings"

	"pennypost/internal/config"
	"pennypost/internal/mail"
	"pennypost/internal/office/hook"
)

// clients are the programs that we know to tell apart: by the name of their process, or by a variable that they set.
func clients() []struct{ name, comm, prefix string } {
	return []struct{ name, comm, prefix string }{
		{"claude", "claude", "CLAUDE"}, {"codex", "codex", "CODEX_"}, {"gemini", "gemini", "GEMINI_"},
		{"cursor", "cursor", "CURSOR_"},
		{"copilot", "copilot", "COPILOT_"}, {"opencode", "opencode", "OPENCODE"},
		{"vscode", "code", ""}, // whose variables are in all of its terminals
	}
}

// clientName returns the program that started this one, "" if it is not known.
func (a *app) clientName() string {
	// The parent first: a variable may be inherited from a client further up.
	comm, _ := os.ReadFile("/proc/" + strconv.Itoa(os.Getppid()) + "/comm")
	for _, c := range clients() {
		if strings.HasPrefix(string(comm), c.comm) {
			return c.name
		}
	}
	for _, c := range clients() {
		for _, v := range a.env.Environ {
			if c.prefix != "" && strings.HasPrefix(v, c.prefix) {
				return c.name
			}
		}
	}
	return ""
}

// agent returns the agent that a session of a client is, for its hooks and for its MCP server alike: who the command
// line or the environment names, else whom the project's file names, else one whose name the next session in this
// project has again.
func (a *app) agent(client string) (mail.Name, error) {
	if a.as != "" || a.env.Getenv("PENNYPOST_AGENT") != "" {
		return a.who()
	}
	dir := hook.ProjectDir(client, a.env.Getenv)
	if dir == "" {
		dir = a.env.Dir
	}
	return config.FindAgent(client, dir)
}
