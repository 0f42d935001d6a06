package hook

import "pennypost/internal/mail"

// copilot is the GitHub Copilot CLI (docs.github.com, "GitHub Copilot hooks reference", 2026-11). Its events have two
// spellings, after which its input follows. A hook before a tool that fails there forbids the tool.
func copilot() Client {
	return Client{Name: "copilot", read: readCopilot, answer: answerCopilot}
}

func readCopilot(typed string, in input) Event {
	e := in.event("copilot", typed)
	switch e.kind() {
	case "sessionstart":
		e.Moment, e.Carries = mail.SessionStart, true
	case "userpromptsubmitted", "userpromptsubmit": // what a command's hook says is dropped
		e.Moment = mail.TurnStart
		if ourPrompt(in) {
			e.Moment = mail.AfterTool
		}
	case "pretooluse":
		e.Moment, e.Carries = mail.BeforeTool, true
	case "posttooluse":
		e.Moment, e.Carries = mail.AfterTool, true
	case "agentstop", "stop":
		e.Moment, e.Carries = mail.TurnEnd, true
	case "erroroccurred":
		if in.isFalse("recoverable") {
			e.Moment, e.Over = mail.TurnEnd, true
		}
	case "sessionend":
		e.Moment, e.Frozen = mail.SessionEnd, in.text("reason") == "user_exit"
	}
	return e
}

func answerCopilot(_ *Event, s speech) Answer {
	switch s.kind {
	case tell:
		return Answer{Out: object(struct {
			Context string `json:"additionalContext"`
		}{s.text})}
	case forbid:
		return Answer{Out: object(struct {
			May string `json:"permissionDecision"`
			Why string `json:"permissionDecisionReason"`
		}{"deny", s.text})}
	case goOn:
		return Answer{Out: verdict{"block", s.text}.String()}
	}
	return Answer{}
}
