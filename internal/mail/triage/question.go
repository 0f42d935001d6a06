package triage

import (
	"strings"

	"pennypost/internal/mail"
)

// Question is an item to be answered. Its methods return the draft to send; an error of code Conflict or Invalid
// says why there is none.
type Question struct {
	*mail.Item
	By mail.Name // who answers
	As string    // its name in errors, by which By recognises it: "it", or its id
}

// AsksUser reports whether an item waits for the user's answer.
func AsksUser(it *mail.Item) bool {
	return it.Open && it.From != mail.ToUser && (it.State != "" || ToUser(&it.Message))
}

// Waits returns an error unless the question waits for an answer.
func (q Question) Waits() error {
	switch {
	case q.Open:
		return nil
	case q.Settled == nil:
		return mail.Errorf(mail.Conflict, "%s does not wait for an answer; nothing was sent", q.As)
	}
	return mail.Errorf(mail.Conflict, "%s no longer waits for an answer: %s has %s it; nothing was sent", q.As,
		q.Settled.By.Signer(), q.Settled.As)
}

// Option answers with the n-th choice, counted from 1.
func (q Question) Option(n int) (mail.Draft, error) {
	if err := q.Waits(); err != nil {
		return mail.Draft{}, err
	}
	list := q.Choices()
	if n < 1 || n > len(list) {
		return mail.Draft{}, mail.Errorf(mail.Invalid, "the question has no suggested answer %d; nothing was sent", n)
	}
	return q.Choose(q.By, list[n-1].Answer), nil
}

// Adopt answers in the words of a suggestion.
func (q Question) Adopt(suggestion *mail.Item) (mail.Draft, error) {
	if !suggestion.Suggests || suggestion.ReplyTo != q.ID {
		return mail.Draft{}, mail.Errorf(mail.Invalid, "the question has no answer suggested by %s; nothing was sent",
			suggestion.ID)
	}
	return q.Item.Adopt(q.By, &suggestion.Message), q.Waits()
}

// Decline refuses to answer.
func (q Question) Decline(reason string) (mail.Draft, error) {
	return q.Item.Decline(q.By, reason), q.Waits()
}

// Write answers, or replies, with free text. There is no reply to a message of the post office that asks nothing.
func (q Question) Write(text string) (mail.Draft, error) {
	d := q.Reply(q.By)
	switch d.Body = text; {
	case len(d.To) == 0:
		return d, mail.Errorf(mail.Invalid, "the post office itself wrote %s, so a reply has no recipient", q.As)
	case strings.TrimSpace(text) == "":
		return d, mail.Errorf(mail.Invalid, "the answer has no text; nothing was sent")
	}
	return d, nil
}
