// Package dialect defines foreign protocols.
//
// A Dialect is data and functions: MCP tools with the protocol's own names, its files, and the verbs and routes that
// its users know. Each is written once against mail.Service and gets the caller, the directory and the time as
// parameters. A peculiarity of a protocol is a field here, never a test of its name elsewhere.
//
// All dialects have the same files: doc.go (a description, the version observed, the differences), wire.go (the
// formats; translation is pure), tools.go, files.go, verbs.go, rules.go, as far as each exists.
//
// The package uses the words of mail, and neither rooms nor doors. Start reading at Dialect. Shared parts: With
// decodes a tool's arguments; Inbox, History and Since collect pages; Own is a file of the bridge's own; Object
// keeps the members of a line; BadLines lists malformed pieces; Invocation gives verbs their flags and environment;
// text.go makes foreign texts fit.
package dialect
