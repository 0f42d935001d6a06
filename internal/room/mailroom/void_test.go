package mailroom

import (
	"fmt"
	"testing"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
)

// TestP2_LoserIsNeverKept puts four messages of each of 200 keys, and of 200 texts, into the journal, as several post
// offices on one journal can (for texts, even one alone). Only the first of each is ever seen: live, in the archive,
// in an export, by a watch, after an erasure of the winner, and when the room is opened again.
func TestP2_LoserIsNeverKept(t *testing.T) {
	byKey := func(m *mail.Message, k int) { m.Key = fmt.Sprint("key ", k) }
	t.Run("keys", func(t *testing.T) { testLoserIsNeverKept(t, byKey, true) })
	t.Run("keys, not erased", func(t *testing.T) { testLoserIsNeverKept(t, byKey, false) }) // an erasure drops losers
	t.Run("texts", func(t *testing.T) {
		testLoserIsNeverKept(t, func(m *mail.Message, k int) { m.Same = fmt.Sprint("text ", k) }, true)
	})
}

func testLoserIsNeverKept(t *testing.T, repeats func(m *mail.Message, k int), erases bool) {
	const keys, each = 200, 4
	left := keys
	opts := Options{Retention: policy.Retention{Count: 10}}
	room, store := openRoom(t, "lab", opts)
	ctx := t.Context()
	user := room.As(mail.User)
	var events []mail.Event
	for n := range each {
		for k := range keys {
			m := &mail.Message{
				ID: mail.ID(fmt.Sprintf("m%d-%d", k, n)), Type: mail.Custom, From: "agent:ann", Body: "x",
				To: []mail.Address{mail.ToUser},
			}
			repeats(m, k)
			events = append(events, mail.Event{At: room.now(), Message: m})
		}
	}
	if _, err := room.commit(ctx, events...); err != nil {
		t.Fatal(err)
	}
	watched := 0
	w, err := user.Watch(ctx, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for watched < keys {
		shown, err := w.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		watched += len(shown)
	}
	if watched != keys || room.Shown() != keys {
		t.Errorf("a watch showed %d messages, the last at %d; want %d", watched, room.Shown(), keys)
	}

	if erases {
		if err := user.Erase(ctx, "m0-0"); err != nil {
			t.Fatal(err)
		}
		left--
	}
	exported := func(when string, v mail.Service) {
		t.Helper()
		n := 0
		for it, err := range v.Export(ctx) {
			if err != nil {
				t.Fatal(err)
			}
			if n++; it.ID[len(it.ID)-2:] != "-0" || erases && it.ID == "m0-0" {
				t.Errorf("%s the loser %s is there", when, it.ID)
			}
		}
		if n != left {
			t.Errorf("%s there are %d messages, want %d", when, n, left)
		}
	}
	again := func(when string) {
		t.Helper()
		r := reopen(t, store, "lab", opts)
		defer r.Close()
		exported(when+", opened again,", r.As(mail.User))
	}
	exported("sent", user)
	again("sent")
	if _, err := user.Archive(ctx); err != nil {
		t.Fatal(err)
	}
	exported("archived", user)
	again("archived")
	if len(room.state.Void) > 0 {
		t.Errorf("%d losers are remembered that stand nowhere", len(room.state.Void))
	}
}

// TestLateReadIsNotArchived checks that a read that came too late for role mail is shown nowhere.
func TestLateReadIsNotArchived(t *testing.T) {
	room, _ := openRoom(t, "lab", Options{Retention: policy.Retention{Count: 1}})
	ctx := t.Context()
	user := room.As(mail.User)
	for _, n := range []mail.Name{"ann", "bob"} {
		if _, err := user.Register(ctx, mail.Presence{Name: n, Roles: []string{"builder"}}); err != nil {
			t.Fatal(err)
		}
	}
	sent, err := user.Send(ctx, mail.Draft{To: mail.Recipients{"role:builder"}, Body: "x"})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []mail.Name{"ann", "bob"} { // concurrently: neither saw the other's
		if _, err := room.commit(ctx, mail.Event{At: room.now(), Receipt: &mail.Receipt{Message: sent.ID,
			Reader: mail.AgentAddress(n), Mark: mail.MarkRead}}); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if _, err := user.Send(ctx, mail.Draft{To: mail.Recipients{"ann"}, Body: "y", Again: true}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := user.Archive(ctx); err != nil {
		t.Fatal(err)
	}
	it, err := user.Message(ctx, sent.ID)
	if err != nil {
		t.Fatal(err)
	}
	if len(it.Deliveries) != 1 || it.Deliveries[0].Agent != "ann" {
		t.Errorf("archived, it stands so with its readers: %+v; want ann alone", it.Deliveries)
	}
}
