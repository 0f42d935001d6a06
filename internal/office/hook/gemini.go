package hook

import (
	"strings"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
)

// gemini is the Gemini CLI (the real one, 0.61.0; docs/hooks/reference.md of google-gemini/gemini-cli). A turn is kept
// going with a new prompt.
//
// Esc runs the usual hooks. While the model thinks, it runs AfterAgent: the output reaches no model, and the whole
// turn is taken back, which only the transcript shows. During a command it runs AfterTool, whose output is dropped,
// and no AfterAgent follows. In a dialog it runs none; but the dialog itself is reported.
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
		"sessionend":   {mail.SessionEnd, 0}, // its only reason is "exit", whatever the cause
	})
	switch e.kind() {
	case "sessionstart": // in a resumed session its output is lost
		e.Carries = in.text("source") != "resume"
	case "aftertool":
		if strings.HasPrefix(in.display(), "Command cancelled by user.") {
			e.Moment, e.Over = mail.TurnEnd, true
		}
	case "afteragent":
		e.Over = in.text("prompt_response") == "[no response text]"
	case "notification": // the turn waits for the person, and if they answer with Esc, no hook runs
		if in.text("notification_type") == "ToolPermission" {
			e.Moment, e.Over = mail.TurnEnd, true
			asksGemini(&e, in)
		}
	}
	return e
}

// display returns the part of a tool's result that the person is shown.
func (in input) display() string {
	var result struct {
		Display jsonx.Value `json:"returnDisplay"`
	}
	var text string
	if jsonx.UnmarshalLenient(in["tool_response"], &result) != nil ||
		jsonx.UnmarshalLenient(result.Display, &text) != nil {
		return "" // it may also be a list or an object
	}
	return text
}

// lookGemini finds two facts that no hook is told: the turn was interrupted, and a tool is a subagent's. A turn
// interrupted after a tool has no end: the client then asks the model why it did not answer, as in another turn.
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
