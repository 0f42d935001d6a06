package hook

import (
	"strings"

	"pennypost/internal/mail"
)

// export has the commands that a session's shell runs speak as the agent of the session, which only the post office knows: it may be NAME-2. Claude Code
// runs a file of its hooks' before each command (CLAUDE_ENV_FILE, code.claude.com/docs/en/hooks).
func (h *Hook) export(e *Event, agent mail.Name) {
	path := h.Getenv("CLAUDE_ENV_FILE")
	if h.Append == nil || path == "" || e.Client != "claude" || e.Moment != mail.SessionStart || h.Getenv("PENNYPOST_AGENT") == string(agent) {
		return
	}
	line := "export PENNYPOST_AGENT='" + strings.ReplaceAll(string(agent), "'", `'\''`) + "'\n"
	if err := h.Append(path, line); err != nil {
		h.debug("the shell is not told who the agent is: " + err.Error())
	}
}
