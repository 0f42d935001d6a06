package door

import (
	"bytes"
	"strings"
	"time"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
	"pennypost/internal/office/wake/sessions"
)

// CopilotDialog is what the log of a session says of its dialogs.
type CopilotDialog struct {
	// Stands says that one stands, or that a hook runs which comes before one.
	Stands bool
	// How the last one ended, and when; "": none has.
	How mail.DialogOutcome
	At  time.Time
	// Nobody says that nobody was there who could have been asked, as in a headless run.
	Nobody bool
}

// Asks returns what the log of a session says of its dialogs; known is false if it does not tell.
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
			continue // the rest of a long line, or one that is being written; a result is text with some tools
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
	d.Stands = len(open) > 0
	return d
}

// copilotEvent is a line of such a log, as far as it is about dialogs.
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
