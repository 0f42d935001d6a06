package room

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pennypost/internal/mail"
)

// TestPast: each way in which a claim ends is reported, with its time, though most are not events of their own.
func TestPast(t *testing.T) {
	name := func(n string) mail.Target { return mail.Target{Name: n} }
	p := past{of: make(map[mail.Name]*holderPast)}
	claim := func(at mail.Time, c mail.ClaimChange) { p.apply(&mail.Event{At: at, Claim: &c}) }
	agent := func(at mail.Time, c mail.AgentChange) { p.apply(&mail.Event{At: at, Agent: &c}) }
	take := func(at mail.Time, who mail.Name, claims ...mail.Claim) {
		claim(at, mail.ClaimChange{Agent: who, Take: claims})
	}
	agent(1, mail.AgentChange{Name: "ann", Session: "s1", State: mail.Working})
	take(2, "ann", mail.Claim{Target: name("a"), Why: "x"}, mail.Claim{Target: name("b")}, mail.Claim{Target: name(
		"c")},
		mail.Claim{Target: name("t"), Until: 5}, mail.Claim{Target: name("w"), Quiet: 2})
	take(3, "ann", mail.Claim{Target: name("a")})
	claim(3, mail.ClaimChange{Agent: "ann", Free: []mail.Target{name("a")}})
	claim(4, mail.ClaimChange{Agent: "ann", Free: []mail.Target{name("b")}, By: mail.User})
	agent(6, mail.AgentChange{Name: "ann", Turn: mail.TurnEnd, State: mail.Idle})
	agent(7, mail.AgentChange{Name: "ann", Turn: mail.TurnStart, State: mail.Working})
	agent(100, mail.AgentChange{Name: "ann", Turn: mail.TurnEnd, State: mail.Idle})
	agent(5000, mail.AgentChange{Name: "ann", Renamed: "anna"})
	agent(6000, mail.AgentChange{Name: "anna", Session: "s1", End: true})
	take(7000, "bob", mail.Claim{Target: name("a")})
	p.lapse(mail.TimeOf(time.Now()))
	var got []string
	for _, c := range p.all {
		got = append(got, fmt.Sprint(c.Agent, " ", c.Target, " ", int64(c.Since), "-", int64(c.Ended), " ", c.How))
	}
	want := []string{"ann a 2-3 released", "ann b 2-4 released by user", "anna c 2-6000 its session ended",
		"ann t 2-5 its time was up", "ann w 2-2100 its turn ended", "bob a 7000-0 "}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}
