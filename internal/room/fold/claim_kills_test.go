package fold_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
	"pennypost/internal/room/fold"
)

// TestClaimsOfTheKilled kills 1,000 sessions at random moments, and nothing is heard of them again: three minutes
// after the last sign of life none holds anything, whatever it took, and others take it.
func TestClaimsOfTheKilled(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		s, at, seq := fold.NewState(policy.TTL{}), mail.TimeOf(time.Unix(1<<30, 0)), mail.Seq(0)
		apply := func(e mail.Event) {
			seq++
			e.Seq, e.At = seq, at
			s.Apply(&e)
		}
		states := []mail.State{mail.Working, mail.Idle}
		for range 2 + random.IntN(8) {
			at = at.Add(time.Duration(random.IntN(150)) * time.Second)
			apply(mail.Event{Agent: &mail.AgentChange{Name: "ann", Session: "s1", State: states[random.IntN(2)]}})
			c := mail.Claim{Target: mail.Target{Root: "r", At: "/r", Path: fmt.Sprint("f", random.IntN(9))}}
			switch random.IntN(3) {
			case 0:
				c.Quiet = 120
			case 1:
				c.Until = at.Add(time.Hour)
			}
			apply(mail.Event{Claim: &mail.ClaimChange{Agent: "ann", Take: []mail.Claim{c}}})
		}
		if !s.Members["ann"].Holds(&mail.Claim{}, at) {
			t.Fatal("it holds nothing while it lives")
		}
		at = at.Add(3 * time.Minute)
		if held := s.Holdings(at); len(held) > 0 {
			t.Fatalf("three minutes after its last sign of life it holds %+v", held)
		}
		apply(mail.Event{Agent: &mail.AgentChange{Name: "bob", Session: "s2", State: mail.Working}})
		for i := range 9 {
			apply(mail.Event{Claim: &mail.ClaimChange{Agent: "bob", Take: []mail.Claim{{Target: mail.Target{Root: "r",
				At: "/r", Path: fmt.Sprint("f", i)}}}}})
		}
		if held := s.Holdings(at); len(held) != 9 || held[0].Agent != "bob" {
			t.Fatalf("bob takes all, and held is %+v", held)
		}
	}
}

// TestOvertakenForGood checks that a claim that another has taken does not come back, even if its session is heard of
// again by a clock that is behind.
func TestOvertakenForGood(t *testing.T) {
	s, began, seq := fold.NewState(policy.TTL{}), mail.TimeOf(time.Unix(1<<30, 0)), mail.Seq(0)
	apply := func(after time.Duration, e mail.Event) {
		seq++
		e.Seq, e.At = seq, began.Add(after)
		s.Apply(&e)
	}
	lives := func(after time.Duration, name mail.Name) {
		c := &mail.AgentChange{Name: name, Session: "of " + string(name), State: mail.Working}
		apply(after, mail.Event{Agent: c})
	}
	takes := func(after time.Duration, name mail.Name) {
		c := mail.Claim{Target: mail.Target{Root: "r", At: "/r", Path: "f"}}
		apply(after, mail.Event{Claim: &mail.ClaimChange{Agent: name, Take: []mail.Claim{c}}})
	}
	lives(0, "ann")
	takes(0, "ann")
	lives(5*time.Minute, "bob")
	takes(5*time.Minute, "bob")
	lives(time.Minute, "ann") // by the clock of its machine
	for _, after := range []time.Duration{time.Minute, 2 * time.Minute, 6 * time.Minute} {
		if held := s.Holdings(began.Add(after)); len(held) != 1 || held[0].Agent != "bob" {
			t.Errorf("after %v held is %+v, want by bob alone", after, held)
		}
	}
}
