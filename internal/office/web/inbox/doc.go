// Package inbox is the inbox, the letter that is open in it, and what a person does with mail: triage, answers,
// writing. What can be taken back waits in package undo. A place is a file: inbox.go is the list, letter.go a message
// in full, triage.go and answers.go what the buttons do, compose.go and send.go what is written. Start at Pages.
package inbox
