package hook

import (
	"strings"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
)

// gemini is the Gemini CLI (the real one, 0.61.0; docs/hooks/reference.md of google-gemini/gemini-cli). Keeping a turn
// going is a prompt of its own there.
//
// Esc runs hooks as if nothing had happened. While the model thinks, it is AfterAgent: what that says reaches no
// model, and the whole turn is taken back, which shows in the transcript only. In a command it is AfterTool, whose
// text is thrown away, and no AfterAgent follows. In a dialog it is nothing; but that it asks is told.
func gemini() Client {
	return Client{Name: "gemini", read: readGemini, look: lookGemini, answer: answerGemini}
}

func readGemini(typed string, in input) Event {
	e := in.event("gemini", typed, moments{
		"sessionstart": {mail.SessionStart, carries},
		"beforeagent":  {mail.TurnStart, carries | again},
		"beforetool":   {mail.BeforeTool, carries},
		"aftertool":    {mail.AfterTool, carries},
		"afteragent":   {mail.TurnEnd, carries},
		"sessionend":   {mail.SessionEnd, 0}, // which has no reason but "exit", whatever ended it
	})
	switch e.kind() {
	case "sessionstart": // of a session that is resumed, what it says reaches nobody
		e.Carries = in.text("source") != "resume"
	case "aftertool":
		if strings.HasPrefix(in.display(), "Command cancelled by user.") {
			e.Moment, e.Over = mail.TurnEnd, true
		}
	case "afteragent":
		e.Over = in.text("prompt_response") == "[no response text]"
	case "notification": // nothing goes on before a person has answered, and if that is Esc, no hook runs
		if in.text("notification_type") == "ToolPermission" {
			e.Moment, e.Over = mail.TurnEnd, true
			asksGemini(&e, in)
		}
	}
	return e
}

// display returns what the person is shown of a tool's result.
func (in input) display() string {
	var result struct {
		Display jsonx.Value `json:"returnDisplay"`
	}
	var text string
	if jsonx.UnmarshalLenient(in["tool_response"], &result) != nil ||
		jsonx.UnmarshalLenient(result.Display, &text) != nil {
		return "" // it may be a list or an object too
	}
	return text
}

// lookGemini finds what no hook is told: that the turn was broken off, and that a tool is a subagent's. A turn that
// was broken off behind a tool has no end: the client asks the model by itself why it did not answer, as in another
// turn.
func lookGemini(e *Event) {
	switch e.Moment {
	case mail.TurnStart, mail.TurnEnd:
		e.Over = e.Over || takenBack(e.Session.Script)
	case mail.BeforeTool, mail.AfterTool:
		e.Sub = e.kind() != "beforeagent" && e.Tool != "invoke_agent" && subagentWrites(e.Session.Script, e.Session.ID)
	}
}

func answerGemini(e *Event, s speech) Answer {
	switch s.kind {
	case tell:
		return Answer{Out: specific{Event: e.Name, Context: s.text}.String()}
	case forbid, goOn:
		return Answer{Out: verdict{"deny", s.text}.String()}
	}
	return Answer{}
}
