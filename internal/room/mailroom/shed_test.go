package mailroom

import (
	"testing"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
)

// exhaust makes ann and bob answer each other as often as they may.
func (d *desk) exhaust(ann, bob string) {
	d.Helper()
	for i := range policy.DefaultExchanges {
		if i%2 == 0 {
			d.send(mail.Name(ann), to(bob, "thank you, %d at %v", i, d.now))
		} else {
			d.send(mail.Name(bob), to(ann, "thank you, %d at %v", i, d.now))
		}
	}
	d.refused(mail.Name(ann), to(bob, "no, thank you"))
}

func (d *desk) register(p mail.Presence) {
	d.Helper()
	if _, err := d.room.As(mail.User).Register(d.Context(), p); err != nil {
		d.Fatal(err)
	}
}

// TestP12_BroadcastLiftsOwn checks that an agent's broadcast about a task resets its own exchanges, with those whom
// it reaches, and no others. A broadcast by the person does so for everyone.
func TestP12_BroadcastLiftsOwn(t *testing.T) {
	d := newDesk(t, policy.Limits{})
	d.register(mail.Presence{Name: "eve", Tags: []string{"project:x"}})
	d.register(mail.Presence{Name: "bob", Tags: []string{"project:y"}})
	broadcast := func(from mail.Name, address string) {
		d.send(from, mail.Draft{To: mail.Recipients{address}, Type: string(mail.TaskDone), Body: "done"})
	}
	d.exhaust("ann", "bob")
	broadcast("eve", "all") // a stranger
	d.refused("ann", to("bob", "enough"))
	broadcast("ann", "project:x") // which does not reach bob
	broadcast("ann", "project:none")
	d.refused("ann", to("bob", "enough"))
	for _, address := range []string{"all", "project:y"} {
		broadcast("ann", address)
		d.now = d.now.Add(time.Second)
		d.exhaust("ann", "bob")
	}
	d.send(mail.User, mail.Draft{To: mail.Recipients{"all"}, Body: "go on"})
	d.now = d.now.Add(time.Second)
	d.exhaust("ann", "bob")
}

// TestP12_NewNameShedsNothing checks that an agent that is renamed, or renames itself, is counted as before: its
// exchanges, its sends in a minute, and its repetitions. The same holds when it has its first name again.
func TestP12_NewNameShedsNothing(t *testing.T) {
	rename := func(d *desk, from, to mail.Name) {
		d.Helper()
		if _, err := d.room.As(from).Rename(d.Context(), from, to); err != nil {
			d.Fatal(err)
		}
	}
	names := []mail.Name{"ann", "dora", "ann", "aaron", "dora"}
	t.Run("exchanges", func(t *testing.T) {
		d := newDesk(t, policy.Limits{})
		d.exhaust("ann", "bob")
		for i, name := range names[1:] {
			rename(d, names[i], name)
			d.refused(name, to("bob", "as %s", name))
		}
		rename(d, "bob", "ben")
		d.refused("dora", to("ben", "to another name"))
		d.refused("dora", to("bob", "to a name that it had"))
	})
	t.Run("rate", func(t *testing.T) {
		d := newDesk(t, policy.Limits{Burst: 1, PerMinute: 60})
		d.send("ann", to("bob", "1"))
		for i, name := range names[1:] {
			rename(d, names[i], name)
			d.refused(name, to("bob", "as %s", name))
		}
		if n := d.notices(); n != 1 {
			t.Errorf("the user was told %d times, want once", n)
		}
	})
	t.Run("repeats", func(t *testing.T) {
		d := newDesk(t, policy.Limits{})
		first := d.send("ann", to("bob", "same"))
		for i, name := range names[1:] {
			rename(d, names[i], name)
			if again := d.send(name, to("bob", "same")); again.ID != first.ID {
				t.Errorf("as %s: %+v, want %s again", name, again, first.ID)
			}
		}
		rename(d, "bob", "ben")
		if again := d.send("dora", to("ben", "same")); again.ID != first.ID {
			t.Errorf("to another name: %+v, want %s again", again, first.ID)
		}
		d.wantTold("repeat_window")
	})
	t.Run("children", func(t *testing.T) {
		d := newDesk(t, policy.Limits{Children: 1})
		child := func(parent, name mail.Name) error {
			_, err := d.room.As(parent).Register(d.Context(), mail.Presence{Name: name, Parent: &parent})
			return err
		}
		if err := child("ann", "kid"); err != nil {
			t.Fatal(err)
		}
		rename(d, "ann", "dora")
		if err := child("dora", "kid-b"); mail.CodeOf(err) != mail.Limited {
			t.Errorf("under another name, a second child: %v, want a limit", err)
		}
	})
}
