// Package amq reads the mailboxes of AMQ (github.com/avivsinai/agent-message-queue, schema 1) as messages that a room
// can import. Nothing is written there.
//
// A message is a file ROOT/agents/HANDLE/BOX/ID.md: the line "---json", a JSON object, the line "---" and a text in
// Markdown. Its copies in inbox/new, inbox/cur and outbox/sent are one message. Start at read.go.
package amq
