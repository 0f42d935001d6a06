package hook

import "pennypost/internal/mail"

// vscode is the agent mode of VS Code (code.visualstudio.com/docs/copilot/customization/hooks, 2026-08). It also runs
// every hook in Claude Code's files, whatever the matchers say.
func vscode() Client {
	return Client{Name: "vscode", Editor: true, read: readVSCode, answer: answerVSCode}
}

func readVSCode(typed string, in input) Event {
	return in.event("vscode", typed, moments{
		"sessionstart":     {mail.SessionStart, carries},
		"userpromptsubmit": {mail.TurnStart, 0}, // takes no context
		"pretooluse":       {mail.BeforeTool, carries},
		"posttooluse":      {mail.AfterTool, carries},
		"stop":             {mail.TurnEnd, carries},
	})
}

func answerVSCode(e *Event, s speech) Answer {
	switch s.kind {
	case tell:
		return Answer{Out: specific{Event: e.Name, Context: s.text}.String()}
	case forbid: // the reason is for the person, the context for the model
		return Answer{Out: specific{Event: e.Name, May: "deny", Why: s.text, Context: s.text}.String()}
	case goOn:
		return Answer{Out: specific{Event: e.Name, Decision: "block", Reason: s.text}.String()}
	}
	return Answer{}
}
