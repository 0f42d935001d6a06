package undo

import (
	"strings"

	"pennypost/internal/mail"
	render "pennypost/internal/office/markdown"
)

// ChoiceKey is the key prefix of an answer given with a button: such an answer settles a question only once.
const ChoiceKey = "choice-"

// Answer is a person's answer to a message. It waits for Time before it is sent.
type Answer struct {
	Draft   mail.Draft
	Settles bool   // the question was open when it was answered
	Problem string // why sending failed
}

// Typed is the typed text; "" for a chosen answer.
func (a *Answer) Typed() string {
	if strings.HasPrefix(a.Draft.Key, ChoiceKey) {
		return ""
	}
	return a.Draft.Body
}

// Text is the beginning of the answer.
func (a *Answer) Text() string { return render.Preview(a.Draft.Body, 40) }
