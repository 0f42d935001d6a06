package fold_test

import (
	"testing"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
	"pennypost/internal/room/fold"
)

// TestLateCheckpoint checks that a checkpoint does not count if another machine has written since the state that it
// describes.
func TestLateCheckpoint(t *testing.T) {
	s := fold.NewState(policy.TTL{})
	s.Apply(&mail.Event{Seq: 1, At: 1, Agent: &mail.AgentChange{Name: "ann"}})
	before := s.Checkpoint()
	s.Apply(&mail.Event{Seq: 2, At: 2, Agent: &mail.AgentChange{Name: "bob"}})
	s.Apply(&mail.Event{Seq: 3, At: 3, Checkpoint: before})
	if s.Agent("ann") == nil || s.Agent("bob") == nil {
		t.Errorf("after a checkpoint from before bob, the roster has ann: %t, bob: %t; want both",
			s.Agent("ann") != nil, s.Agent("bob") != nil)
	}
}
