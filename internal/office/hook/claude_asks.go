package hook

import (
	"strings"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
)

// The dialogs of Claude Code, as seen in 2.1.330. For the session itself, the PermissionRequest hook runs while the
// dialog is shown. For a subagent, a teammate in the same process and a form, it runs before the dialog is shown.

// asksClaude fills in the dialog that an event opens.
func asksClaude(e *Event, in input) {
	switch e.kind() {
	case "permissionrequest":
		var a *Asked
		switch e.Tool {
		case "AskUserQuestion":
			a = e.asks(mail.AsksQuestion, answer, refuse)
		case "ExitPlanMode":
			a = e.asks(mail.AsksPlan, once, refuse)
		default:
			a = e.asks(mail.AsksPermission, append(append([]mail.Offer{once}, rulesClaude(in)...), refuse)...)
		}
		a.Beside = e.Worker == ""
	case "elicitation":
		e.asksForm(in)
	case "elicitationresult":
		e.Moment, e.Tool, e.Input = mail.AfterTool, elicits(in), nil
	case "subagentstop":
		e.LeftWorker = true
	case "notification":
		if in.text("notification_type", "notificationType") == "permission_prompt" {
			e.Untold = true
		}
	}
}

// asksForm opens the dialog of a form from an MCP server.
func (e *Event) asksForm(in input) {
	e.Tool, e.Input = elicits(in), nil
	a := e.asks(mail.AsksForm)
	a.Text, a.Form, a.Says = Indented(in["requested_schema"]), mail.FormJSON, in.text("message")
	a.readable()
}

func elicits(in input) string { return "form of " + in.text("mcp_server_name", "mcp_server") }

// suggestion is a permission change that Claude Code offers with a dialog.
type suggestion struct {
	Type  string `json:"type"`
	Rules []struct {
		Tool string `json:"toolName"`
		Only string `json:"ruleContent"`
	} `json:"rules"`
	Behavior    string   `json:"behavior"`
	Mode        string   `json:"mode"`
	Directories []string `json:"directories"`
	Destination string   `json:"destination"`
}

// Limits on the offered rules. Rules beyond them can only be chosen in the client's own dialog.
const (
	maxRules = 6
	maxRule  = 1 << 10 // bytes
)

// rulesClaude returns the offers of lasting permission, each with the rule that it writes. A suggestion that we do
// not understand is not offered.
func rulesClaude(in input) (offers []mail.Offer) {
	for i, s := range suggestions(in) {
		if what := s.String(); what != "" && len(what) <= maxRule && len(offers) < maxRules {
			offers = append(offers, mail.Offer{Verdict: mail.SayAllow, Rule: i + 1, Writes: what,
				Session: s.Destination == "session"})
		}
	}
	return offers
}

func suggestions(in input) (list []suggestion) {
	_ = jsonx.UnmarshalLenient(in["permission_suggestions"], &list)
	return list
}

// String says what the suggestion allows and for how long; "" if either is not known.
func (s suggestion) String() string {
	what := ""
	switch {
	case s.Type == "addRules" && s.Behavior == "allow" && len(s.Rules) > 0:
		rules := make([]string, len(s.Rules))
		for i, r := range s.Rules {
			if rules[i] = r.Tool; r.Only != "" {
				rules[i] += "(" + r.Only + ")"
			}
		}
		what = strings.Join(rules, ", ")
	case s.Type == "setMode" && s.Mode != "":
		what = "mode " + s.Mode
	case s.Type == "addDirectories" && len(s.Directories) > 0:
		what = "the directory " + strings.Join(s.Directories, ", ")
	}
	where, known := map[string]string{
		"session":         "until this session ends",
		"localSettings":   "always in this project: .claude/settings.local.json",
		"projectSettings": "always in this project, for all users: .claude/settings.json",
		"userSettings":    "always, everywhere: ~/.claude/settings.json",
	}[s.Destination]
	if what == "" || !known {
		return ""
	}
	return what + ", " + where
}

// decisionClaude is the hook's output when the person has answered elsewhere. It never sets the key interrupt.
type decisionClaude struct {
	Behavior string        `json:"behavior"`
	Message  string        `json:"message,omitempty"`
	Input    any           `json:"updatedInput,omitzero"`
	Rules    []jsonx.Value `json:"updatedPermissions,omitzero"`
}

// decideClaude answers the dialog that e opened.
func decideClaude(e *Event, in input, a *mail.DialogAnswer) string {
	d := decisionClaude{Behavior: "allow"}
	switch {
	case a.Verdict == mail.SayDeny:
		d.Behavior, d.Message = "deny", refusal(a)
	case a.Verdict == mail.SayAnswer:
		d.Input = answersClaude(e, a)
	case e.Asks.Kind == mail.AsksPlan:
		d.Input = struct{}{} // the client was seen to ignore the answer without it
	case a.Rule > 0:
		var all []jsonx.Value
		if jsonx.UnmarshalLenient(in["permission_suggestions"], &all) != nil || a.Rule > len(all) {
			return ""
		}
		d.Rules = all[a.Rule-1 : a.Rule]
	}
	return d.String()
}

func (d decisionClaude) String() string {
	type output struct {
		Event    string         `json:"hookEventName"`
		Decision decisionClaude `json:"decision"`
	}
	return object(struct {
		Output output `json:"hookSpecificOutput"`
	}{output{"PermissionRequest", d}})
}

// refusal is the text for the model whose request was denied.
func refusal(a *mail.DialogAnswer) string {
	if a.Words != "" {
		return a.Words
	}
	return "The user has refused this."
}

// answersClaude returns the answers to questions in the format of the client's own dialog.
func answersClaude(e *Event, a *mail.DialogAnswer) any {
	type note struct {
		Notes string `json:"notes"`
	}
	var asked struct {
		Questions jsonx.Value `json:"questions"`
	}
	_ = jsonx.UnmarshalLenient(e.Input, &asked)
	answers, notes := make(map[string]string), make(map[string]note)
	for i, q := range e.Asks.Questions {
		given := a.Answers[i]
		if answers[q.Text] = strings.Join(given.Labels, ", "); len(given.Labels) == 0 {
			answers[q.Text] = given.Words
		} else if given.Words != "" {
			notes[q.Text] = note{given.Words}
		}
	}
	return struct {
		Questions   jsonx.Value       `json:"questions"`
		Answers     map[string]string `json:"answers"`
		Annotations map[string]note   `json:"annotations,omitempty"`
	}{asked.Questions, answers, notes}
}
