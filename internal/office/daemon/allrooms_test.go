package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/office/caller"
	"pennypost/internal/office/gate"
	"pennypost/internal/office/rooms"
)

// TestAllRooms holds that the answer to a question about all rooms has every room, and that closed rooms stay closed
// and are reported as of their closing.
func TestAllRooms(t *testing.T) {
	o := testOffice(t, time.Hour)
	for _, room := range []mail.RoomName{"a", "b"} {
		tellUser(t, o, room, mail.Draft{Type: "question", Subject: "now?", Body: "b"})
	}
	check := func(when string, closed bool) {
		t.Helper()
		for _, part := range []mail.FleetPart{mail.FleetAgents, mail.FleetWaiting} {
			got, err := o.Fleet(t.Context(), mail.FleetQuery{Part: part})
			if err != nil || len(got.Rooms) != 2 || got.Rooms[0].Room != "a" || len(got.NotRead) > 0 {
				t.Fatalf("%s: %s = %+v, %v; want those of rooms a and b", when, part, got, err)
			}
			if r := got.Rooms[1]; (r.AsOf != 0) != closed || part == mail.FleetAgents &&
				(len(r.Agents.Agents) != 1 || r.Agents.Agents[0].Name != "ann") ||
				part == mail.FleetWaiting && r.Waiting.Waiting[0].Asker != "ann" {
				t.Errorf("%s: %s has %+v", when, part, r)
			}
		}
	}
	check("open", false)
	closeRooms(t, o)
	check("closed", true)
	if o.Set.InUse("a") || o.Set.InUse("b") {
		t.Error("a question about all rooms has opened a room")
	}
	none, err := o.Fleet(t.Context(), mail.FleetQuery{Search: "nobody"})
	if err != nil || len(none.Rooms) > 0 {
		t.Errorf("agents called nobody: %+v, %v", none, err)
	}
	search := mail.FleetMailQuery{HistoryQuery: mail.HistoryQuery{Search: "now"}}
	found, err := o.FleetMail(gate.Own(t.Context()), search)
	if err != nil || len(found.Rooms) != 2 || found.Rooms[1].Messages[0].Subject != "now?" {
		t.Errorf("mail that says now: %+v, %v", found, err)
	}
}

// closeRooms closes all rooms of a post office, as idleness does.
func closeRooms(t *testing.T, o *caller.Rooms) {
	t.Helper()
	if err := o.Set.Sweep(func(*rooms.Entry) bool { return true }); err != nil {
		t.Fatal(err)
	}
}

// TestAllRoomsNotRead holds that rooms that were not read since the post office started are named, never left out,
// and that the next question reads them.
func TestAllRoomsNotRead(t *testing.T) {
	before := testOffice(t, time.Hour)
	const made = 18
	for i := range made {
		tellUser(t, before, mail.RoomName(fmt.Sprintf("r%02d", i)), mail.Draft{Type: "question", Body: "now?"})
	}
	if err := before.Set.Close(); err != nil {
		t.Fatal(err)
	}
	for i := range made {
		file := fmt.Sprintf("r%02d/index/summary.json", i)
		if err := os.Remove(filepath.Join(before.Set.Config.Home.Rooms(), file)); err != nil {
			t.Fatal(err)
		}
	}
	o := newOffice(before.Set.Config, slog.New(slog.DiscardHandler), rooms.NewMetrics())
	t.Cleanup(func() { _ = o.Set.Close() })
	for _, want := range []int{2, 0} {
		got, err := o.Fleet(t.Context(), mail.FleetQuery{})
		if err != nil || len(got.NotRead) != want || len(got.Rooms) != made-want {
			t.Fatalf("%d rooms and not read %v, %v; want %d and %d", len(got.Rooms), got.NotRead, err, made-want, want)
		}
	}
}

// TestAllRoomsAfterRestart holds that a restarted post office reports on all rooms without opening them, and that it
// ignores a summary that does not belong to the journal.
func TestAllRoomsAfterRestart(t *testing.T) {
	before := testOffice(t, time.Hour)
	const made = 40
	for i := range made {
		tellUser(t, before, mail.RoomName(fmt.Sprintf("r%02d", i)), mail.Draft{Type: "question", Subject: "now?",
			Body: "the whole text"})
	}
	if err := before.Set.Close(); err != nil {
		t.Fatal(err)
	}
	home := before.Set.Config.Home.Rooms()
	file := func(room string) string { return filepath.Join(home, room, "index", "summary.json") }
	text, err := os.ReadFile(file("r00"))
	if err != nil || strings.Contains(string(text), "the whole text") {
		t.Fatalf("%s, %v; want no text of mail", text, err)
	}
	write := func(room string, text []byte) {
		t.Helper()
		if err := os.WriteFile(file(room), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("r01", text)               // of another room
	write("r02", text[:len(text)/2]) // torn
	third, err := os.ReadFile(file("r03"))
	if err != nil {
		t.Fatal(err)
	}
	write("r03", []byte(strings.Replace(string(third), `"version":1`, `"version":0`, 1)))
	write("r04", nil)
	touched := filepath.Join(home, "r05", "mailbox.jsonl") // as by a backup that was restored
	if err := os.Chtimes(touched, time.Time{}, time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	o := newOffice(before.Set.Config, slog.New(slog.DiscardHandler), rooms.NewMetrics())
	t.Cleanup(func() { _ = o.Set.Close() })
	got, err := o.Fleet(t.Context(), mail.FleetQuery{Part: mail.FleetWaiting})
	if err != nil || len(got.Rooms) != made || got.Rooms[0].Waiting.Waiting[0].Subject != "now?" {
		t.Fatalf("%d rooms, %v; want %d, whose subjects are known", len(got.Rooms), err, made)
	}
	for _, r := range got.Rooms {
		ignored := r.Room >= "r01" && r.Room <= "r05"
		if o.Set.InUse(r.Room) != ignored || (r.AsOf == 0) != ignored {
			t.Errorf("%s is open: %v, as of %v", r.Room, o.Set.InUse(r.Room), r.AsOf)
		}
	}
	list, err := o.Rooms(t.Context())
	if err != nil || len(list) != made || list[0].Messages != 1 || o.Set.InUse("r00") {
		t.Errorf("the list of %d rooms begins with %+v, %v", len(list), list[0], err)
	}
	if err := o.Set.Touch(t.Context(), "r00"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(file("r00")); !os.IsNotExist(err) {
		t.Errorf("there is a summary of an open room (%v), in which mail may be erased", err)
	}
}

// TestAllRoomsRefuse holds that a malformed question about all rooms is refused, and makes no room seem to be away.
func TestAllRoomsRefuse(t *testing.T) {
	o := testOffice(t, time.Hour)
	tellUser(t, o, "a", mail.Draft{Body: "b"})
	_, err := o.FleetMail(t.Context(), mail.FleetMailQuery{HistoryQuery: mail.HistoryQuery{Limit: mail.MaxLimit + 1}})
	if mail.CodeOf(err) != mail.Invalid {
		t.Errorf("a limit that is too high: %v", err)
	}
	for _, q := range []mail.FleetQuery{{States: []mail.State{"asleep"}}, {Part: "letters"}, {Limit: -1}} {
		if _, err := o.Fleet(t.Context(), q); mail.CodeOf(err) != mail.Invalid {
			t.Errorf("%+v: %v", q, err)
		}
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := o.Fleet(ended, mail.FleetQuery{}); mail.CodeOf(err) != mail.Timeout {
		t.Errorf("a request that has ended: %v", err)
	}
}

// TestAllRoomsElsewhere holds that a room in a file of another machine is not reported as away: that machine reports
// it.
func TestAllRoomsElsewhere(t *testing.T) {
	o := testOffice(t, time.Hour)
	dir := filepath.Join(o.Set.Config.Home.Rooms(), "far")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	kind := []byte("kind = \"jetstream\"\nmoved = \"laptop-2\"\n")
	if err := os.WriteFile(filepath.Join(dir, "journal.toml"), kind, 0o600); err != nil {
		t.Fatal(err)
	}
	agents, err := o.Fleet(t.Context(), mail.FleetQuery{})
	found, failed := o.FleetMail(t.Context(), mail.FleetMailQuery{})
	if err != nil || failed != nil || len(agents.Away)+len(agents.NotRead)+len(found.Away)+len(found.NotRead) > 0 {
		t.Errorf("agents %+v, %v; mail %+v, %v", agents, err, found, failed)
	}
}

// TestP11_ClosedRooms holds that the state of closed rooms in memory contains no texts of mail, and nothing of mail
// that was erased since.
func TestP11_ClosedRooms(t *testing.T) {
	o := testOffice(t, time.Hour)
	tellUser(t, o, "a", mail.Draft{Body: "hello"})
	user, err := o.Room(gate.Own(t.Context()), "a", mail.User)
	if err != nil {
		t.Fatal(err)
	}
	var last mail.Sent
	for _, role := range []string{"role:one", "role:two"} {
		last, err = user.Send(t.Context(), mail.Draft{To: mail.Recipients{role}, Subject: "for " + role,
			Body: "a secret"})
		if err != nil {
			t.Fatal(err)
		}
	}
	stuck := func(limit int) (text string) {
		t.Helper()
		closeRooms(t, o)
		got, err := o.Fleet(t.Context(), mail.FleetQuery{Part: mail.FleetStuck, Limit: limit})
		if err != nil || len(got.Rooms) != 1 || got.Rooms[0].AsOf == 0 {
			t.Fatalf("stuck in closed rooms: %+v, %v", got, err)
		}
		return fmt.Sprintf("%+v", *got.Rooms[0].Stuck)
	}
	if text := stuck(0); !strings.Contains(text, "for role:one") || !strings.Contains(text, "for role:two") ||
		strings.Contains(text, "a secret") {
		t.Errorf("of two letters for nobody is kept: %s", text)
	}
	if text := stuck(1); strings.Contains(text, "for role:one") == strings.Contains(text, "for role:two") {
		t.Errorf("of one group of a kind is told: %s", text)
	}
	if err := user.Erase(t.Context(), last.ID); err != nil {
		t.Fatal(err)
	}
	if text := stuck(0); strings.Contains(text, "for role:two") {
		t.Errorf("of erased mail is kept: %s", text)
	}
}
