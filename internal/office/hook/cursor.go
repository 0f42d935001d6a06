package hook

import (
	"pennypost/internal/mail"
	"pennypost/internal/wire"
)

// cursor is Cursor (cursor.com/docs/agent/hooks; others' observations of 2.x). A prompt hook takes no context. To
// keep a turn going, Cursor sends a message as if it had been typed, at most five times in a row unless the person
// allows more.
func cursor() Client {
	return Client{Name: "cursor", Editor: true, read: readCursor, answer: answerCursor}
}

func readCursor(typed string, in input) Event {
	e := in.event("cursor", typed, moments{
		"sessionstart":         {mail.SessionStart, carries},
		"beforesubmitprompt":   {mail.TurnStart, again},
		"pretooluse":           {mail.BeforeTool, carries},
		"beforeshellexecution": {mail.BeforeTool, carries},
		"beforemcpexecution":   {mail.BeforeTool, carries},
		"posttooluse":          {mail.AfterTool, carries},
		"stop":                 {mail.TurnEnd, carries},
		"sessionend":           {mail.SessionEnd, 0},
	}, "window_close", "user_close")
	status := in.text("status")
	e.Over = e.Moment == mail.TurnEnd && status != "" && status != "completed"
	return e
}

func answerCursor(e *Event, s speech) Answer {
	switch s.kind {
	case tell:
		return Answer{Out: object(struct {
			Context string `json:"additional_context"`
		}{s.text})}
	case forbid:
		return Answer{Out: object(struct {
			May   string `json:"permission"`
			User  string `json:"user_message"`
			Agent string `json:"agent_message"`
		}{"deny", s.text, s.text})}
	case goOn:
		return Answer{Out: object(struct {
			Message string `json:"followup_message"`
		}{s.text})}
	}
	return Answer{Out: wire.Silence(e.Client, e.Name)}
}
