package hook

import (
	"strings"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
)

// Our extensions inside a client report its dialogs as an object of our format, in the member dialog. The event that
// reports how a dialog ended has the same object, byte for byte, and the member reply.

// asksOpencode fills in the dialog that an event opens or ends, as seen in opencode 1.18.33. The dialog is on the
// screen at the same time, for subagents too, and the event reports an answer given there.
func asksOpencode(e *Event, in input) {
	what, how, ok := strings.Cut(e.kind(), ".")
	raw := in["dialog"]
	if !ok || len(raw) == 0 || what != "permission" && what != "question" {
		return
	}
	var d dialogOpencode
	if jsonx.UnmarshalLenient(raw, &d) != nil {
		return
	}
	e.Tool, e.Input = d.Permission, raw
	if what == "question" {
		e.Tool = "question"
	}
	if how != "asked" {
		e.Given, e.Outcome = true, repliesOpencode()[in.text("reply")]
		return
	}
	var a *Asked
	if what == "question" {
		a = e.asks(mail.AsksQuestion, answer, mail.Offer{Verdict: mail.SayDeny}) // opencode takes no words here
	} else {
		a = e.asks(mail.AsksPermission, append(append([]mail.Offer{once}, d.lasting()...), refuse)...)
		d.show(a)
	}
	a.Beside, a.Told = true, true
}

// dialogOpencode is an opencode request, as its plugins see it, with the input of the tool that asks.
type dialogOpencode struct {
	ID         string      `json:"id"` // makes the sums of two equal requests differ
	Permission string      `json:"permission"`
	Patterns   []string    `json:"patterns"`
	Always     []string    `json:"always"`
	Details    jsonx.Value `json:"metadata"`
	Input      jsonx.Value `json:"input"` // the tool's; nil: not known
}

// lasting offers permission for similar calls: opencode keeps it in memory, for all sessions of the project.
func (d *dialogOpencode) lasting() []mail.Offer {
	if len(d.Always) == 0 {
		return nil
	}
	writes := d.Permission + ": " + strings.Join(d.Always, ", ") + ", in all sessions of this opencode until it ends"
	return []mail.Offer{{Verdict: mail.SayAllow, Rule: 1, Session: true, Writes: writes}}
}

// show fills in the question. opencode's own details take precedence over the tool's input, which other plugins may
// have changed.
func (d *dialogOpencode) show(a *Asked) {
	if a.Cut { // too long
		return
	}
	var m struct {
		Command *string `json:"command"`
		Path    string  `json:"filepath"`
		Diff    *string `json:"diff"`
		URL     *string `json:"url"`
	}
	var given struct {
		Description string `json:"description"`
		Workdir     string `json:"workdir"`
	}
	_ = jsonx.UnmarshalLenient(d.Details, &m)
	_ = jsonx.UnmarshalLenient(d.Input, &given)
	switch {
	case d.Permission == "bash" && m.Command != nil:
		a.Form, a.Text, a.Says = mail.FormCommand, *m.Command, given.Description
		if given.Workdir != "" {
			a.Dir = given.Workdir
		}
	case d.Permission == "edit" && m.Diff != nil:
		a.Form, a.Text, a.Path = mail.FormPatch, *m.Diff, m.Path
	case d.Permission == "webfetch" && m.URL != nil:
		a.Form, a.Text = mail.FormURL, *m.URL
	default:
		a.Form, a.Says = mail.FormJSON, given.Description
		a.Text = Indented(jsonx.Value(object(d.whole())))
		a.Cut = len(d.Input) == 0 && len(d.Details) <= len("{}") // a tool of a server, without details
	}
}

// whole returns all known facts about the question, in an order for people.
func (d *dialogOpencode) whole() any {
	return struct {
		Permission string      `json:"permission"`
		Patterns   []string    `json:"patterns,omitempty"`
		Input      jsonx.Value `json:"input,omitempty"`
		Details    jsonx.Value `json:"metadata,omitempty"`
	}{d.Permission, d.Patterns, d.Input, d.Details}
}

func repliesOpencode() map[string]mail.DialogOutcome {
	return map[string]mail.DialogOutcome{"once": mail.DialogAllowed, "always": mail.DialogAllowed,
		"reject": mail.DialogDenied, "answered": mail.DialogAnswered}
}

// decideOpencode tells the plugin what to post: reply or reject, and its body.
func decideOpencode(e *Event, _ input, a *mail.DialogAnswer) string {
	type reply struct {
		Reply   string `json:"reply"`
		Message string `json:"message,omitempty"`
	}
	type post struct {
		Reply  any `json:"reply,omitzero"`
		Reject any `json:"reject,omitzero"`
	}
	question := e.Asks.Kind == mail.AsksQuestion
	switch {
	case a.Verdict == mail.SayDeny && question:
		return object(post{Reject: struct{}{}})
	case a.Verdict == mail.SayDeny: // without a text the turn would end
		return object(post{Reply: reply{"reject", refusal(a)}})
	case a.Verdict == mail.SayAnswer:
		return object(post{Reply: answersOpencode(a)})
	case a.Rule > 0:
		return object(post{Reply: reply{Reply: "always"}})
	}
	return object(post{Reply: reply{Reply: "once"}})
}

func answersOpencode(a *mail.DialogAnswer) any {
	answers := make([][]string, len(a.Answers))
	for i, given := range a.Answers {
		if answers[i] = append([]string{}, given.Labels...); given.Words != "" {
			answers[i] = append(answers[i], given.Words)
		}
	}
	return struct {
		Answers [][]string `json:"answers"`
	}{answers}
}
