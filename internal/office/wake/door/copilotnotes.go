package door

import (
	"bytes"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"pennypost/internal/base/durable"
	"pennypost/internal/base/jsonx"
	"pennypost/internal/office/wake/sessions"
)

// CopilotNotes reads the log that the Copilot CLI keeps of each session in session-state/ID/events.jsonl. It is
// documented only in the types of its SDK: seen in 1.0.102.
type CopilotNotes struct {
	Sessions *sessions.List
	Dir      string // COPILOT_HOME
}

// Log returns the log of a session.
func (c *CopilotNotes) Log(id string) string {
	return filepath.Join(c.Dir, "session-state", filepath.Base(id), "events.jsonl")
}

// BrokenOff returns the sessions that are in a turn according to hooks, but at rest according to their log. An
// interrupted turn runs no hook: after Ctrl-C, or Esc in a dialog, the log says abort; after Esc, Esc the whole turn
// is removed from it.
func (c *CopilotNotes) BrokenOff(now time.Time) (stopped []sessions.Session) {
	for _, s := range c.Sessions.Working("copilot") {
		if now.Sub(s.Heard) >= settled && c.rests(&s) {
			stopped = append(stopped, s)
		}
	}
	return stopped
}

// maxTail is how many bytes at the end of a log are read. Most lines are far shorter.
const maxTail = 256 << 10

// rests reports whether a session's log, if written since the last hook, ends outside a turn.
func (c *CopilotNotes) rests(s *sessions.Session) bool {
	text, info, err := c.tail(s)
	return err == nil && !info.ModTime().Before(s.Heard) && endsAtRest(text, int64(len(text)) == info.Size())
}

// tail returns the end of a session's log.
func (c *CopilotNotes) tail(s *sessions.Session) ([]byte, fs.FileInfo, error) {
	if c.Dir == "" || !threadID().MatchString(s.ID) { // the id names a directory
		return nil, nil, fs.ErrNotExist
	}
	f, err := durable.Open(c.Log(s.ID))
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	from := max(0, info.Size()-maxTail)
	text, err := io.ReadAll(io.NewSectionReader(f, from, info.Size()-from))
	return text, info, err
}

// endsAtRest reports whether no turn is running at the end of a log. whole says that log is the complete file.
func endsAtRest(log []byte, whole bool) bool {
	for _, line := range slices.Backward(bytes.Split(bytes.TrimSpace(log), []byte("\n"))) {
		var event struct {
			Type string `json:"type"`
			Sub  string `json:"agentId"` // the subagent of the event
			Data struct {
				Hook string `json:"hookType"`
			} `json:"data"`
		}
		if jsonx.UnmarshalLenient(line, &event) != nil {
			return false // a line being written, or the rest of a long one
		}
		if event.Sub != "" {
			continue
		}
		switch event.Type {
		case "abort", "assistant.turn_end":
			return true
		case "assistant.turn_start", "user.message":
			return false
		}
		switch event.Data.Hook {
		case "sessionStart", "userPromptSubmitted", "userPromptTransformed": // a prompt is being submitted
			return false
		}
	}
	return whole
}
