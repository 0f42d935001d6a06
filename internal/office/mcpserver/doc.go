// Package mcpserver is Pennypost's door for clients of the Model Context Protocol.
//
// The lower part is the transports, which know nothing of mail: HTTPHandler (transport.go routes
// between the protocol's two eras, session.go and resume.go keep the state of the older one,
// stream.go sends, guard.go refuses requests that a browser was tricked into) and ServeStdio. They
// serve revisions 2024-11-05 to 2026-07-28 on the official Go SDK (v1.8.0 when this was written) and
// work around its faults where a comment names one. scripts/conformance.sh runs the official suite
// against them with the fixtures of the tests. Hot calls bypass the SDK (quick.go): those of a tool
// in exactly the protocol's standard form. An agent's front forwards them to ServeCalls in the post
// office.
//
// The upper part is tools and prompts. Each set is a dialect.Endpoint, Pennypost's own six tools
// (schemas.go) as well as another protocol's, and serve.go runs them for every transport. Native
// adds an agent's mailbox as a resource.
package mcpserver
