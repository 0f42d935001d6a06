// Package amq reads the mailboxes of AMQ (github.com/avivsinai/agent-message-queue, schema 1) as messages that a
// room can import. It writes nothing there.
//
// A message is a file ROOT/agents/HANDLE/BOX/ID.md: the line "---json", a JSON object, the line "---" and a
// Markdown text. Its copies in inbox/new, inbox/cur and outbox/sent are one message. Start at read.go.
package amq
