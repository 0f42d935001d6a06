package hook

import (
	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
)

// The dialogs of Codex, as seen in 0.169.0. Its PermissionRequest hook runs before the dialog, which is hidden while
// the hook waits. A question runs no such hook, but is a tool call. For sessions that share an app-server, the server
// also reports dialogs, and takes answers beside the client's own dialog: package codexdialogs.

// asksCodex fills in the dialog that an event opens.
func asksCodex(e *Event, in input) {
	switch {
	case e.kind() == "permissionrequest":
		a := e.asks(mail.AsksPermission, once, refuse)
		command := in.command()
		e.noted = func(e *Event, tool, use string, given jsonx.Value) { // the tool call has no description; e has
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

// decideCodex answers the dialog that e opened. Codex rejects an answer with any other member.
func decideCodex(_ *Event, _ input, a *mail.DialogAnswer) string { return permission(a) }
