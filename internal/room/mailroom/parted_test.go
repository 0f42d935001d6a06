package mailroom

import (
	"testing"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
)

// TestConnectionEnds checks the effect of the end of a connection on an agent that may continue without it: its name
// is free immediately, and it is gone if it is not heard of again, unless its program runs or it continued by other
// means.
func TestConnectionEnds(t *testing.T) {
	const program = "10.1@b"
	for name, c := range map[string]struct {
		process string
		alive   bool
		after   func(l *lab) // soon after the end
		want    mail.State   // long after it
	}{
		"nothing more":          {want: mail.Gone},
		"its program has ended": {process: program, want: mail.Gone},
		"its program runs on":   {process: program, alive: true, want: mail.Idle},
		"it sends": {want: mail.Idle, after: func(l *lab) {
			l.send("bob", mail.Draft{To: mail.Recipients{"all"}})
		}},
		"it is spoken of": {want: mail.Idle, after: func(l *lab) {
			l.register(mail.Presence{Name: "bob", Update: true})
		}},
		"it is frozen": {want: mail.Frozen, after: func(l *lab) {
			l.register(mail.Presence{Name: "bob", State: mail.Frozen})
		}},
		"it is said to have gone": {want: mail.Gone, after: func(l *lab) {
			l.register(mail.Presence{Name: "bob", State: mail.Gone})
		}},
		"it connects, and ends": {want: mail.Gone, after: func(l *lab) { connection(l, "c2", ""); end(l, "c2") }},
	} {
		t.Run(name, func(t *testing.T) {
			inLab(t, Options{Alive: func(p string) bool { return c.alive && p == program }}, func(l *lab) {
				if a := connection(l, "c1", c.process); a.Name != "bob" {
					l.Fatalf("the first is %s", a.Name)
				}
				time.Sleep(10 * time.Second)
				end(l, "c1")
				if a := l.agent("bob"); a.State != mail.Idle || a.Session != "" {
					l.Errorf("at once it is %s in session %q", a.State, a.Session)
				}
				sent := l.send("alice", mail.Draft{To: mail.Recipients{"bob"}})
				if got := l.state(sent.ID); got != mail.Queued {
					l.Errorf("its mail is %s", got)
				}
				if c.after != nil {
					c.after(l)
				}
				time.Sleep(policy.SessionLapse - time.Second)
				l.must(l.room.endLapsed(l.Context()))
				if got := l.agent("bob").State; got != c.want && got != mail.Idle {
					l.Errorf("within the time of grace it is %s", got)
				}
				time.Sleep(time.Minute)
				l.must(l.room.endLapsed(l.Context()))
				if got := l.agent("bob").State; got != c.want {
					l.Errorf("it is %s, want %s", got, c.want)
				}
				if a := connection(l, "c3", ""); a.Name != "bob" || a.Session != "c3" {
					l.Errorf("the next connection is %s in %s", a.Name, a.Session)
				}
			})
		})
	}
}

// TestSessionEndsAtOnce checks that a session that is not a mere connection is over when it says so.
func TestSessionEndsAtOnce(t *testing.T) {
	inLab(t, Options{}, func(l *lab) {
		for _, join := range []bool{true, false} {
			bob := l.room.As("bob")
			_, err := bob.Register(l.Context(), mail.Presence{Session: "s", Join: join})
			l.must(err)
			_, err = bob.Register(l.Context(), mail.Presence{Session: "s", End: true, Join: !join})
			l.must(err)
			if got := l.agent("bob").State; got != mail.Gone {
				l.Errorf("joined %v: it is %s", join, got)
			}
		}
	})
}

func connection(l *lab, session, process string) mail.Agent {
	l.Helper()
	a, err := l.room.As("bob").Register(l.Context(), mail.Presence{Session: session, Process: process, Join: true})
	l.must(err)
	return a
}

func end(l *lab, session string) {
	l.Helper()
	_, err := l.room.As("bob").Register(l.Context(), mail.Presence{Session: session, End: true, Join: true})
	l.must(err)
}

func (l *lab) agent(n mail.Name) mail.Agent {
	l.Helper()
	a, ok, err := mail.OneAgent(l.Context(), l.room.As(mail.User), n)
	l.must(err)
	if !ok {
		l.Fatalf("%s is not on the roster", n)
	}
	return a
}
