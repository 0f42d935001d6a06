package hook

import (
	"pennypost/internal/base/wording"
	"pennypost/internal/mail"
)

// shell returns a line that makes the commands of a session's shell speak as the session's agent. Only the post
// office knows its name, which may be NAME-2. Claude Code runs a file that its hooks write before each command
// (CLAUDE_ENV_FILE, code.claude.com/docs/en/hooks).
func (c *Call) shell(e *Event, agent mail.Name) string {
	if c.Getenv("CLAUDE_ENV_FILE") == "" || e.Client != "claude" || e.Moment != mail.SessionStart || agent == "" ||
		c.Getenv("PENNYPOST_AGENT") == string(agent) {
		return ""
	}
	return "export PENNYPOST_AGENT=" + wording.Shell(string(agent)) + "\n"
}
