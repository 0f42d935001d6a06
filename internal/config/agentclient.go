package config

import (
	"slices"
	"strings"

	"pennypost/internal/mail"
)

// AgentClient looks in an environment ("NAME=value") for a variable that shows that a process is an agent's and not
// its owner's, and returns the variable's name. It guards against confusion, not against malice: a process of the
// same user that wants to pass as the user always finds a way, for example the operator's token.
func AgentClient(environ []string) (variable string, found bool) {
	for _, v := range environ {
		name, value, _ := strings.Cut(v, "=")
		if value != "" && marksAgent(name) {
			return name, true
		}
	}
	return "", false
}

// WithoutAgent returns an environment without the variables that AgentClient looks for: for a post office that a
// command inside an agent's process starts, and that belongs to no agent. Some of these variables are keys to the
// agent's session.
func WithoutAgent(environ []string) []string {
	var out []string
	for _, v := range environ {
		if name, _, _ := strings.Cut(v, "="); !marksAgent(name) {
			out = append(out, v)
		}
	}
	return out
}

// markers are variables that agents' clients set on the processes they start, as seen in their hooks, servers and
// shells (Claude Code 2.1.330, Codex 0.169.0, Gemini CLI 0.61.0, Copilot CLI 1.0.102, opencode 1.18.33, pi 0.73.1;
// the AI_AGENT convention of vercel/detect-agent). They are listed one by one: other variables with the same prefixes
// are mostly settings, which people set in their own shells.
func markers() []string {
	return []string{
		"PENNYPOST_AGENT", "AI_AGENT",
		"CLAUDECODE", "CLAUDE_PID", "CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_CHILD_SESSION", "CLAUDE_CODE_ENTRYPOINT",
		"CLAUDE_CODE_SESSION_ATTENDED", "CLAUDE_CODE_MESSAGING_SOCKET", "CLAUDE_CODE_MESSAGING_TOKEN",
		"CLAUDE_CODE_CHILD_NOTES_DIR",
		"CODEX_THREAD_ID", "CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED", "CODEX_CI",
		"GEMINI_CLI", "GEMINI_SESSION_ID", "GEMINI_PROJECT_DIR",
		"COPILOT_CLI", "COPILOT_AGENT_SESSION_ID",
		"OPENCODE", "OPENCODE_CLIENT", "OPENCODE_PID",
		"CURSOR_AGENT", "QWEN_CODE", "AMP_CURRENT_THREAD_ID", "ANTIGRAVITY_AGENT", "AUGMENT_AGENT",
		"ANTIGRAVITY_CONVERSATION_ID", // of Antigravity CLI 1.2.7's hooks, as reported by others
		"PI_CODING_AGENT",
	}
}

func marksAgent(name string) bool { return slices.Contains(markers(), name) }

// ShellSession returns the session in whose shell a process with an environment runs, in its client's terms, and that
// client; "" if there is none. These clients put the id into the environment of every command (Codex 0.169.0, Copilot
// CLI 1.0.102).
func ShellSession(getenv func(string) string) (id, client string) {
	for _, v := range []struct{ name, client string }{
		{"CODEX_SESSION_ID", "codex"}, // also of a subagent's command, and a subagent is no agent here
		{"CODEX_THREAD_ID", "codex"},
		{"COPILOT_AGENT_SESSION_ID", "copilot"},
	} {
		if id := getenv(v.name); id != "" {
			return id, v.client
		}
	}
	return "", ""
}

// RefuseUser returns the error for an agent's process that tries to act as the user.
func RefuseUser(variable string) error {
	return mail.Errorf(mail.Denied,
		"this runs inside an agent's process (%s is set there), and an agent cannot act as the user", variable)
}

// SharedServer reports whether a command line is that of the server that Codex windows share (codex app-server
// --listen unix:// …, 0.169.0). Its children have the variables of the window that started it, whichever window they
// serve.
func SharedServer(args []string) bool {
	i := slices.Index(args, "app-server")
	return i > 0 && slices.ContainsFunc(args[i:], func(a string) bool { return strings.HasPrefix(a, "--listen") })
}

// Getenv returns the value of a variable in an environment ("NAME=value"), "" if unset.
func Getenv(environ []string, name string) string {
	for _, v := range environ {
		if value, ok := strings.CutPrefix(v, name); ok && strings.HasPrefix(value, "=") {
			return value[1:]
		}
	}
	return ""
}

// AgentProgram returns the agent's client that a program is, given its possible names; "" if it is none that we know.
// It is for clients that set no variable on their children; those of editors (Cline, Windsurf) type into the
// terminals of the editor, and cannot be distinguished from the person there.
func AgentProgram(names []string) string {
	for _, n := range names {
		if slices.Contains(
			[]string{"claude", "codex", "gemini", "agy", "qwen", "opencode", "copilot", "cursor-agent", "goose",
				"goosed", "cline", "aider", "amp", "crush", "droid", "kiro-cli", "openhands", "auggie"},
			n,
		) {
			return n
		}
	}
	return ""
}
