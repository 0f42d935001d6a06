package triage

import (
	"strings"
	"testing"

	"pennypost/internal/mail"
)

func question(open bool) Question {
	return Question{By: mail.User, As: "it", Item: &mail.Item{Open: open, Message: mail.Message{
		ID: "msg_q", From: "agent:ann", To: []mail.Address{mail.ToUser}, Type: mail.Question,
		Metadata: mail.Metadata(`{"options":["Tabs","Spaces"]}`),
	}}}
}

func TestQuestion(t *testing.T) {
	suggestion := &mail.Item{Message: mail.Message{ID: "msg_s", Suggests: true, ReplyTo: "msg_q",
		Type: mail.Answer, Body: "Both"}}
	other := &mail.Item{Message: mail.Message{ID: "msg_o", Suggests: true, ReplyTo: "msg_x"}}
	settled := question(false)
	settled.Settled = &mail.Settlement{By: "agent:bob", As: mail.Answered}
	for name, tt := range map[string]struct {
		make       func(Question) (mail.Draft, error)
		body, fail string // the text sent; the error
	}{
		"option":        {func(q Question) (mail.Draft, error) { return q.Option(2) }, "Spaces", ""},
		"option 0":      {func(q Question) (mail.Draft, error) { return q.Option(0) }, "", "no suggested answer 0"},
		"option 3":      {func(q Question) (mail.Draft, error) { return q.Option(3) }, "", "no suggested answer 3"},
		"adopt":         {func(q Question) (mail.Draft, error) { return q.Adopt(suggestion) }, "Both", ""},
		"adopt another": {func(q Question) (mail.Draft, error) { return q.Adopt(other) }, "", "suggested by msg_o"},
		"decline":       {func(q Question) (mail.Draft, error) { return q.Decline("Not now") }, "Not now", ""},
		"write":         {func(q Question) (mail.Draft, error) { return q.Write("Mine") }, "Mine", ""},
		"write nothing": {func(q Question) (mail.Draft, error) { return q.Write(" ") }, "", "has no text"},
	} {
		d, err := tt.make(question(true))
		if tt.fail == "" && (err != nil || d.Body != tt.body || d.ReplyTo != "msg_q" || d.To[0] != "agent:ann") {
			t.Errorf("%s: %+v, %v", name, d, err)
		}
		if tt.fail != "" && (err == nil || !strings.Contains(err.Error(), tt.fail)) {
			t.Errorf("%s: %v, want %q", name, err, tt.fail)
		}
		_, err = tt.make(settled)
		waits := err == nil || strings.Contains(err.Error(), "it no longer waits for an answer: bob has")
		if !waits && !strings.Contains(name, " ") {
			t.Errorf("%s of what was answered: %v", name, err)
		}
		if err == nil && name != "write" {
			t.Errorf("%s: what was answered is answered again", name)
		}
	}
}

// TestBefore: undoing a mark restores the item's previous state.
func TestBefore(t *testing.T) {
	for name, tt := range map[string]struct {
		it   mail.Item
		mark mail.Mark
		want mail.Mark
	}{
		"unread":          {mail.Item{}, mail.MarkRead, mail.MarkUnread},
		"read":            {mail.Item{Read: true}, mail.MarkUnread, mail.MarkRead},
		"archived":        {mail.Item{Read: true}, mail.MarkArchived, mail.MarkUnarchived},
		"out of archive":  {mail.Item{State: mail.Archived}, mail.MarkUnarchived, mail.MarkArchived},
		"snoozed, and so": {mail.Item{Snoozed: 5}, mail.MarkArchived, mail.MarkSnoozed},
	} {
		if got, until := Before(&tt.it, tt.mark); got != tt.want || until != tt.it.Snoozed {
			t.Errorf("%s: %s until %d, want %s", name, got, until, tt.want)
		}
	}
}

func TestKeys(t *testing.T) {
	for act, key := range map[Act]string{Option: "1", Adopt: "a", Archive: "e", Delete: "Delete", Undo: "z"} {
		if act.Key() != key || Of(key) != act {
			t.Errorf("%s has key %q, and %q is %s", act, act.Key(), key, Of(key))
		}
	}
}
