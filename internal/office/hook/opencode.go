package hook

import "pennypost/internal/mail"

// opencode is opencode (1.18.33), through the plugin that pennypost install writes (package install, opencode.js). Its
// events have the names of opencode's own hooks, except SessionStart, the first event of a session that the plugin
// sees. busy marks a prompt sent while the session works on another: it interrupts nothing, and waits for the next
// request of that turn. Text told after the model has written (experimental.text.complete) is a prompt in the middle
// of the turn. Told only at the end of the turn (session.idle), it would be too late for a headless run.
func opencode() Client {
	return Client{Name: "opencode", Many: true, waits: true, read: readOpencode, answer: answerExtension,
		decide: decideOpencode}
}

func readOpencode(typed string, in input) Event {
	e := in.event("opencode", typed, moments{
		"sessionstart":               {mail.SessionStart, carries},
		"chat.message":               {mail.TurnStart, carries | again},
		"tool.execute.before":        {mail.BeforeTool, carries},
		"tool.execute.after":         {mail.AfterTool, carries},
		"experimental.text.complete": {mail.AfterTool, carries},
		"session.idle":               {mail.TurnEnd, carries},
		"dispose":                    {mail.SessionEnd, 0},
		"session.deleted":            {mail.SessionEnd, 0},
	})
	if texts, ok := in["conversation"]; ok {
		e.Held = heldIn(texts)
	}
	switch {
	case e.Moment == mail.TurnStart && in.isTrue("busy"):
		e.Moment = mail.AfterTool
	case e.Moment == mail.TurnEnd:
		e.Over = in.text("error") != "" // it was interrupted, or the model could not be reached
	}
	asksOpencode(&e, in)
	return e
}

// answerExtension is the output for our extensions, which run inside a client: the agent's name, and what to do.
func answerExtension(_ *Event, s speech) Answer {
	out := struct {
		Agent  mail.Name `json:"agent,omitempty"`
		Tell   string    `json:"tell,omitempty"`
		GoOn   string    `json:"goOn,omitempty"`
		Forbid string    `json:"forbid,omitempty"`
	}{Agent: s.agent}
	switch s.kind {
	case tell:
		out.Tell = s.text
	case goOn:
		out.GoOn = s.text
	case forbid:
		out.Forbid = s.text
	}
	return Answer{Out: object(out)}
}
