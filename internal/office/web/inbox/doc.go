// Package inbox is the inbox, the letter open in it, and the person's work with mail: triage, answers, writing.
// Actions that can be undone wait in package undo. inbox.go is the list, letter.go a message in full, triage.go and
// answers.go the buttons, compose.go and send.go writing. Start at Pages.
package inbox
