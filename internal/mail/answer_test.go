package mail

import (
	"slices"
	"testing"
)

// TestAnswer: the recipients of a reply, and whether it settles a question, depend on who replies.
func TestAnswer(t *testing.T) {
	question := Message{Type: Question, From: "agent:ann", To: []Address{"user", "agent:bob"}}
	own := Message{Type: Question, From: "user", To: []Address{"agent:ann", "user"}}
	for _, tt := range []struct {
		m    Message
		by   Name
		kind Type
		to   []Address
	}{
		{question, User, Answer, []Address{"agent:ann"}},
		{question, "ann", Custom, []Address{"user", "agent:bob"}}, // more about her own question
		{own, User, Custom, []Address{"agent:ann"}},
		{own, "ann", Answer, []Address{"user"}},
		{Message{Type: Status, From: "agent:ann"}, User, Custom, []Address{"agent:ann"}},
		{Message{Type: ReviewRequest, From: "orchestrator"}, "ann", Answer, []Address{"orchestrator"}},
		{Message{Type: Status, From: FromSystem, To: []Address{"user"}}, User, Custom, nil},
	} {
		if kind, to := tt.m.AnswerType(tt.by), tt.m.AnswerTo(tt.by); kind != tt.kind || !slices.Equal(to, tt.to) {
			t.Errorf("%s of %s, answered by %s: %s to %v, want %s to %v", tt.m.Type, tt.m.From, tt.by, kind, to,
				tt.kind,
				tt.to)
		}
	}
}

// TestChoose: a choice gives the same answer through every door.
func TestChoose(t *testing.T) {
	question := Message{ID: "msg_q", Type: Question, From: "agent:ann",
		Metadata: Metadata(`{"options":["8080","9090"]}`)}
	review := Message{ID: "msg_r", Type: ReviewRequest, From: "agent:ann"}
	if got := review.Choices(); len(got) != 3 || got[0].Answer != "approved" {
		t.Errorf("a review offers %v, want the verdicts", got)
	}
	if got := question.Choices(); len(got) != 2 || got[1].Answer != "9090" {
		t.Errorf("a question offers %v, want its options", got)
	}
	if d := question.Choose(User, "9090"); d.Type != "answer" || d.Body != "9090" || d.ReplyTo != "msg_q" ||
		d.Metadata != nil || !slices.Equal(d.To, Recipients{"agent:ann"}) {
		t.Errorf("an option is answered by %+v", d)
	}
	if d := review.Choose(User, "blocked"); d.Type != "review-result" || d.Metadata.Text("verdict") != "blocked" {
		t.Errorf("a verdict is %+v", d)
	}
	review.Metadata = question.Metadata
	if d := review.Choose(User, "9090"); d.Type != "answer" || d.Metadata != nil {
		t.Errorf("an option of a review is answered by %+v", d)
	}
	d := question.Decline(User, DeclinedBody)
	if m := (Message{Metadata: d.Metadata}); d.Type != "answer" || d.Body != DeclinedBody || !m.Declines() {
		t.Errorf("a refusal is %+v", d)
	}
}
