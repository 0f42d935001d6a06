// Package hook turns the hooks that agents' clients run during a session into events: it tells the room that the
// moment has come, and the agent about its mail. The hook's process belongs to package hookpipe, which keeps every
// failure from the client.
//
//   - Mail is marked as presented after the client has been handed the output, never before. Where a client takes no
//     text at a moment, or only shows it to the person, no mail is handed over or marked: it is told at the next
//     moment that can carry it.
//   - The room makes sure that a session is not told the same text twice. If the marks cannot be written after the
//     output was handed over, the mail is told again rather than lost.
//   - The told text fits within MaxText. Mail that does not fit is pointed to.
//   - Hooks of subagents tell nothing and end no turn, because the mail is their parent's. A cancel stops their tools
//     too.
//
// Each client has a file: how its input becomes an Event, and how it is answered. docs/clients-evidence.md names the
// versions that the facts come from.
package hook
