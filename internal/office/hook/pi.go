package hook

import "pennypost/internal/mail"

// pi is the pi coding agent (0.73.1), through the extension that pennypost install writes (package install, pi.js).
// Its events bear the names of pi's own.
func pi() Client {
	return Client{Name: "pi", waits: true, read: readPi, recall: recallPi, answer: answerExtension}
}

func readPi(typed string, in input) Event {
	e := in.event("pi", typed)
	switch e.kind() {
	case "sessionstart":
		e.Moment, e.Carries = mail.SessionStart, true
	case "before_agent_start":
		e.Moment, e.Carries = mail.TurnStart, true
		if ourPrompt(in) {
			e.Moment = mail.AfterTool
		}
	case "tool_call":
		e.Moment, e.Carries = mail.BeforeTool, true
	case "tool_result":
		e.Moment, e.Carries = mail.AfterTool, !in.isTrue("aborted")
	case "agent_end":
		e.Moment, e.Carries = mail.TurnEnd, true
		e.Over = in.text("error") != ""
	case "session_shutdown":
		e.Moment = mail.SessionEnd
		switch in.text("reason") {
		case "new", "resume", "fork":
			e.Frozen = true // a person put it aside for another
		}
	}
	return e
}
