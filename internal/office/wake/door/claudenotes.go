package door

import (
	"strconv"
	"time"

	"pennypost/internal/base/process"
	"pennypost/internal/office/wake/sessions"
)

// claudeNotes is Claude Code's record of a running session in sessions/PID.json. It is undocumented: version and
// socket were seen in 2.1.251, the status in 2.1.330.
type claudeNotes struct {
	Version string `json:"version"`
	Socket  string `json:"messagingSocketPath"`
	Status  string `json:"status"`          // busy, idle, …
	Since   int64  `json:"statusUpdatedAt"` // when Status began, in milliseconds since 1970
}

// notes returns Claude Code's record of a session, if it is readable. The file outlives a killed session, so it must
// name the socket.
func (c *ClaudeSocket) notes(s *sessions.Session) (claudeNotes, bool) {
	var n claudeNotes
	pid := process.Number(s.Process)
	if pid == 0 || !c.read(&n, "sessions", strconv.Itoa(pid)+".json") || n.Socket != s.Socket.Reveal() {
		return claudeNotes{}, false
	}
	return n, true
}

// settled is how long a session must have been silent before its turn may count as interrupted: the hooks that end a
// turn, or begin the next, run while the status changes.
const settled = 2 * time.Second

// Busy reports whether Claude Code records a session as in a turn. While the hook for a prompt runs, the status is
// idle, unless the prompt was typed into a turn (seen in 2.1.330).
func (c *ClaudeSocket) Busy(s *sessions.Session) bool {
	n, ok := c.notes(s)
	return ok && n.Status == "busy"
}

// Waits reports whether Claude Code records a session as being at a dialog; known is false if there is no record. The
// record appears a few milliseconds before the dialog is drawn, and returns to busy or idle as soon as the dialog is
// answered.
func (c *ClaudeSocket) Waits(s *sessions.Session) (waits, known bool) {
	n, ok := c.notes(s)
	return n.Status == "waiting", ok
}

// BrokenOff returns the sessions that are in a turn according to hooks, but idle according to Claude Code. An
// interrupted turn runs no hook (seen in 2.1.330: no Stop, and no idle_prompt in 75 s).
func (c *ClaudeSocket) BrokenOff(now time.Time) (stopped []sessions.Session) {
	for _, s := range c.Sessions.Working("claude") {
		if now.Sub(s.Heard) < settled {
			continue
		}
		n, ok := c.notes(&s)
		if ok && n.Status == "idle" && time.UnixMilli(n.Since).After(s.Heard.Add(-settled/2)) {
			stopped = append(stopped, s)
		}
	}
	return stopped
}
