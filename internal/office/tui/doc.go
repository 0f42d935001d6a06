// Package tui is the person's full-screen terminal view of a post office: what needs them, what is new, and which
// agents there are, in all rooms.
//
// A model holds what the person sees. Only messages change it: keys, and news from the post office. It returns
// effects (a call, a pause, the editor) as values, which Run carries out, so tests need no terminal. Its output is
// lines of styled text, which tcell renders.
//
// Start at model.go; pane.go is the base of lists; triage.go and leave.go act on mail. The package knows package
// mail, the front's text sanitizing and, of the post office, only mail.Office.
//
// Mail is untrusted text. Every text passes through clean or cleanLine before it enters a line.
package tui
