// Package hook is what the post office makes of the hooks that agents' clients run at moments of a session: it tells
// the room that the moment has come, and the agent what mail there is. The hook's process is package hookpipe's, which
// keeps every failure from the client.
//
//   - Mail is marked as presented when the client has been handed the output, and not before. Where a client takes no
//     text at a moment, or only shows it to the person, no mail is handed over and none is marked: it comes with the
//     next moment that can carry it.
//   - The room sees to it that a session is not told the same text twice. If the marks cannot be written after the
//     output was handed over, the mail is told again rather than lost.
//   - What is told fits within MaxText. Mail that does not fit is pointed to.
//   - Hooks of subagents tell nothing and end no turn, because the mail is their parent's. A cancel stops their tools
//     too.
//
// Each client is a file: what it says, as an Event, and how it wants to be answered. docs/clients-evidence.md says
// from which version the facts are.
package hook
