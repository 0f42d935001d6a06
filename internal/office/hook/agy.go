package hook

import "pennypost/internal/mail"

// agy is Antigravity CLI (antigravity.google/docs/hooks; what automatis-tools saw of 1.2.7, agents-can-communicate,
// packages/adapter-antigravity/COMPATIBILITY.md). Nobody tried it here. Its hooks do not say which event they are of,
// and where no folder is open, as in agy -p, no project either. PreInvocation comes before every request to the model,
// and what it says is in that request; the first of a turn has the number 0. In 1.2.7 no hook can keep a tool from
// running, and none tells of a session's end. A member that it does not know makes the whole request fail, so nothing
// stands in an answer but what it does.
//
// Whether Esc runs a hook, and whether subagents do, is not known.
func agy() Client {
	return Client{Name: "agy", read: readAgy, answer: answerAgy}
}

func readAgy(typed string, in input) Event {
	e := in.event("agy", typed, moments{
		"preinvocation": {mail.TurnStart, carries},
		"stop":          {mail.TurnEnd, carries},
	})
	switch {
	case e.Session.Dir == "": // the hook runs in the client's own directory, which is no project
		e.Moment = ""
	case e.Moment == mail.TurnStart && string(in["invocationNum"]) != "0":
		e.Moment = mail.AfterTool
	case e.Moment == mail.TurnEnd:
		e.Over = in.text("error") != ""
	}
	return e
}

func answerAgy(_ *Event, s speech) Answer {
	type step struct {
		Message string `json:"ephemeralMessage"`
	}
	switch s.kind {
	case tell:
		return Answer{Out: object(struct {
			Steps []step `json:"injectSteps"`
		}{[]step{{s.text}}})}
	case goOn:
		return Answer{Out: verdict{"continue", s.text}.String()}
	}
	return Answer{Out: "{}"}
}
