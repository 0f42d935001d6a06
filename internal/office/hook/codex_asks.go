package hook

import (
	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
)

// The dialogs of Codex, as 0.169.0 was seen to have them. Its hook PermissionRequest runs before the dialog, which is
// not shown while the hook waits; a question has none, but is the use of a tool. Of sessions that share an app-server
// that tells too, and there they are answered beside the client's own dialog: package codexdialogs.

// asksCodex fills in which dialog an event opens.
func asksCodex(e *Event, in input) {
	switch {
	case e.kind() == "permissionrequest":
		a := e.asks(mail.AsksPermission, once, refuse)
		command := in.command()
		e.noted = func(e *Event, tool, use string, given jsonx.Value) { // which had no description, as here
			var last struct {
				Command string `json:"command"`
			}
			_ = jsonx.UnmarshalLenient(given, &last)
			if tool == e.Tool && (command != "" && last.Command == command || sumOf(tool, given) == e.Sum()) {
				a.Use = use
			}
		}
	case e.Moment == mail.BeforeTool && e.Tool == "request_user_input":
		e.asks(mail.AsksQuestion)
	}
}

// decideCodex answers the dialog that e has opened. Codex refuses an answer with anything else in it.
func decideCodex(_ *Event, _ input, a *mail.DialogAnswer) string { return permission(a) }
