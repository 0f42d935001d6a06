package daemon

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/office/caller"
	"pennypost/internal/office/gate"
	"pennypost/internal/office/rooms"
)

// tellUser sends a message to the user from an agent of a room.
func tellUser(t *testing.T, o *caller.Rooms, room mail.RoomName, d mail.Draft) {
	t.Helper()
	user, err := o.Room(gate.Own(t.Context()), room, mail.User)
	if err == nil {
		_, err = user.Register(t.Context(), mail.Presence{Name: "ann"})
	}
	if err != nil {
		t.Fatal(err)
	}
	ann, err := o.Room(gate.Own(t.Context()), room, "ann")
	if err == nil {
		d.To = mail.Recipients{"user"}
		_, err = ann.Send(t.Context(), d)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func deskOf(t *testing.T, o *caller.Rooms, q mail.DeskQuery) (rows []string, d mail.Desk) {
	t.Helper()
	d, err := o.Desk(t.Context(), q)
	if err != nil {
		t.Fatalf("Desk(%+v): %v", q, err)
	}
	for _, c := range slices.Concat(d.Needs, d.Updates) {
		rows = append(rows, string(c.Room)+" "+c.Subject)
	}
	return rows, d
}

func wantRows(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %s\nwant %s", what, strings.Join(got, ", "), strings.Join(want, ", "))
	}
}

// TestDeskOverRooms holds that the desk has all rooms in one order, leaves rooms closed that have nothing for the
// user, and names those that cannot be opened.
func TestDeskOverRooms(t *testing.T) {
	o := testOffice(t, time.Hour)
	tellUser(t, o, "b", mail.Draft{Type: "question", Subject: "second?", Body: "**b**"})
	time.Sleep(3 * time.Millisecond) // the order is by time of sending, in milliseconds
	tellUser(t, o, "a", mail.Draft{Type: "question", Subject: "third?", Body: "a"})
	time.Sleep(3 * time.Millisecond)
	tellUser(t, o, "c", mail.Draft{Subject: "first!", Priority: "urgent", Body: "c"})
	time.Sleep(3 * time.Millisecond)
	for _, room := range []mail.RoomName{"a", "b", "c"} {
		tellUser(t, o, room, mail.Draft{Subject: "news", Body: "n"})
		tellUser(t, o, room, mail.Draft{Subject: "report", Type: "status", Body: "s"})
		time.Sleep(3 * time.Millisecond)
	}
	empty, err := o.Room(gate.Own(t.Context()), "empty", mail.User)
	if err == nil {
		_, err = empty.Register(t.Context(), mail.Presence{Name: "ann"})
	}
	if err != nil {
		t.Fatal(err)
	}
	all := []string{"c first!", "b second?", "a third?", "c report", "c news", "b news", "a news"}
	rows, d := deskOf(t, o, mail.DeskQuery{})
	wantRows(t, "all rooms", rows, all...)
	if d.Waiting != 3 || d.Unread != 6 || d.Updates[0].Folded != 3 || d.Needs[1].Preview != "b" {
		t.Errorf("waiting %d, unread %d, folded %d, preview %q; want 3, 6, 3 and one without marks", d.Waiting,
			d.Unread, d.Updates[0].Folded, d.Needs[1].Preview)
	}
	rows, _ = deskOf(t, o, mail.DeskQuery{Rooms: []mail.RoomName{"b"}})
	wantRows(t, "one room", rows, "b second?", "b report", "b news")
	rows, d = deskOf(t, o, mail.DeskQuery{Limit: 2})
	wantRows(t, "a page", rows, "c first!", "b second?", "c report", "c news", "b news")
	rows, d = deskOf(t, o, mail.DeskQuery{Limit: 2, Part: mail.Updates, After: d.Next})
	wantRows(t, "the next", rows, "a news")
	if d.Next != "" {
		t.Errorf("the last page goes on at %q", d.Next)
	}

	// All are closed: only rooms with mail for the user are opened again.
	if err := o.Set.Sweep(func(*rooms.Entry) bool { return true }); err != nil {
		t.Fatal(err)
	}
	rows, _ = deskOf(t, o, mail.DeskQuery{})
	wantRows(t, "closed rooms", rows, all...)
	if o.Set.InUse("empty") || !o.Set.InUse("a") {
		t.Errorf("empty is open: %v, a: %v; want a only", o.Set.InUse("empty"), o.Set.InUse("a"))
	}
	if err := os.WriteFile(filepath.Join(o.Set.Config.Home.Rooms(), "d"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = o.Desk(t.Context(), mail.DeskQuery{Rooms: []mail.RoomName{"nowhere"}})
	if mail.CodeOf(err) != mail.NotFound {
		t.Errorf("Desk of a room that is not there = %v", err)
	}
	_, err = o.Desk(t.Context(), mail.DeskQuery{From: "nobody"})
	if mail.CodeOf(err) != mail.NotFound {
		t.Errorf("Desk of what a stranger wrote = %v", err)
	}
}

// TestDeskNamesWhatIsAway holds that a room that cannot be opened does not hide the others.
func TestDeskNamesWhatIsAway(t *testing.T) {
	o := testOffice(t, time.Hour)
	tellUser(t, o, "a", mail.Draft{Subject: "news", Body: "n"})
	broken := filepath.Join(o.Set.Config.Home.Rooms(), "broken", "mailbox.jsonl")
	if err := os.MkdirAll(broken, 0o700); err != nil { // a directory in place of the journal
		t.Fatal(err)
	}
	rows, d := deskOf(t, o, mail.DeskQuery{})
	wantRows(t, "the rest", rows, "a news")
	if !slices.Equal(d.Away, []mail.RoomName{"broken"}) {
		t.Errorf("away = %v, want broken", d.Away)
	}
}

// TestDeskShowsOnce holds that mail that a bridge brought into two rooms is one row.
func TestDeskShowsOnce(t *testing.T) {
	o := testOffice(t, time.Hour)
	sent := mail.TimeOf(time.Now())
	for _, room := range []mail.RoomName{"a", "b"} {
		user, err := o.Room(gate.Own(t.Context()), room, mail.User)
		if err == nil {
			_, err = user.Import(t.Context(), []mail.Item{{Message: mail.Message{ID: "msg-same", Type: mail.Custom,
				From: "agent:ann", To: []mail.Address{"user"}, Subject: "twice", Body: "b",
				Sent: sent}}})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	rows, d := deskOf(t, o, mail.DeskQuery{})
	wantRows(t, "both rooms", rows, "a twice")
	if d.Unread != 1 {
		t.Errorf("unread = %d, want 1", d.Unread)
	}
}

// TestWatchDesk holds that changes close together in a room are reported once, that watching opens no room, and that
// deferred mail is reported when it is due.
func TestWatchDesk(t *testing.T) {
	o := testOffice(t, time.Hour)
	tellUser(t, o, "a", mail.Draft{Subject: "news", Body: "n"})
	if err := o.Set.Sweep(func(*rooms.Entry) bool { return true }); err != nil {
		t.Fatal(err)
	}
	w, err := o.WatchDesk(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	next := func() []mail.DeskChange {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		changes, err := w.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return changes
	}
	if got := next(); len(got) != 1 || got[0] != (mail.DeskChange{}) {
		t.Errorf("first = %+v, want a look at everything", got)
	}
	if o.Set.InUse("a") {
		t.Error("the watch has opened a room")
	}
	for range 3 {
		tellUser(t, o, "a", mail.Draft{Type: "question", Subject: "which?", Body: "q"})
	}
	for got := next(); ; got = next() { // the opening of the room may be reported first
		if len(got) != 1 || got[0].Room != "a" {
			t.Fatalf("changes = %+v, want one of room a", got)
		}
		if got[0].Needs == 3 && got[0].Unread == 4 {
			break
		}
	}
	user, _ := o.Room(gate.Own(t.Context()), "a", mail.User)
	page, err := user.Inbox(t.Context(), mail.InboxQuery{Open: true, Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := user.Mark(t.Context(), mail.Marking{IDs: []mail.ID{page.Messages[0].ID}, Mark: mail.MarkSnoozed,
		Until: mail.TimeOf(time.Now().Add(time.Second))}); err != nil {
		t.Fatal(err)
	}
	if got := next(); got[0].Needs != 2 {
		t.Errorf("after snoozing: %+v, want 2 that need the user", got)
	}
	if got := next(); got[0].Needs != 3 {
		t.Errorf("at its time: %+v, want 3 that need the user", got)
	}
	w.Close()
	if _, err := w.Next(t.Context()); mail.CodeOf(err) != mail.Unavailable {
		t.Errorf("Next after Close = %v", err)
	}
}
