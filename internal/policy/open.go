package policy

import (
	"slices"

	"pennypost/internal/mail"
)

// Settles reports whether a message settles what question asks, and how: by being a reply to it of the type that
// answers it, or an answer. Anybody may answer, because those who were asked may have passed it on.
func Settles(question, reply *mail.Message) (mail.Outcome, bool) {
	by := question.Type.Rule().AnsweredBy
	switch {
	case by == "" || reply.ReplyTo != question.ID || reply.Type != by && reply.Type != mail.Answer:
		return "", false
	case reply.Declines():
		return mail.Declined, true
	}
	return mail.Answered, true
}

// Chain follows who waits for whom from the first name on; next returns "" for somebody who waits for nobody. circle
// reports whether it came to a name that it has already, which then ends the chain.
func Chain(first, second mail.Name, next func(mail.Name) mail.Name) (chain []mail.Name, circle bool) {
	chain = []mail.Name{first}
	for n := second; n != ""; n = next(n) {
		circle = slices.Contains(chain, n)
		chain = append(chain, n)
		if circle {
			break
		}
	}
	return chain, circle
}
