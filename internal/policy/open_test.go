package policy

import (
	"slices"
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

func TestCircle(t *testing.T) {
	waits := map[mail.Name][]mail.Name{"a": {"b"}, "b": {"x", "c"}, "c": {"d", "a"}, "d": {"a"}, "e": {"a"},
		"x": {"x"}}
	next := func(n mail.Name) []mail.Name { return waits[n] }
	for _, c := range []struct {
		first, second mail.Name
		want          []mail.Name
	}{
		{"a", "b", []mail.Name{"a", "b", "c", "a"}}, {"d", "a", []mail.Name{"d", "a", "b", "c", "d"}},
		{"e", "a", nil}, {"b", "x", nil}, {"x", "x", []mail.Name{"x", "x"}}, {"a", "nobody", nil},
	} {
		if got := Circle(c.first, c.second, next); !slices.Equal(got, c.want) {
			t.Errorf("Circle(%s, %s) = %q, want %q", c.first, c.second, got, c.want)
		}
	}
}
