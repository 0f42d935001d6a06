package door

import (
	"strconv"
	"time"

	"pennypost/internal/base/process"
	"pennypost/internal/office/wake/sessions"
)

// claudeNotes is what Claude Code writes of a running session in sessions/PID.json. It is documented nowhere: version
// and socket were seen in 2.1.251, the status in 2.1.330.
type claudeNotes struct {
	Version string `json:"version"`
	Socket  string `json:"messagingSocketPath"`
	Status  string `json:"status"`          // busy, idle, …
	Since   int64  `json:"statusUpdatedAt"` // when Status was entered, in milliseconds since 1970
}

// notes returns what Claude Code has noted of a session, if that can be had. The file outlives a session that was
// killed, so it must name the socket.
func (c *ClaudeSocket) notes(s *sessions.Session) (claudeNotes, bool) {
	var n claudeNotes
	pid := process.Number(s.Process)
	if pid == 0 || !c.read(&n, "sessions", strconv.Itoa(pid)+".json") || n.Socket != s.Socket.Reveal() {
		return claudeNotes{}, false
	}
	return n, true
}

// settled is how long nothing was heard of a turn that is believed to have been broken off: the hooks with which one
// ends, or the next begins, run while the status changes.
const settled = 2 * time.Second

// Busy reports whether Claude Code notes of a session that it is in a turn. While its hook for a prompt runs it is
// idle, unless the prompt was typed into a turn (seen in 2.1.330).
func (c *ClaudeSocket) Busy(s *sessions.Session) bool {
	n, ok := c.notes(s)
	return ok && n.Status == "busy"
}

// Waits reports whether Claude Code notes of a session that it is at a dialog; known is false if nobody can tell.
// It notes that a few milliseconds before the dialog is drawn, and is busy or idle again as soon as it is answered.
func (c *ClaudeSocket) Waits(s *sessions.Session) (waits, known bool) {
	n, ok := c.notes(s)
	return n.Status == "waiting", ok
}

// BrokenOff returns the sessions that are in a turn as far as hooks have told, but idle as Claude Code notes
// itself. When a person breaks a turn off, it runs no hook (seen in 2.1.330: no Stop, and no idle_prompt in 75 s).
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
