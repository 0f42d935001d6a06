package hook

import (
	"strings"

	"pennypost/internal/mail"
	"pennypost/internal/wire"
)

// codex is the Codex CLI (developers.openai.com/codex/hooks, 0.169.0). It refuses an answer with a member that it does
// not know for that event, and wants a JSON object when a turn ends.
func codex() Client {
	return Client{Name: "codex", Many: true, read: readCodex, recall: recallCodex, answer: answerCodex}
}

func readCodex(typed string, in input) Event {
	e := in.event("codex", typed)
	if home, _, ok := strings.Cut(in.text("transcript_path"), "/sessions/"); ok {
		e.Session.Home = home // CODEX_HOME/sessions/2026/11/22/rollout-….jsonl
	}
	switch e.kind() {
	case "sessionstart":
		e.Moment, e.Carries = mail.SessionStart, true
		e.Compacted = in.text("source") == "compact"
	case "userpromptsubmit":
		e.Moment, e.Carries, e.Ring = mail.TurnStart, true, isRing(in)
	case "pretooluse":
		e.Moment, e.Carries = mail.BeforeTool, true
	case "posttooluse":
		e.Moment, e.Carries = mail.AfterTool, true
	case "stop":
		e.Moment, e.Carries = mail.TurnEnd, true
	case "interrupt":
		e.Moment, e.Over = mail.TurnEnd, true
	case "sessionend":
		e.Moment = mail.SessionEnd
	}
	return e
}

func answerCodex(e *Event, s speech) Answer {
	switch s.kind {
	case tell:
		return Answer{Out: specific{Event: e.Name, Context: s.text}.String()}
	case forbid:
		return Answer{Out: specific{Event: e.Name, May: "deny", Why: s.text}.String()}
	case goOn, drop:
		return Answer{Out: verdict{"block", s.text}.String()}
	}
	return Answer{Out: wire.Silence(e.Client, e.Name)}
}
