package daemon

import (
	"context"
	"slices"
	"testing"

	"pennypost/internal/mail"
)

// waiter is a process that waits alongside bob.
type waiter struct {
	rung  *mail.Rung
	err   error
	ended chan struct{}
	leave context.CancelFunc
}

func (r *running) wait(t *testing.T, as mail.Name, at mail.Listener) *waiter {
	ctx, cancel := context.WithCancel(t.Context())
	w := &waiter{ended: make(chan struct{}), leave: cancel}
	go func() {
		defer close(w.ended)
		w.rung, w.err = r.office.Ring(ctx, "a", as, at)
	}()
	t.Cleanup(cancel)
	return w
}

// P8: a process that waits alongside an idle agent is a door of that agent while it waits: it gets the ring over the
// socket, and only the agent of its session is rung.
func TestP8_Line(t *testing.T) {
	cfg := testConfig(t)
	r := start(t, Options{Config: cfg})
	user := r.room(t, "a", mail.User)
	turn := func(session string, m mail.Moment) mail.Briefing {
		t.Helper()
		brief, err := r.room(t, "a", "bob").Turn(t.Context(), mail.Turn{Moment: m, Session: session, Client: "claude"})
		if err != nil {
			t.Fatal(err)
		}
		return brief
	}
	ask := func(to string) (wokenBy func() mail.Delivery) {
		t.Helper()
		sent, err := user.Send(t.Context(), mail.Draft{To: []string{to}, Type: string(mail.Question),
			Body: "how far?"})
		if err != nil {
			t.Fatal(err)
		}
		return func() mail.Delivery {
			it, err := user.Message(t.Context(), sent.ID)
			if err != nil {
				t.Fatal(err)
			}
			return it.Deliveries[0]
		}
	}
	turn("s1", mail.SessionStart)
	if brief := turn("s2", mail.SessionStart); brief.Agent != "bob-2" {
		t.Fatalf("the second session is %s", brief.Agent)
	}
	one, two := ask("bob"), ask("bob-2")
	if d := two(); d.Wake != mail.WakeNoDoor {
		t.Errorf("before anybody waits it is woken by %q", d.Wake)
	}
	rewake := func(session string) *waiter {
		return r.wait(t, "bob", mail.Listener{Door: mail.RewakeDoor, Session: session})
	}
	// a new waiter is rung for mail that waits already
	for session, mailOf := range map[string]func() mail.Delivery{"s1": one, "s2": two} {
		w := rewake(session)
		if <-w.ended; w.err != nil || w.rung == nil || w.rung.Text == "" {
			t.Fatalf("the process beside %s was handed %+v, %v", session, w.rung, w.err)
		}
		eventually(t, "its agent was notified", func() bool {
			d := mailOf()
			return d.State == mail.Notified && d.Door == mail.RewakeDoor
		})
	}
	gone := rewake("s1")
	eventually(t, "bob has a door", func() bool { return one().Wake == mail.RewakeDoor })
	if two().Wake != mail.WakeNoDoor {
		t.Error("bob-2 has bob's door")
	}
	gone.leave()
	eventually(t, "who has left is no door", func() bool { return one().Wake == mail.WakeNoDoor })

	last := rewake("s1")
	eventually(t, "bob has a door again", func() bool { return one().Wake == mail.RewakeDoor })
	turn("s1", mail.SessionEnd)
	if <-last.ended; last.rung == nil || !last.rung.Over {
		t.Errorf("when its session ended the process was handed %+v, %v", last.rung, last.err)
	}
	for _, session := range []string{"s1", "never seen"} {
		w := rewake(session)
		if <-w.ended; w.rung == nil || !w.rung.Over {
			t.Errorf("a process of the session %q was handed %+v, %v", session, w.rung, w.err)
		}
	}
	for as, code := range map[mail.Name]mail.Code{mail.User: mail.Denied, "nobody": mail.NotFound} {
		w := r.wait(t, as, mail.Listener{Door: mail.MonitorDoor})
		if <-w.ended; mail.CodeOf(w.err) != code {
			t.Errorf("as %s one that waits is told %v", as, w.err)
		}
	}

	// A caller who knows another's session cannot wait for its rings, and gains no identity by asking.
	if _, err := user.Register(t.Context(), mail.Presence{Name: "eve"}); err != nil {
		t.Fatal(err)
	}
	if brief := turn("s3", mail.SessionStart); brief.Agent != "bob" {
		t.Fatalf("the third session is %s", brief.Agent)
	}
	for range 2 {
		w := r.wait(t, "eve", mail.Listener{Door: mail.RewakeDoor, Session: "s3"})
		if <-w.ended; w.rung == nil || !w.rung.Over {
			t.Errorf("another's session was waited for: %+v, %v", w.rung, w.err)
		}
	}
	list, err := mail.Roster(t.Context(), user)
	if i := slices.IndexFunc(list, func(a mail.Agent) bool {
		return a.Name != "bob" && a.Session == "s3"
	}); err != nil || i >= 0 {
		t.Errorf("the session passed to another: %+v, %v", list, err)
	}

	over := r.wait(t, "bob-2", mail.Listener{Door: mail.MonitorDoor})
	eventually(t, "bob-2 has a monitor", func() bool { return two().Wake == mail.MonitorDoor })
	r.stop(t)
	if <-over.ended; over.err != nil || over.rung != nil {
		t.Errorf("when the post office stopped one that waits was told %+v, %v", over.rung, over.err)
	}
}
