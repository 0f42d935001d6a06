package room

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pennypost/internal/mail"
)

// TestDialogAnswer: typed words are one of the answers that the client takes, or none.
func TestDialogAnswer(t *testing.T) {
	allow, deny := mail.Offer{Verdict: mail.SayAllow}, mail.Offer{Verdict: mail.SayDeny, Words: true}
	always, answer := mail.Offer{Verdict: mail.SayAllow, Rule: 1, Writes: "all"}, mail.Offer{Verdict: mail.SayAnswer}
	question := func(free, several bool, labels ...string) mail.AskedQuestion {
		q := mail.AskedQuestion{Text: "Q?", Free: free, Several: several}
		for _, l := range labels {
			q.Options = append(q.Options, mail.Choice{Label: l})
		}
		return q
	}
	form := func(qs ...mail.AskedQuestion) mail.Card {
		return mail.Card{Dialog: mail.Dialog{Kind: mail.AsksQuestion}, Ask: mail.Ask{Questions: qs,
			Offers: []mail.Offer{answer, deny}}}
	}
	command := mail.Card{Dialog: mail.Dialog{Kind: mail.AsksPermission}, Ask: mail.Ask{Form: mail.FormCommand,
		Text: "rm", Offers: []mail.Offer{allow, always, deny}}}
	cut := command
	cut.Cut = true
	one, pick := form(question(true, false, "Tabs", "Two spaces")), form(question(true, true, "A", "B"))
	strict := form(question(false, false, "Tabs", "Spaces"))
	numbers := form(question(true, false, "2", "1"))
	two := form(question(true, false, "X"), question(false, true, "Y", "Z"))
	for _, tt := range []struct {
		card mail.Card
		said []string
		want string // "": refused
	}{
		{command, []string{"1"}, "allow 0"}, {command, []string{"allow"}, "allow 0"},
		{command, []string{"Allow", "once"}, "allow 0"}, {command, []string{"2"}, "allow 1"},
		{command, []string{"deny"}, "deny 0"}, {command, []string{"DENY", "not", "here"}, "deny 0 not here"},
		{command, []string{"3", "not 2"}, "deny 0 not 2"}, {command, []string{"4"}, ""},
		{command, []string{"0"}, ""}, {command, []string{"1", "x"}, ""}, {command, []string{"yes"}, ""},
		{command, []string{""}, ""}, {cut, []string{"1"}, "deny 0"}, {cut, []string{"allow"}, ""},
		{one, []string{"2"}, "answer 0 [Two spaces]"}, {one, []string{"two", "spaces"}, "answer 0 [Two spaces]"},
		{one, []string{"none", "of", "these"}, "answer 0 []none of these"}, {one, []string{"4"}, ""},
		{one, []string{"answer"}, "answer 0 []answer"}, {one, []string{"deny", "later"}, "deny 0 later"},
		{one, []string{"3", "later"}, "deny 0 later"}, {one, []string{"1", "x"}, ""},
		{strict, []string{"tabs"}, "answer 0 [Tabs]"}, {strict, []string{"mine"}, ""},
		{pick, []string{"1,b"}, "answer 0 [A B]"}, {pick, []string{"1,", "2"}, "answer 0 [A B]"},
		{pick, []string{"2", "2"}, "answer 0 []2 2"}, {pick, []string{"3"}, ""},
		{pick, []string{"B,mine"}, "answer 0 []B,mine"}, {pick, []string{"deny"}, "deny 0"},
		{numbers, []string{"1"}, ""}, {numbers, []string{"2"}, ""},
		{two, []string{"x", "1,2"}, "answer 0 [X] [Y Z]"}, {two, []string{"mine", "z"}, "answer 0 []mine [Z]"},
		{form(question(true, true, "2", "1")), []string{"1"}, ""}, // which of them?
		{two, []string{"1"}, ""}, {two, []string{"1", "mine"}, ""}, {two, []string{"1", "1", "1"}, ""},
	} {
		a, _, err := dialogAnswer(&tt.card, tt.said)
		got := fmt.Sprintf("%s %d", a.Verdict, a.Rule)
		for _, q := range a.Answers {
			got += fmt.Sprintf(" %v%s", q.Labels, q.Words)
		}
		if a.Words != "" {
			got += " " + a.Words
		}
		if err != nil {
			got = ""
			if mail.CodeOf(err) != mail.Invalid {
				t.Errorf("dialogAnswer(%q): %v", tt.said, err)
			}
		} else if err := tt.card.Fits(&a); err != nil {
			t.Errorf("dialogAnswer(%q) is refused: %v", tt.said, err)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("dialogAnswer(%s, %q): -want +got\n%s", tt.card.Kind, tt.said, diff)
		}
	}
}
