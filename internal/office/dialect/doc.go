// Package dialect says what a foreign protocol consists of.
//
// A Dialect is data and functions: MCP tools with the protocol's own names, the files that it keeps, and the verbs and
// routes that its users know. Each is written once against mail.Service and is told who calls, where the files are and
// what the time is. A peculiarity of a protocol is a field here, and never a test of its name elsewhere.
//
// Every dialect has the same files: doc.go (what it is, the version that was observed, where we differ), wire.go (its
// formats; translation is pure), tools.go, files.go, verbs.go, rules.go, as far as each exists.
//
// It knows the words of mail, and neither rooms nor doors. One starts to read at Dialect. What several protocols need
// stands here once: With reads the arguments of a tool; Inbox, History and Since collect pages; Own keeps a file of a
// bridge's own; Object keeps the members of a line; BadLines names what cannot be understood; Invocation has what
// verbs do; text.go makes foreign texts fit.
package dialect
