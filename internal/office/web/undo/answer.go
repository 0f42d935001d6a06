package undo

import (
	"strings"

	"pennypost/internal/mail"
	render "pennypost/internal/office/markdown"
)

// ChoiceKey begins the key of an answer that was a button: a question is answered by one of those once.
const ChoiceKey = "choice-"

// Answer is what the person answered to a message. It waits for Time before it is sent.
type Answer struct {
	Draft   mail.Draft
	Settles bool   // a question that was open when it was answered
	Problem string // why it could not be sent
}

// Typed is what was written, and not chosen.
func (a *Answer) Typed() string {
	if strings.HasPrefix(a.Draft.Key, ChoiceKey) {
		return ""
	}
	return a.Draft.Body
}

// Text is the answer in a few words.
func (a *Answer) Text() string { return render.Preview(a.Draft.Body, 40) }
