package mailroom

import (
	"fmt"
	"testing"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
	"pennypost/internal/room/check"
	"pennypost/internal/room/fold"
)

// TestP12_NamesAreBounded checks that short-lived names do not stay for good: those that mail was sent to or read by
// and no one bore, and those of agents that were retired long ago.
func TestP12_NamesAreBounded(t *testing.T) {
	now := time.UnixMilli(1_000_000_000_000)
	opts := Options{Now: func() time.Time { return now }, Limits: policy.Limits{PerMinute: -1}}
	room, store := openRoom(t, "lab", opts)
	user := room.As(mail.User)
	var items []mail.Item
	const n = fold.MaxRetired + 200
	for i := range n {
		now = now.Add(time.Second)
		name := mail.Name(fmt.Sprint("agent-", i))
		if _, err := user.Register(t.Context(), mail.Presence{Name: name}); err != nil {
			t.Fatal(err)
		}
		if _, err := user.Rename(t.Context(), name, name+"-b"); err != nil {
			t.Fatal(err)
		}
		if i < n-3 { // three stay
			if err := user.Retire(t.Context(), name+"-b"); err != nil {
				t.Fatal(err)
			}
		}
		items = append(items, mail.Item{Message: mail.Message{ID: mail.ID(fmt.Sprint("m", i)),
			From: mail.AgentAddress("nobody-" + name), To: []mail.Address{mail.AgentAddress("noone-" + name)},
			Body: "x",
			Sent: mail.TimeOf(now)}, Deliveries: []mail.Delivery{{Agent: "reader-of-" + name, State: mail.Read}}})
	}
	if _, err := user.Import(t.Context(), items); err != nil {
		t.Fatal(err)
	}
	if _, err := user.Send(t.Context(), mail.Draft{To: mail.Recipients{"agent-" + fmt.Sprint(n-1)}, Type: "question",
		Body: "still here?"}); err != nil {
		t.Fatal(err)
	}
	now = now.Add(30 * 24 * time.Hour)
	if _, err := user.Send(t.Context(), mail.Draft{To: mail.Recipients{"user"}, Body: "news"}); err != nil {
		t.Fatal(err)
	}
	if _, err := user.Archive(t.Context()); err != nil {
		t.Fatal(err)
	}
	again := reopen(t, store, "lab", opts)
	defer again.Close()
	for _, r := range []*Room{room, again} {
		// each under two names; the person; three that stay
		if got, want := len(r.state.Members), 2*fold.MaxRetired+1+2*3; got != want {
			t.Errorf("%d names are known, want %d", got, want)
		}
		for name, want := range map[mail.Name]bool{"agent-0": false, "agent-0-b": false, "agent-500-b": true,
			"agent-500": true, mail.Name(fmt.Sprint("agent-", n-1)): true} {
			if _, known := r.state.Members[name]; known != want {
				t.Errorf("%s is known: %v, want %v", name, known, want)
			}
		}
	}
}

// TestP12_Bounded checks that repeated acts of agents do not make the room larger for good.
func TestP12_Bounded(t *testing.T) {
	d := newDesk(t, policy.Limits{})
	register := func(p mail.Presence) {
		d.Helper()
		if _, err := d.room.As(mail.User).Register(d.Context(), p); err != nil {
			d.Fatal(err)
		}
	}
	sent := d.send("ann", mail.Draft{To: mail.Recipients{"bob"}, Body: "before", TTLSeconds: 3600})
	// a repetition, and a word to an agent to whom the person says nothing
	d.send("ann", mail.Draft{To: mail.Recipients{"bob"}, Body: "before", TTLSeconds: 3600})
	register(mail.Presence{Name: "eve"})
	d.send("bob", to("eve", "a word"))
	if m := d.room.breaker.Memory(); m.Texts != 2 || m.Exchanges != 2 || m.Trips != 1 {
		t.Errorf("the breaker remembers %+v, want 2 texts, 2 exchanges and 1 trip", m)
	}
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
	if got := len(d.room.state.Members["bob"].Freezes); got > policy.MaxFreezes {
		t.Errorf("%d spans in which bob was frozen are kept, want %d at most", got, policy.MaxFreezes)
	}
	// It was thawed for as long as it was frozen, five hours, some of which count as frozen now.
	d.now = d.now.Add(time.Second)
	if it, err := d.room.As("bob").Message(t.Context(), sent.ID); err != nil || it.State != mail.Expired {
		t.Errorf("mail for an hour stands as %s, %v, want that it expired", it.State, err)
	}
	d.now = d.now.Add(time.Hour)
	d.send("bob", mail.Draft{To: mail.Recipients{"user"}, Body: "later"})
	b := d.room.breaker
	if m := b.Memory(); m != (check.Memory{Senders: 1}) || len(b.own) != 0 {
		t.Errorf("the breaker remembers %+v and %d sends under way, want the one sender that sent last", m, len(b.own))
	}
	if _, err := d.room.As(mail.User).Archive(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := len(d.room.state.Rotation); got != 1 {
		t.Errorf("whose turn it is, is kept for %d roles, want the one that somebody has", got)
	}
}
