// Package hook is what the post office makes of the hooks that agents' clients run at moments of a session: it tells
// the room that the moment has come, and the agent what mail there is. The hook's process is package hookpipe's, which
// keeps every failure from the client.
//
//   - What is told is marked as presented when the client has been handed the output, and not before. Where a client takes no text at a
//     moment, or takes it for the person's eyes only, nothing is told and nothing marked: the mail comes with the next moment that can carry it.
//   - The same text is not told twice in a session; the room sees to that. If the marks cannot be written when the output has been handed over,
//     it is told again rather than lost.
//   - What is told fits within MaxText. What does not is pointed to.
//   - Hooks of subagents tell nothing and end no turn: the mail is their parent's. A cancel stops their tools too.
//
// Each client is a file: what it says, as an Event, and how it wants to be answered. docs/clients.md says from which
// version the facts are.
package hook
