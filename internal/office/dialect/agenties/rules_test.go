package agenties

import (
	"strings"
	"testing"

	"pennypost/internal/mail"
)

// TestDirections writes out the document's table of types: who may send each type to whom.
func TestDirections(t *testing.T) {
	targets := []mail.Address{"agent:x", mail.ToOrchestrator, "role:builder", mail.ToAll, mail.ToUser}
	senders := map[party]string{anAgent: "agent", theOrchestrator: "orchestrator", theUser: "user"}
	// One letter per target, in the order of targets: a, o, r, b, u; a dash means refused.
	want := map[mail.Type]map[party]string{
		mail.TaskAssigned:  {anAgent: "-----", theOrchestrator: "a-r--", theUser: "aorbu"},
		mail.TaskDone:      {anAgent: "-o---", theOrchestrator: "-----", theUser: "aorbu"},
		mail.ReviewRequest: {anAgent: "a-r--", theOrchestrator: "a-r--", theUser: "aorbu"},
		mail.ReviewResult:  {anAgent: "-o---", theOrchestrator: "-----", theUser: "aorbu"},
		mail.Question:      {anAgent: "-o---", theOrchestrator: "----u", theUser: "aorbu"},
		mail.Answer:        {anAgent: "-----", theOrchestrator: "a----", theUser: "aorbu"},
		mail.Cancel:        {anAgent: "-----", theOrchestrator: "a----", theUser: "aorbu"},
		mail.Status:        {anAgent: "---b-", theOrchestrator: "-----", theUser: "aorbu"},
		mail.Custom:        {anAgent: "aorb-", theOrchestrator: "aorbu", theUser: "aorbu"},
	}
	if len(want) != len(mail.Types()) {
		t.Fatal("a type is missing")
	}
	for typ, row := range want {
		for from, ways := range row {
			t.Run("AG-08 "+string(typ)+" from "+senders[from], func(t *testing.T) {
				for i, to := range targets {
					err := checkDirection(typ, from, to)
					if allowed := ways[i] != '-'; allowed != (err == nil) {
						t.Errorf("to %s: %v, want allowed = %v", to, err, allowed)
					}
					if err != nil && mail.CodeOf(err) != mail.Denied {
						t.Errorf("to %s: code %s", to, mail.CodeOf(err))
					}
				}
			})
		}
	}
	for _, typ := range mail.Types() { // A7
		t.Run("AG-18 "+string(typ)+" from an agent to the user", func(t *testing.T) {
			err := checkDirection(typ, anAgent, mail.ToUser)
			if err == nil || !strings.Contains(err.Error(),
				"Sub-agents route to orchestrator when they need human input") {
				t.Errorf("%v: the hint is missing", err)
			}
		})
	}
	t.Run("AG-08 a refusal says where it goes", func(t *testing.T) {
		err := checkDirection(mail.TaskDone, anAgent, mail.ToAll)
		want :=
			`task-done goes from an agent (agent:<id>) to the orchestrator. You are an agent (agent:<id>) and wrote to "broadcast": nothing was sent. Choose another recipient, or type custom if no other fits`
		if err == nil || err.Error() != want {
			t.Errorf("%v\nwant\n%s", err, want)
		}
	})
}
