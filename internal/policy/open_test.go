package policy

import (
	"testing"

	"pennypost/internal/mail"
)

func TestP13_Settles(t *testing.T) {
	for _, c := range []struct {
		asks, answers mail.Type
		metadata      string
		replyTo       mail.ID
		want          mail.Outcome
	}{
		{mail.Question, mail.Answer, "", "q", mail.Answered},
		{mail.Question, mail.Answer, "", "other", ""},
		{mail.Question, mail.Answer, `{"declined":true}`, "q", mail.Declined},
		{mail.Question, mail.Answer, `{"declined":"not now"}`, "q", mail.Declined},
		{mail.Question, mail.Answer, `{"declined":null}`, "q", mail.Answered},
		{mail.Question, mail.Status, "", "q", ""},
		{mail.Question, mail.Custom, "", "q", ""},
		{mail.Question, mail.ReviewResult, "", "q", ""},
		{mail.ReviewRequest, mail.ReviewResult, "", "q", mail.Answered},
		{mail.ReviewRequest, mail.Answer, "", "q", mail.Answered},
		{mail.TaskAssigned, mail.Answer, "", "q", ""},
	} {
		got, ok := Settles(c.asks, "q",
			&mail.Message{ID: "a", Type: c.answers, ReplyTo: c.replyTo, Metadata: mail.Metadata(c.metadata)})
		if got != c.want || ok != (c.want != "") {
			t.Errorf("Settles(%s, %s %s to %s) = %q, %v; want %q", c.asks, c.answers, c.metadata, c.replyTo, got, ok,
				c.want)
		}
	}
}
