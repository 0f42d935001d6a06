package hook

import "pennypost/internal/mail"

// agy is Antigravity CLI (antigravity.google/docs/hooks; observations of 1.2.7 by automatis-tools;
// agents-can-communicate, packages/adapter-antigravity/COMPATIBILITY.md). We have not run it. Its hook input names
// neither the event nor, without an open folder (agy -p), the project. PreInvocation runs before every request to the
// model and its output is in that request; the first of a turn has the number 0. In 1.2.7 no hook can stop a tool, and
// none reports the end of a session. An unknown member makes the whole request fail, so an answer holds only members
// that take effect.
//
// It is not known whether Esc or subagents run hooks.
func agy() Client {
	return Client{Name: "agy", read: readAgy, answer: answerAgy}
}

func readAgy(typed string, in input) Event {
	e := in.event("agy", typed, moments{
		"preinvocation": {mail.TurnStart, carries},
		"stop":          {mail.TurnEnd, carries},
	})
	switch {
	case e.Session.Dir == "": // the hook runs in the client's own directory, which is not a project
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
