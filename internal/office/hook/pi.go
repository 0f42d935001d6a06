package hook

import "pennypost/internal/mail"

// pi is the pi coding agent (0.73.1), through the extension that pennypost install writes (package install, pi.js).
// Its events have pi's own names.
func pi() Client {
	// Hook output is a message of its own, or part of a tool result.
	kept := script{has: `"id"`, told: []string{"message", "custom_message"}, sums: "compaction"}
	return Client{Name: "pi", waits: true, read: readPi, recall: kept.recall, answer: answerExtension}
}

func readPi(typed string, in input) Event {
	e := in.event("pi", typed, moments{
		"sessionstart":       {mail.SessionStart, carries},
		"before_agent_start": {mail.TurnStart, carries | again},
		"tool_call":          {mail.BeforeTool, carries},
		"tool_result":        {mail.AfterTool, carries},
		"agent_end":          {mail.TurnEnd, carries},
		"session_shutdown":   {mail.SessionEnd, 0},
	}, "new", "resume", "fork") // the person leaves it for another session
	e.Carries = e.Carries && !(e.kind() == "tool_result" && in.isTrue("aborted"))
	e.Over = e.Moment == mail.TurnEnd && in.text("error") != ""
	return e
}
