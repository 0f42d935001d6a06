package hook

import "pennypost/internal/mail"

// gemini is the Gemini CLI (docs/hooks/reference.md of google-gemini/gemini-cli, 2026-08). Keeping a turn going is a
// prompt of its own there. What a session's end waits for is not defined, so that the room may hear of it or not.
func gemini() Client {
	return Client{Name: "gemini", read: readGemini, answer: answerGemini}
}

func readGemini(typed string, in input) Event {
	e := in.event("gemini", typed)
	switch e.kind() {
	case "sessionstart":
		e.Moment, e.Carries = mail.SessionStart, true
	case "beforeagent":
		e.Moment, e.Carries = mail.TurnStart, true
		if ourPrompt(in) {
			e.Moment = mail.AfterTool
		}
	case "beforetool":
		e.Moment, e.Carries = mail.BeforeTool, true
	case "aftertool":
		e.Moment, e.Carries = mail.AfterTool, true
	case "afteragent":
		e.Moment, e.Carries = mail.TurnEnd, true
	case "sessionend":
		e.Moment = mail.SessionEnd
		switch in.text("reason") {
		case "prompt_input_exit", "logout":
			e.Frozen = true
		}
	}
	return e
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
