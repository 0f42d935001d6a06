package hook

import "pennypost/internal/mail"

// copilot is the GitHub Copilot CLI (docs.github.com, "GitHub Copilot hooks reference", 2026-11; seen in 1.0.102). Its
// events have two spellings, after which its input follows. A hook before a tool that fails there forbids the tool. A
// turn that a person breaks off runs no hook; the client's own notes tell of it (wake.CopilotNotes).
func copilot() Client {
	// What a hook told stands in the result of a tool, or in the prompt, from which it is gone when the session is
	// resumed.
	kept := script{has: `"parentId"`, told: []string{"user.message", "tool.execution_complete"},
		fleeting: "user.message", sums: "session.compaction_complete"}
	return Client{Name: "copilot", read: readCopilot, recall: kept.recall, answer: answerCopilot,
		decide: decideCopilot}
}

func readCopilot(typed string, in input) Event {
	e := in.event("copilot", typed, moments{
		"sessionstart":        {mail.SessionStart, carries},
		"userpromptsubmitted": {mail.TurnStart, carries | again},
		"userpromptsubmit":    {mail.TurnStart, carries | again},
		"pretooluse":          {mail.BeforeTool, carries},
		"posttooluse":         {mail.AfterTool, carries},
		"posttoolusefailure":  {mail.AfterTool, carries},
		"agentstop":           {mail.TurnEnd, carries},
		"stop":                {mail.TurnEnd, carries},
		"sessionend":          {mail.SessionEnd, 0},
	}, "user_exit")
	if parent := in.text("parentAgentId", "parent_agent_id"); e.Sub && parent != "" {
		e.Session.ID = parent // whose session it is; a subagent has an id of its own
	}
	if e.kind() == "erroroccurred" && in.isFalse("recoverable") {
		e.Moment, e.Over = mail.TurnEnd, true
	}
	asksCopilot(&e, in)
	return e
}

// takesPromptContext reports whether a version hands the model what a prompt's hook says. Others drop it, and the mail
// comes with the turn's end (Copilot's changelog, 1.0.65).
func takesPromptContext(version string) bool { return notBefore(version, 1, 0, 65) }

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
