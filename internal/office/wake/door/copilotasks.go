package door

import (
	"bytes"
	"strings"
	"time"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
	"pennypost/internal/office/wake/sessions"
)

// CopilotDialog is the state of a session's dialogs according to its log.
type CopilotDialog struct {
	// Open says that a dialog is open, or that the hook before one is running.
	Open bool
	// How and when the last dialog ended; "": none has.
	How mail.DialogOutcome
	At  time.Time
	// Nobody says that no person could be asked, as in a headless run.
	Nobody bool
}

// Asks returns the state of a session's dialogs from its log; known is false if the log is not readable.
func (c *CopilotNotes) Asks(s *sessions.Session) (d CopilotDialog, known bool) {
	text, _, err := c.tail(s)
	if err != nil {
		return d, false
	}
	return asking(text), true
}

// asking is Asks for the end of a log.
func asking(log []byte) (d CopilotDialog) {
	open := make(map[string]bool)
	for line := range bytes.Lines(log) {
		var e copilotEvent
		if jsonx.UnmarshalLenient(line, &e) != nil {
			continue // the rest of a long line, or one being written; some tools have a text as result
		}
		switch {
		case e.Type == "permission.requested":
			open[e.Data.Request] = true
		case e.Type == "permission.completed":
			delete(open, e.Data.Request)
			d.How, d.At, d.Nobody = outcomeOf(e.Data.Result.Kind), e.At, e.Data.Source == "unattended_fallback"
		case e.Type == "tool.execution_start" && e.Data.Tool == "ask_user":
			open[e.Data.Use] = true
		case e.Type == "tool.execution_complete" && open[e.Data.Use]:
			delete(open, e.Data.Use)
			d.How, d.At, d.Nobody = mail.DialogAnswered, e.At, false
		case e.Type == "hook.start" && e.Data.Of == "permissionRequest":
			open[e.Data.Hook] = true
		case e.Type == "hook.end":
			delete(open, e.Data.Hook)
		case e.Type == "abort":
			clear(open)
			d.How, d.At, d.Nobody = mail.DialogEnded, e.At, false
		}
	}
	d.Open = len(open) > 0
	return d
}

// copilotEvent has the members of a log line that concern dialogs.
type copilotEvent struct {
	Type string    `json:"type"`
	At   time.Time `json:"timestamp"`
	Data struct {
		Request string `json:"requestId"`
		Use     string `json:"toolCallId"`
		Tool    string `json:"toolName"`
		Hook    string `json:"hookInvocationId"`
		Of      string `json:"hookType"`
		Source  string `json:"decisionSource"`
		Result  struct {
			Kind string `json:"kind"`
		} `json:"result"`
	} `json:"data"`
}

func outcomeOf(kind string) mail.DialogOutcome {
	switch {
	case strings.HasPrefix(kind, "approved"):
		return mail.DialogAllowed
	case strings.HasPrefix(kind, "denied"):
		return mail.DialogDenied
	}
	return mail.DialogEnded
}
