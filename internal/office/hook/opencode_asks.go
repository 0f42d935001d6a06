package hook

import (
	"strings"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
)

// Extensions of ours inside a client tell of its dialogs in an object of ours, the member dialog. The event that says
// how a dialog ended has the same object, byte for byte, and the member reply.

// asksOpencode fills in which dialog an event opens, or has ended, as opencode 1.18.33 was seen to tell of them. Its
// dialog is on the screen meanwhile, of subagents too; when the person answers that, it says so.
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
		a = e.asks(mail.AsksQuestion, answer, mail.Offer{Verdict: mail.SayDeny}) // which takes no words
	} else {
		a = e.asks(mail.AsksPermission, append(append([]mail.Offer{once}, d.lasting()...), refuse)...)
		d.show(a)
	}
	a.Beside, a.Told = true, true
}

// dialogOpencode is a request of opencode's, as its plugins are told of it, and what the tool is given that asks.
type dialogOpencode struct {
	ID         string      `json:"id"` // so that two requests that are alike have two sums
	Permission string      `json:"permission"`
	Patterns   []string    `json:"patterns"`
	Always     []string    `json:"always"`
	Details    jsonx.Value `json:"metadata"`
	Input      jsonx.Value `json:"input"` // of the tool; nil: it is not known
}

// lasting is the offer to allow what is like it: opencode keeps that in memory, for all sessions of the project.
func (d *dialogOpencode) lasting() []mail.Offer {
	if len(d.Always) == 0 {
		return nil
	}
	writes := d.Permission + ": " + strings.Join(d.Always, ", ") + ", in all sessions of this opencode until it ends"
	return []mail.Offer{{Verdict: mail.SayAllow, Rule: 1, Session: true, Writes: writes}}
}

// show fills in what is asked. What opencode itself says of it goes before what the tool was given, which other
// plugins may have changed.
func (d *dialogOpencode) show(a *Asked) {
	if a.Cut { // it is too long
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
		a.Cut = len(d.Input) == 0 && len(d.Details) <= len("{}") // a tool of a server, of which it says nothing
	}
}

// whole is all that is known of what is asked, in an order for people.
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

// decideOpencode says to the plugin what to post: reply or reject, and with what.
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
