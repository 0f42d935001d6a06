// Package tui is the full-screen view of a post office in a terminal, for the person: what needs them, what is new,
// and who is there, over all rooms.
//
// A model says what the person sees. It changes by messages only, of keys and of the post office, and what it wants
// done (a call, a pause, the editor) it returns as values, which Run carries out. So all that it does is tested
// without a terminal. What it shows is lines of text in styles; tcell turns them into what the terminal understands.
//
// Start at model.go; pane.go is what lists have in common, and triage.go and leave.go are what the person does with
// mail. It knows package mail and, of the front, how text is made harmless; of the post office only mail.Office.
//
// Mail is text from strangers. Every text passes clean or cleanLine before it becomes part of a line.
package tui
