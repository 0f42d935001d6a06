package triage

import (
	"cmp"
	"fmt"
	"time"

	"pennypost/internal/base/wording"
	"pennypost/internal/mail"
)

// remindAgain is the length of the windows in each of which the same reminder is sent once.
const remindAgain = 10 * time.Minute

// reminder is its text: who waits, for how long, and on which message.
const reminder = "%s has waited %s for your answer. Answer %s, or decline it, to end the wait."

// Remind returns the user's reminder of a question to an agent, which wakes it like every message of the user. It
// returns an error if the question is settled.
func Remind(q *mail.Item, to mail.Name, now time.Time) (mail.Draft, error) {
	if q.Settled != nil {
		return mail.Draft{}, mail.Errorf(mail.Conflict, "the question is already %s. No reminder was sent",
			q.Settled.As)
	}
	about := cmp.Or(q.Subject, string(q.Type))
	return mail.Draft{
		To: mail.Recipients{string(mail.AgentAddress(to))}, Type: string(mail.Custom), ReplyTo: q.ID, Issue: q.Issue,
		Subject: "Reminder: " + wording.ClipRunes(about, 200),
		Body:    fmt.Sprintf(reminder, q.From.Signer(), wording.Span(now.Sub(q.Sent.Std())), q.ID),
		Key:     fmt.Sprintf("remind-%s-%s-%d", q.ID, to, now.Unix()/int64(remindAgain.Seconds())),
	}, nil
}
