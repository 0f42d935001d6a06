package hook

import "pennypost/internal/mail"

// qwen is Qwen Code (the real one, 0.15.10). Its hooks are Claude Code's, with these differences. The output of
// SessionStart is lost, and a headless run has no SessionStart. UserPromptSubmit also runs with tool results, then
// without a prompt. A notification is sent as soon as a session accepts a prompt again, even after Esc. Tools of
// subagents and of background work run the session's hooks; only the transcript shows whose they are.
func qwen() Client {
	// Hook output is in the prompt or in a tool result.
	kept := script{has: `"uuid"`, told: []string{"user", "tool_result"}, sums: "chat_compression"}
	return Client{Name: "qwen", read: readQwen, look: lookQwen, recall: kept.recall, answer: answerClaude,
		decide: decideQwen}
}

func readQwen(typed string, in input) Event {
	e := in.event("qwen", typed, moments{
		"sessionstart":       {mail.SessionStart, 0},
		"userpromptsubmit":   {mail.TurnStart, carries | again},
		"pretooluse":         {mail.BeforeTool, carries},
		"posttooluse":        {mail.AfterTool, carries},
		"posttoolusefailure": {mail.AfterTool, carries},
		"stop":               {mail.TurnEnd, carries},
		"stopfailure":        {mail.TurnEnd, over},
		"sessionend":         {mail.SessionEnd, 0}, // its reason is always a person's, whatever the cause
	})
	switch e.kind() {
	case "userpromptsubmit":
		if in.text("prompt") == "" {
			e.Moment = mail.AfterTool
		}
	case "pretooluse":
		e.Own = e.Own || e.Tool == "tool_search" // it needs this to find the tools of a server
	case "posttoolusefailure":
		if in.isTrue("is_interrupt") {
			e.Moment, e.Over = mail.TurnEnd, true
		}
	case "notification":
		switch in.text("notification_type") {
		case "idle_prompt", "permission_prompt": // the turn waits for a prompt or an answer of the person
			e.Moment, e.Over = mail.TurnEnd, true
		}
	}
	asksQwen(&e, in)
	return e
}

// lookQwen finds out whether a tool is a subagent's.
func lookQwen(e *Event) {
	if e.Tool == "" || e.Moment != mail.BeforeTool && e.Moment != mail.AfterTool {
		return
	}
	if asks, known := asksFor(e.Session.Script, e.Tool); known && !asks {
		e.Sub = true
	}
}
