package hook

import (
	"strings"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
)

// The dialogs of the Copilot CLI, as seen in 1.0.102. Its permissionRequest hook runs before a dialog, which is
// hidden while the hook waits. The notification hook runs when the dialog is shown, and says little about it. Our
// extension, if the person installs it, is told about the dialog and answers beside it.

// asksCopilot fills in the dialog that an event opens or ends.
func asksCopilot(e *Event, in input) {
	e.sumBy = sumCopilot
	if e.beside() {
		asksCopilotBeside(e, in)
		return
	}
	switch e.kind() {
	case "permissionrequest":
		if e.Own { // the hook beside this one allows the tool
			return
		}
		if e.Tool != "bash" || e.Sub { // otherwise the tool call reported before says more
			e.Moment = mail.BeforeTool
		}
		if e.Worker != "" { // neither the notification nor the extension reports these
			e.Worker, e.Kind = "", "subagent"
		}
		showCopilot(e, mail.AsksPermission, once, refuse).Later = true
	case "notification":
		switch in.text("notification_type", "notificationType") {
		case "permission_prompt":
			e.noted = in.permissionCopilot
		case "elicitation_dialog":
			e.Tool = askUser
			e.noted = formCopilot
		}
	}
}

// askUser is the tool with which the model asks questions.
const askUser = "ask_user"

// permissionCopilot opens the dialog of a notification. It is about the last reported tool call if the notification's
// text matches that call.
func (in input) permissionCopilot(e *Event, tool, _ string, given jsonx.Value) {
	says := in.text("message")
	var g struct {
		Command string `json:"command"`
		Path    string `json:"path"`
		File    string `json:"file_path"`
	}
	_ = jsonx.UnmarshalLenient(given, &g)
	what, rest, _ := strings.Cut(says, ": ")
	fits := tool != "" && (what != "Run command" || rest == g.Command) &&
		(what != "Edit file" || rest == g.Path+g.File)
	if fits {
		e.Tool, e.Input = tool, given
	} else {
		e.Tool, e.Input = what, jsonx.Value(object(map[string]string{"message": says}))
	}
	a := showCopilot(e, mail.AsksPermission)
	a.Cut = a.Cut || !fits
}

// formCopilot opens the dialog of questions, or of a form from an MCP server, about which no hook says more.
func formCopilot(e *Event, tool, _ string, given jsonx.Value) {
	if tool == "" {
		e.Tool, e.Input = "form of an MCP server", jsonx.Value("{}")
		e.asks(mail.AsksForm).Cut = true
		return
	}
	e.Input = given
	showCopilot(e, mail.AsksQuestion)
}

// showCopilot opens a dialog about a tool call.
func showCopilot(e *Event, kind mail.DialogKind, offers ...mail.Offer) *Asked {
	a := e.asks(kind, offers...)
	if a.Cut {
		return a
	}
	var g struct {
		Path string  `json:"path"`
		File string  `json:"file_path"`
		Diff *string `json:"diff"`
		Text *string `json:"file_text"`
		formCopilotAsks
	}
	if jsonx.UnmarshalLenient(e.Input, &g) != nil {
		return a
	}
	switch {
	case kind == mail.AsksQuestion:
		a.Form, a.Text, a.Says, a.Questions = "", "", "", g.questions()
		a.Cut = len(a.Questions) == 0
	case g.Diff != nil:
		a.Form, a.Text, a.Path = mail.FormPatch, *g.Diff, g.File
	case g.Text != nil && e.Tool == "create":
		a.Form, a.Text, a.Path = mail.FormContent, *g.Text, g.Path
	}
	return a
}

// sumCopilot is the hash of a tool call. The client passes the same call to hooks and extensions with different extra
// members and in a different order.
func sumCopilot(tool string, given jsonx.Value) string {
	var members map[string]any
	if jsonx.UnmarshalLenient(given, &members) != nil {
		return sumOf(tool, given)
	}
	switch tool {
	case "bash":
		members = map[string]any{"command": members["command"]}
	case askUser:
		schema, _ := members["requestedSchema"].(map[string]any)
		members = map[string]any{"message": members["message"], "properties": schema["properties"]}
	}
	return sumOf(tool, jsonx.Value(object(members)))
}

// beside reports whether our Copilot extension sent e.
func (e *Event) beside() bool { return e.Client == "copilot" && strings.Contains(e.Name, ".") }

// asksCopilotBeside is asksCopilot for events of our extension, which carry the request in the SDK's format.
func asksCopilotBeside(e *Event, in input) {
	what, how, _ := strings.Cut(e.kind(), ".")
	var d struct {
		Tool  string      `json:"tool"`
		Given jsonx.Value `json:"given"`
		Says  string      `json:"says"`
	}
	if jsonx.UnmarshalLenient(in["dialog"], &d) != nil || d.Tool == "" {
		return
	}
	e.Tool, e.Input = d.Tool, d.Given
	if how != "asked" {
		e.Given, e.Outcome = true, repliesCopilot()[in.text("reply")]
		return
	}
	if what == "question" {
		a := showCopilot(e, mail.AsksQuestion, answer, mail.Offer{Verdict: mail.SayDeny})
		a.Beside, a.Told = true, true
		return
	}
	a := showCopilot(e, mail.AsksPermission, once, refuse)
	if a.Beside, a.Told = true, true; a.Says == "" {
		a.Says = d.Says
	}
}

func repliesCopilot() map[string]mail.DialogOutcome {
	return map[string]mail.DialogOutcome{"approved": mail.DialogAllowed, "denied": mail.DialogDenied,
		"accept": mail.DialogAnswered, "decline": mail.DialogDenied}
}

// decideCopilot answers the dialog that e opened: as hook output, or as the value that our extension gives the SDK.
func decideCopilot(e *Event, _ input, a *mail.DialogAnswer) string {
	type decision struct {
		Behavior string `json:"behavior"`
		Message  string `json:"message,omitempty"`
	}
	type reply struct {
		Kind     string         `json:"kind,omitempty"`
		Feedback string         `json:"feedback,omitempty"`
		Action   string         `json:"action,omitempty"`
		Content  map[string]any `json:"content,omitempty"`
	}
	denies := a.Verdict == mail.SayDeny
	switch {
	case !e.Asks.Beside && denies:
		return object(decision{"deny", refusal(a)})
	case !e.Asks.Beside:
		return object(decision{Behavior: "allow"})
	case e.Asks.Kind == mail.AsksQuestion && denies:
		return object(reply{Action: "decline"})
	case e.Asks.Kind == mail.AsksQuestion:
		var form formCopilotAsks
		_ = jsonx.UnmarshalLenient(e.Input, &form)
		content := form.content(a)
		if content == nil {
			return ""
		}
		return object(reply{Action: "accept", Content: content})
	case denies:
		return object(reply{Kind: "reject", Feedback: refusal(a)})
	}
	return object(reply{Kind: "approve-once"})
}
