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
