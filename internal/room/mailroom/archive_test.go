package mailroom

import (
	"fmt"
	"slices"
	"testing"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
)

// The history of the archive comes in pages after a cursor, oldest first; without a cursor, as its newest page.
func TestHistoryOfTheArchive(t *testing.T) {
	room, _ := openRoom(t, "lab", Options{Retention: policy.Retention{Count: 1}})
	user := room.As(mail.User)
	for i := range 8 {
		if _, err := user.Send(t.Context(), mail.Draft{To: mail.Recipients{"all"}, Body: fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
	}
	if told, err := user.Archive(t.Context()); err != nil || told.Kept != 1 {
		t.Fatalf("Archive = %+v, %v, want one kept", told, err)
	}
	page := func(q mail.HistoryQuery) (bodies []string, p mail.Page) {
		t.Helper()
		q.Archive = true
		p, err := user.History(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		for _, it := range p.Messages {
			bodies = append(bodies, it.Body)
		}
		return bodies, p
	}
	if got, _ := page(mail.HistoryQuery{Limit: 3}); !slices.Equal(got, []string{"5", "6", "7"}) {
		t.Errorf("the newest are %q", got)
	}
	var all []string
	for after := mail.Seq(1); len(all) < 7; { // after the first
		got, p := page(mail.HistoryQuery{After: after, Limit: 3})
		if len(got) == 0 {
			break
		}
		all = append(all, got...)
		after = p.Messages[len(p.Messages)-1].Seq
	}
	if want := []string{"1", "2", "3", "4", "5", "6", "7"}; !slices.Equal(all, want) {
		t.Errorf("page by page: %q, want %q", all, want)
	}
}

// Mail read at its origin is not unread here, though its reader is unknown.
func TestImportRead(t *testing.T) {
	room, _ := openRoom(t, "lab", Options{})
	user := room.As(mail.User)
	if _, err := user.Register(t.Context(), mail.Presence{Name: "bob"}); err != nil {
		t.Fatal(err)
	}
	item := func(id mail.ID, read bool, to ...mail.Address) mail.Item {
		return mail.Item{Message: mail.Message{ID: id, From: "agent:a", To: to, Body: "x", Sent: 1778421600000},
			Read: read}
	}
	if _, err := user.Import(t.Context(), []mail.Item{item("x1", true, "agent:bob"), item("x2", false, "agent:bob"),
		item("x3", true, "agent:bob", "agent:a")}); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[mail.ID]bool{"x1": true, "x2": false, "x3": false} {
		it, err := user.Message(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(it.Deliveries, func(d mail.Delivery) bool { return d.Agent == "bob" })
		if i < 0 || (it.Deliveries[i].State == mail.Read) != want {
			t.Errorf("%s: %+v, want it read: %v", id, it.Deliveries, want)
		}
	}
}

// TestP11_TheDeadReturn: old mail with a TTL of its own, to an agent that is not here yet, or no longer, is not
// archived because of its age: the agent finds it when it returns.
func TestP11_TheDeadReturn(t *testing.T) {
	room, _ := openRoom(t, "lab", Options{})
	user := room.As(mail.User)
	item := func(id mail.ID, ttl int64) mail.Item {
		return mail.Item{Message: mail.Message{ID: id, From: "user", To: []mail.Address{"agent:bob"}, Body: "x",
			Sent: 1778421600000, TTLSeconds: ttl}}
	}
	if _, err := user.Import(t.Context(), []mail.Item{item("lasts", 99*365*24*3600), item("ends", 0)}); err != nil {
		t.Fatal(err)
	}
	if it, err := user.Message(t.Context(), "lasts"); err != nil || it.Deliveries[0].State != mail.Dead {
		t.Fatalf("%+v, %v; want it dead", it, err)
	}
	if got, err := user.Archive(t.Context()); err != nil || got != (mail.Trimmed{Age: 1, Unread: 1, Kept: 1}) {
		t.Errorf("Archive = %+v, %v", got, err)
	}
	bob := room.As("bob")
	if _, err := bob.Register(t.Context(), mail.Presence{}); err != nil {
		t.Fatal(err)
	}
	if page, err := bob.Inbox(t.Context(), mail.InboxQuery{}); err != nil || len(page.Messages) != 1 ||
		page.Messages[0].ID != "lasts" {
		t.Errorf("Inbox = %+v, %v", page.Messages, err)
	}
}

// TestErasureTakesNothingElse checks that the other effects of an erased message are known when the room is opened
// again, which openRoom compares: whose turn it is in a role, and which door reached an agent.
func TestErasureTakesNothingElse(t *testing.T) {
	room, _ := openRoom(t, "lab", Options{})
	user := room.As(mail.User)
	for _, n := range []mail.Name{"ann", "bea"} {
		if _, err := room.As(n).Register(t.Context(), mail.Presence{Roles: []string{"builder"}}); err != nil {
			t.Fatal(err)
		}
	}
	sent, err := user.Send(t.Context(), mail.Draft{To: mail.Recipients{"role:builder"}, Body: "x"})
	if err != nil {
		t.Fatal(err)
	}
	holder := sent.Recipients[0].Agent
	if _, err := room.As(holder).Mark(t.Context(), mail.Marking{All: true, Mark: mail.MarkPresented,
		Door: "mcp"}); err != nil {
		t.Fatal(err)
	}
	if err := user.Erase(t.Context(), sent.ID); err != nil {
		t.Fatal(err)
	}
	if next, err := user.Send(t.Context(), mail.Draft{To: mail.Recipients{"role:builder"}, Body: "y"}); err != nil ||
		next.Recipients[0].Agent == holder {
		t.Errorf("the next goes to %+v, %v", next.Recipients, err)
	}
}
