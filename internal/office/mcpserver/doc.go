// Package mcpserver is Pennypost's door for clients of the Model Context Protocol.
//
// Below are the transports, which know nothing of mail: HTTPHandler (transport.go routes
// between the protocol's two eras, session.go and resume.go keep the state of the older,
// stream.go sends, guard.go refuses browsers that were tricked) and ServeStdio. They serve
// revisions 2024-11-05 to 2026-07-28 on the official Go SDK, v1.8.0 at the time of writing,
// whose faults they mend where a comment names one. scripts/conformance.sh runs the official
// suite against them with fixtures of the tests. What is hot goes past the SDK (quick.go): a
// call of a tool that is exactly as the protocol has it. The front of an agent hands such calls
// on to ServeCalls, in the post office.
//
// Above are tools and prompts. Whoever serves them says them as a dialect.Endpoint, Pennypost's
// own six (schemas.go) like those of another protocol, and serve.go runs them, whichever way a call
// came. Native adds an agent's mailbox as a resource.
package mcpserver
