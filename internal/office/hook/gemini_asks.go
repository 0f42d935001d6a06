package hook

import (
	"strings"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
)

// The dialogs of Gemini CLI, as seen in 0.61.0. It notifies of a dialog before it shows it, and waits for that hook;
// no hook can answer one. The notification has part of the question, the tool call reported just before has the rest.
// An answer with Esc runs no hook.

// asking is Gemini CLI's description of a dialog.
type asking struct {
	Type    string `json:"type"`
	Command string `json:"command"`  // exec
	Path    string `json:"filePath"` // edit
	Server  string `json:"serverName"`
	Tool    string `json:"toolName"` // of the server: mcp
	Prompt  string `json:"prompt"`   // info
}

// asksGemini fills in the dialog that an event opens, once the last reported tool call is known.
func asksGemini(e *Event, in input) {
	raw := in["details"]
	var d asking
	_ = jsonx.UnmarshalLenient(raw, &d)
	kind := mail.AsksPermission
	switch d.Type {
	case "ask_user":
		kind = mail.AsksQuestion
	case "exit_plan_mode":
		kind = mail.AsksPlan
	}
	e.noted = func(e *Event, tool, use string, given jsonx.Value) {
		whole := d.isOf(tool, given)
		switch {
		case whole:
			e.Tool, e.ToolUse, e.Input = tool, use, given
		case d.Type == "exec":
			whole = d.Command != ""
			e.Tool, e.Input = "run_shell_command", jsonx.Value(object(map[string]string{"command": d.Command}))
		default:
			e.Tool, e.Input = d.Tool, raw
		}
		a := e.asks(kind)
		a.Unseen, a.Cut = true, a.Cut || !whole
	}
}

// isOf reports whether a dialog is about a tool call.
func (d *asking) isOf(tool string, given jsonx.Value) bool {
	var g struct {
		Command string `json:"command"`
		Path    string `json:"file_path"`
		Prompt  string `json:"prompt"`
	}
	if tool == "" || jsonx.UnmarshalLenient(given, &g) != nil {
		return false
	}
	switch d.Type {
	case "exec":
		return d.Command != "" && g.Command == d.Command
	case "edit":
		return d.Path != "" && (g.Path == d.Path || strings.HasSuffix(d.Path, "/"+g.Path))
	case "mcp":
		return d.Tool != "" && strings.HasSuffix(tool, d.Tool) && strings.Contains(tool, d.Server)
	case "info":
		return d.Prompt != "" && g.Prompt == d.Prompt
	}
	return d.Type == tool // ask_user, exit_plan_mode
}
