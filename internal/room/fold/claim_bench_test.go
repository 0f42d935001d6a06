package fold_test

import (
	"fmt"
	"testing"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
	"pennypost/internal/room/fold"
)

// BenchmarkClash finds who holds a file, among 10,000 claims of 20 agents. The requirement is at most a millisecond.
func BenchmarkClash(b *testing.B) {
	s := fold.NewState(policy.TTL{})
	seq := mail.Seq(0)
	apply := func(e mail.Event) {
		seq++
		e.Seq, e.At = seq, 1
		s.Apply(&e)
	}
	for a := range 20 {
		name := mail.Name(fmt.Sprint("agent-", a))
		apply(mail.Event{Agent: &mail.AgentChange{Name: name, Session: "s-" + string(name), Turn: mail.TurnStart}})
		for c := range 500 {
			apply(mail.Event{Claim: &mail.ClaimChange{Agent: name, Take: []mail.Claim{{Quiet: 120, Target: mail.Target{
				Root: "fd01-2a", At: "/src/shop", Path: fmt.Sprint("internal/package", a, "/file", c, ".go")}}}}})
		}
	}
	if n := len(s.Holdings(1)); n != 10_000 {
		b.Fatalf("%d claims are held", n)
	}
	me := s.Agent("agent-0")
	for name, path := range map[string]string{"free": "internal/package0/other.go",
		"held": "internal/package19/file499.go"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				_, found := s.Clash(me, mail.Target{Root: "fd01-2a", At: "/src/shop", Path: path}, false, 1)
				if found != (name == "held") {
					b.Fatal(found)
				}
			}
		})
	}
}
