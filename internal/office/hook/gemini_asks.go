package hook

import (
	"strings"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
)

// The dialogs of Gemini CLI, as 0.61.0 was seen to have them. It notifies of a dialog before it shows it, and waits
// for that hook; no hook answers one. What is asked stands in the notification in part, and in the use of a tool of
// which it told just before. An answer with Esc no hook is told.

// asking is what Gemini CLI says of a dialog.
type asking struct {
	Type    string `json:"type"`
	Command string `json:"command"`  // exec
	Path    string `json:"filePath"` // edit
	Server  string `json:"serverName"`
	Tool    string `json:"toolName"` // of the server: mcp
	Prompt  string `json:"prompt"`   // info
}

// asksGemini fills in which dialog an event opens, once the use that was told of last is known.
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

// isOf reports whether a dialog is about a use of a tool.
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
