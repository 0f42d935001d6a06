package mailroom

import (
	"fmt"
	"testing"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
)

// TestP12_Bounded holds that what agents do over and over does not make the room larger for good.
func TestP12_Bounded(t *testing.T) {
	d := newDesk(t, policy.Limits{})
	register := func(p mail.Presence) {
		d.Helper()
		if _, err := d.room.As(mail.User).Register(d.Context(), p); err != nil {
			d.Fatal(err)
		}
	}
	sent := d.send("ann", mail.Draft{To: mail.Recipients{"bob"}, Body: "before", TTLSeconds: 3600})
	const n = 300
	for i := range n {
		for _, s := range []mail.State{mail.Frozen, mail.Idle} {
			d.now = d.now.Add(time.Minute)
			register(mail.Presence{Name: "bob", State: s})
		}
		name := mail.Name(fmt.Sprint("agent-", i))
		register(mail.Presence{Name: name})
		d.send(name, mail.Draft{To: mail.Recipients{"user"}, Body: "once"})
		role := fmt.Sprint("role-", i)
		register(mail.Presence{Name: "ann", Roles: []string{role}})
		d.send(mail.User, mail.Draft{To: mail.Recipients{"role:" + role}, Body: "take it"})
	}
	if got := len(d.room.state.members["bob"].Freezes); got > policy.MaxFreezes {
		t.Errorf("%d spans in which bob was frozen are kept, want %d at most", got, policy.MaxFreezes)
	}
	// It was thawed for as long as it was frozen, five hours, of which some count as frozen now.
	d.now = d.now.Add(time.Second)
	if it, err := d.room.As("bob").Message(t.Context(), sent.ID); err != nil || it.State != mail.Expired {
		t.Errorf("mail for an hour stands as %s, %v, want that it expired", it.State, err)
	}
	d.now = d.now.Add(time.Hour)
	d.send("bob", mail.Draft{To: mail.Recipients{"user"}, Body: "later"})
	if got := len(d.room.breaker.senders); got != 1 {
		t.Errorf("the breaker remembers %d senders of whom it knows nothing any more", got)
	}
	if _, err := d.room.As(mail.User).Archive(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := len(d.room.state.rotation); got != 1 {
		t.Errorf("whose turn it is, is kept for %d roles, want the one that somebody has", got)
	}
}
