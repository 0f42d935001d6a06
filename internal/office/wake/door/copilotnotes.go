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

// CopilotNotes is the log that the Copilot CLI keeps of each session in session-state/ID/events.jsonl. It is
// documented nowhere but in the types of its SDK: seen in 1.0.102.
type CopilotNotes struct {
	Sessions *sessions.List
	Dir      string // COPILOT_HOME
}

// Log returns the log of a session.
func (c *CopilotNotes) Log(id string) string {
	return filepath.Join(c.Dir, "session-state", filepath.Base(id), "events.jsonl")
}

// BrokenOff returns the sessions that are in a turn as far as hooks have told, but at rest by their log.
// When a person breaks a turn off, no hook is run: with Ctrl-C, or Esc in a dialog, the log says abort; with Esc, Esc
// the whole turn is taken out of it.
func (c *CopilotNotes) BrokenOff(now time.Time) (stopped []sessions.Session) {
	for _, s := range c.Sessions.Working("copilot") {
		if now.Sub(s.Heard) >= settled && c.rests(&s) {
			stopped = append(stopped, s)
		}
	}
	return stopped
}

// maxTail is how much of the end of a log is looked at. Most lines are far shorter.
const maxTail = 256 << 10

// rests reports whether the log of a session, written since a hook was heard, ends in no turn.
func (c *CopilotNotes) rests(s *sessions.Session) bool {
	text, info, err := c.tail(s)
	return err == nil && !info.ModTime().Before(s.Heard) && endsAtRest(text, int64(len(text)) == info.Size())
}

// tail returns the end of the log of a session.
func (c *CopilotNotes) tail(s *sessions.Session) ([]byte, fs.FileInfo, error) {
	if c.Dir == "" || !threadID().MatchString(s.ID) { // which names a directory
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

// endsAtRest reports whether no turn goes on where a log ends. whole says that it is there from its beginning.
func endsAtRest(log []byte, whole bool) bool {
	for _, line := range slices.Backward(bytes.Split(bytes.TrimSpace(log), []byte("\n"))) {
		var event struct {
			Type string `json:"type"`
			Sub  string `json:"agentId"` // the subagent that it is of
			Data struct {
				Hook string `json:"hookType"`
			} `json:"data"`
		}
		if jsonx.UnmarshalLenient(line, &event) != nil {
			return false // a line that is being written, or the rest of a long one
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
		case "sessionStart", "userPromptSubmitted", "userPromptTransformed": // a prompt is on its way
			return false
		}
	}
	return whole
}
