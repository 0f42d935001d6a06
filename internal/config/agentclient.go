package config

import (
	"strings"

	"pennypost/internal/mail"
)

// AgentClient looks in an environment ("NAME=value") for a variable that shows that a process is an agent's and not
// its owner's, and returns the variable's name. It guards against confusion, not against malice: a process of the same
// user that wants to pass for the user always finds a way, for example the operator's token.
func AgentClient(environ []string) (variable string, found bool) {
	for _, v := range environ {
		name, value, _ := strings.Cut(v, "=")
		if value != "" && marksAgent(name) {
			return name, true
		}
	}
	return "", false
}

// WithoutAgent returns an environment without what AgentClient looks for: that of a post office which a command inside
// an agent's process starts, and which belongs to no agent. Some of these variables are keys to the agent's session.
func WithoutAgent(environ []string) []string {
	var out []string
	for _, v := range environ {
		if name, _, _ := strings.Cut(v, "="); !marksAgent(name) {
			out = append(out, v)
		}
	}
	return out
}

// markers are variables that agent clients set on the processes they start, as far as observed (research/clients.md;
// the AI_AGENT convention of vercel/detect-agent).
func markers() []string {
	return []string{
		"PENNYPOST_AGENT", "AI_AGENT", "CLAUDECODE", "CLAUDE_PID", "GEMINI_CLI", "CURSOR_AGENT", "OPENCODE",
		"AMP_CURRENT_THREAD_ID", "ANTIGRAVITY_AGENT", "AUGMENT_AGENT",
	}
}

func marksAgent(name string) bool {
	for _, m := range markers() {
		if name == m {
			return true
		}
	}
	for _, prefix := range []string{"CLAUDE_CODE_", "CODEX_", "GEMINI_", "COPILOT_", "OPENCODE_"} {
		if setting, ok := strings.CutPrefix(name, prefix); ok && !isSetting(setting) {
			return true
		}
	}
	return false
}

// isSetting tells what people put into their own shell's profile ("GEMINI_API_KEY", "CODEX_HOME",
// "CLAUDE_CODE_USE_BEDROCK"), and what an editor sets in its terminals for them ("CLAUDE_CODE_SSE_PORT"), from what a
// client sets on its children. Who has such a variable is still the person.
func isSetting(rest string) bool {
	for _, word := range []string{"USE_", "DISABLE_", "ENABLE_", "MAX_", "SKIP_", "SSE_PORT", "OAUTH_",
		"EXPERIMENTAL_"} {
		if strings.HasPrefix(rest, word) {
			return true
		}
	}
	for _, word := range []string{"_KEY", "HOME", "CONFIG", "_DIR", "MODEL", "_URL", "_MS", "_TIMEOUT", "_PROJECT",
		"_EDITOR"} {
		if strings.HasSuffix(rest, word) && rest != "PROJECT_DIR" {
			return true
		}
	}
	return strings.HasPrefix(rest, "CONFIG")
}

// RefuseUser is the answer to an agent's process that would act as the user.
func RefuseUser(variable string) error {
	return mail.Errorf(mail.Denied,
		"this runs inside an agent's process (%s is set there), and an agent cannot act as the user", variable)
}
