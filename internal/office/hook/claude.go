package hook

import (
	"strings"

	"pennypost/internal/mail"
)

// claude is Claude Code. Its hooks are documented at code.claude.com/docs/en/hooks; the types are those of its agent
// SDK 0.3.329 (Claude Code 2.1.329).
//
// additionalContext at Stop keeps a turn going in versions known to accept it. In other versions a decision does;
// every version accepts that, but hands it to the model twice. The client allows eight in a row; we send three.
func claude() Client {
	return Client{Name: "claude", waits: true, reloads: true, read: readClaude, recall: recallClaude,
		answer: answerClaude, decide: decideClaude}
}

func readClaude(typed string, in input) Event {
	switch {
	case in["sessionId"] != nil || in["hookEventName"] != nil:
		return readVSCode(typed, in)
	case in["timestamp"] != nil: // Claude Code does not send this
		return readCopilot(typed, in)
	}
	e := in.event("claude", typed, moments{
		"sessionstart":       {mail.SessionStart, carries},
		"userpromptsubmit":   {mail.TurnStart, carries},
		"pretooluse":         {mail.BeforeTool, carries},
		"posttooluse":        {mail.AfterTool, carries},
		"posttoolusefailure": {mail.AfterTool, carries},
		"posttoolbatch":      {mail.AfterTool, carries},
		"stop":               {mail.TurnEnd, carries},
		"stopfailure":        {mail.TurnEnd, over}, // the model could not be reached
		"sessionend":         {mail.SessionEnd, 0},
	}, "prompt_input_exit", "logout", "resume") // for any other reason a door may start it again
	switch e.kind() {
	case "sessionstart":
		source := in.text("source")
		e.Compacted, e.Begins = source == "compact", source != "compact" && source != "clear"
	case "notification": // interrupting a turn runs no Stop hook; this notification follows a minute later
		if in.text("notification_type", "notificationType") == "idle_prompt" {
			e.Moment, e.Over = mail.TurnEnd, true
		}
	}
	asksClaude(&e, in)
	return e
}

func answerClaude(e *Event, s speech) Answer {
	switch e.Client {
	case "vscode":
		return answerVSCode(e, s)
	case "copilot":
		return answerCopilot(e, s)
	}
	switch {
	case s.kind == tell:
		return Answer{Out: specific{Event: e.Name, Context: s.text}.String()}
	case s.kind == forbid:
		return Answer{Out: specific{Event: e.Name, May: "deny", Why: s.text}.String()}
	case s.kind == goOn && takesStopContext(e.Session.Version):
		return Answer{Out: specific{Event: e.Name, Context: s.text}.String()}
	case s.kind == goOn:
		return Answer{Out: verdict{"block", s.text}.String()}
	case s.kind == inform:
		return Answer{Out: object(struct {
			Message string `json:"systemMessage"`
		}{s.text})}
	}
	return Answer{}
}

// takesStopContext reports whether a version of Claude Code continues the turn with the additionalContext of a Stop
// hook. 2.1.330 was seen to. Older versions are not known to, and would lose the mail.
func takesStopContext(version string) bool { return notBefore(version, 2, 1, 330) }

// claudeVersion returns the version in the variable AI_AGENT that Claude Code gives its children, such as
// claude-code_2-1-330_harness; "" if there is none.
func claudeVersion(variable string) string {
	rest, ok := strings.CutPrefix(variable, "claude-code_")
	version, _, _ := strings.Cut(rest, "_")
	if !ok {
		return ""
	}
	return strings.ReplaceAll(version, "-", ".")
}
