package hook

import (
	"strings"

	"pennypost/internal/mail"
	"pennypost/internal/wire"
)

// codex is the Codex CLI (developers.openai.com/codex/hooks, 0.169.0). It rejects an answer with a member that it
// does not know for that event, and expects a JSON object at the end of a turn.
func codex() Client {
	return Client{Name: "codex", Many: true, read: readCodex, recall: recallCodex, answer: answerCodex,
		decide: decideCodex}
}

func readCodex(typed string, in input) Event {
	e := in.event("codex", typed, moments{
		"sessionstart":     {mail.SessionStart, carries},
		"userpromptsubmit": {mail.TurnStart, carries},
		"pretooluse":       {mail.BeforeTool, carries},
		"posttooluse":      {mail.AfterTool, carries},
		"stop":             {mail.TurnEnd, carries},
		"interrupt":        {mail.TurnEnd, over},
		"sessionend":       {mail.SessionEnd, 0},
	})
	if home, _, ok := strings.Cut(in.text("transcript_path"), "/sessions/"); ok {
		e.Session.Home = home // CODEX_HOME/sessions/2026/11/22/rollout-….jsonl
	}
	e.Compacted = e.Moment == mail.SessionStart && in.text("source") == "compact"
	e.Ring = e.Moment == mail.TurnStart && isRing(in)
	asksCodex(&e, in)
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
