package hook

import "pennypost/internal/mail"

// copilot is the GitHub Copilot CLI (docs.github.com, "GitHub Copilot hooks reference", 2026-11; seen in 1.0.102). Its
// events have two spellings, and the input follows the spelling. If a pre-tool hook fails, the tool is denied.
// Interrupting a turn runs no hook; the client's own log records it (door.CopilotNotes).
func copilot() Client {
	// Hook output is in a tool result, or in the prompt. A resumed session no longer has it in the prompt.
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
		e.Session.ID = parent // the session's id; a subagent has its own
	}
	if e.kind() == "erroroccurred" && in.isFalse("recoverable") {
		e.Moment, e.Over = mail.TurnEnd, true
	}
	asksCopilot(&e, in)
	return e
}

// takesPromptContext reports whether a version hands the output of a prompt hook to the model. Older versions drop
// it, and the mail is told at the end of the turn (Copilot's changelog, 1.0.65).
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
