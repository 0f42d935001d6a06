package hook

import "pennypost/internal/mail"

// qwen is Qwen Code (the real one, 0.15.10). Its hooks are Claude Code's, with these differences. What SessionStart
// says reaches nobody, and in a headless run there is none. UserPromptSubmit comes with the results of tools too, and
// then without a prompt. As soon as a session takes a prompt again, after Esc too, it notifies of that. Tools of
// subagents, and of the work that it does in the background, run the session's hooks; only the transcript tells whose
// they are.
func qwen() Client {
	// What a hook told stands in the prompt, or in the result of a tool.
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
		"sessionend":         {mail.SessionEnd, 0}, // with a person's reason, whatever ended it
	})
	switch e.kind() {
	case "userpromptsubmit":
		if in.text("prompt") == "" {
			e.Moment = mail.AfterTool
		}
	case "pretooluse":
		e.Own = e.Own || e.Tool == "tool_search" // without which it has no tool of a server
	case "posttoolusefailure":
		if in.isTrue("is_interrupt") {
			e.Moment, e.Over = mail.TurnEnd, true
		}
	case "notification":
		switch in.text("notification_type") {
		case "idle_prompt", "permission_prompt": // nothing goes on before a person has typed, or answered
			e.Moment, e.Over = mail.TurnEnd, true
		}
	}
	asksQwen(&e, in)
	return e
}

// lookQwen finds out whose tool it is.
func lookQwen(e *Event) {
	if e.Tool == "" || e.Moment != mail.BeforeTool && e.Moment != mail.AfterTool {
		return
	}
	if asks, known := asksFor(e.Session.Script, e.Tool); known && !asks {
		e.Sub = true
	}
}
