package hook

import (
	"strings"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
)

// The dialogs of the Copilot CLI, as 1.0.102 was seen to have them. Its hook permissionRequest runs before a dialog,
// which is not shown while the hook waits; that of a notification runs when the dialog stands, and says little of it.
// An extension of ours, if its person wants that, is told of the dialog and answers beside it.

// asksCopilot fills in which dialog an event opens, or has ended.
func asksCopilot(e *Event, in input) {
	e.sumBy = sumCopilot
	if e.beside() {
		asksCopilotBeside(e, in)
		return
	}
	switch e.kind() {
	case "permissionrequest":
		if e.Own { // of which the hook beside this one says that it may be used
			return
		}
		if e.Tool != "bash" || e.Sub { // else the use that was told of before says more
			e.Moment = mail.BeforeTool
		}
		if e.Worker != "" { // which neither the notification nor the extension is told
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

// askUser is the tool by which the model asks questions.
const askUser = "ask_user"

// permissionCopilot opens the dialog about which the client notifies: that of the use that was told of last, if the
// line that it says of it fits.
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

// formCopilot opens the dialog of questions, or that of a form that an MCP server wants filled in, of which no hook
// tells more.
func formCopilot(e *Event, tool, _ string, given jsonx.Value) {
	if tool == "" {
		e.Tool, e.Input = "form of an MCP server", jsonx.Value("{}")
		e.asks(mail.AsksForm).Cut = true
		return
	}
	e.Input = given
	showCopilot(e, mail.AsksQuestion)
}

// showCopilot opens a dialog about a use of a tool.
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

// sumCopilot is the hash of a use of a tool. The client gives it to its hooks, and to extensions, with other members
// beside those that count, and with these in another order.
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

// beside reports whether e is told by our extension of Copilot's.
func (e *Event) beside() bool { return e.Client == "copilot" && strings.Contains(e.Name, ".") }

// asksCopilotBeside is asksCopilot for what our extension tells: the request as its SDK has it.
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

// decideCopilot answers the dialog that e has opened: as a hook, or as our extension hands it to the SDK.
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
