package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"pennypost/internal/config"
	"pennypost/internal/mail"
	"pennypost/internal/office/caller"
	"pennypost/internal/office/gate"
	"pennypost/internal/office/rooms"
)

// testOffice returns an office that closes rooms after idle, and is closed with the test.
func testOffice(t *testing.T, idle time.Duration) *caller.Rooms {
	t.Helper()
	cfg := testConfig(t)
	cfg.RoomIdle = config.Duration(idle)
	o := newOffice(&cfg, slog.New(slog.DiscardHandler), rooms.NewMetrics())
	ctx, cancel := context.WithCancel(context.Background())
	ran := make(chan struct{})
	go func() { defer close(ran); o.Set.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		<-ran
		if err := o.Set.Close(); err != nil {
			t.Error(err)
		}
	})
	return o
}

// A room that holds a claim stays open, so that those who wait for it are told, and everyone sees it.
func TestHeldRoomStaysOpen(t *testing.T) {
	o, ctx := testOffice(t, 30*time.Millisecond), t.Context()
	in := func(room mail.RoomName, r mail.ClaimRequest) {
		t.Helper()
		user, err := o.Room(gate.Own(ctx), room, mail.User)
		if err == nil {
			_, err = user.Claim(ctx, r)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	open := func(room mail.RoomName) bool {
		open, _, _ := o.Set.LastKnown(room)
		return open
	}
	build := []mail.Target{{Name: "build"}}
	in("a", mail.ClaimRequest{Take: build})
	in("b", mail.ClaimRequest{Take: build}) // used last, and released
	in("b", mail.ClaimRequest{Free: build})
	eventually(t, "b is closed", func() bool { return !open("b") })
	if !open("a") {
		t.Error("a room in which something is held was closed")
	}
	in("a", mail.ClaimRequest{Free: build})
	eventually(t, "a is closed", func() bool { return !open("a") })
}

// Rooms that keep closing lose no call.
func TestClosingUnderLoad(t *testing.T) {
	o := testOffice(t, time.Millisecond)
	user, err := o.Room(gate.Own(t.Context()), "a", mail.User)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := user.Register(t.Context(), mail.Presence{Name: "bob"}); err != nil {
		t.Fatal(err)
	}
	const senders, each = 4, 60
	var wg sync.WaitGroup
	for s := range senders {
		wg.Go(func() {
			for i := range each {
				if _, err := user.Send(t.Context(),
					mail.Draft{To: []string{"bob"}, Body: fmt.Sprint(s, i)}); err != nil {
					t.Errorf("Send = %v", err)
					return
				}
				time.Sleep(time.Duration(i%7) * time.Millisecond)
			}
		})
	}
	wg.Wait()
	page, err := user.Inbox(t.Context(), mail.InboxQuery{Agent: "bob", Limit: 1})
	if err != nil || page.Unread != senders*each {
		t.Errorf("Inbox = %d unread, %v, want %d", page.Unread, err, senders*each)
	}
}

// A room that cannot be opened says why, and is tried again by the next call.
func TestRoomThatDoesNotOpen(t *testing.T) {
	o := testOffice(t, time.Minute)
	if err := os.MkdirAll(o.Set.Config.Home.Rooms(), 0o700); err != nil {
		t.Fatal(err)
	}
	obstacle := filepath.Join(o.Set.Config.Home.Rooms(), "a")
	if err := os.WriteFile(obstacle, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := o.Room(gate.Own(t.Context()), "a", mail.User); mail.CodeOf(err) != mail.Unavailable {
		t.Errorf("Room = %v, want unavailable", err)
	}
	if err := os.Remove(obstacle); err != nil {
		t.Fatal(err)
	}
	if _, err := o.Room(gate.Own(t.Context()), "a", mail.User); err != nil {
		t.Errorf("Room = %v once nothing is in the way", err)
	}
	for _, bad := range []mail.RoomName{"", "..", "a/b", "a\x00"} {
		if _, err := o.Room(gate.Own(t.Context()), bad, mail.User); mail.CodeOf(err) != mail.Invalid {
			t.Errorf("Room(%q) = %v, want invalid", bad, err)
		}
	}
}

// Rooms reports rooms that have not been open since the start, too.
func TestRoomsOfBefore(t *testing.T) {
	o := testOffice(t, time.Minute)
	for _, name := range []mail.RoomName{"b", "a"} {
		svc, err := o.Room(gate.Own(t.Context()), name, mail.User)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := svc.Register(t.Context(), mail.Presence{Name: "bob"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := o.Set.Sweep(func(*rooms.Entry) bool { return true }); err != nil {
		t.Fatal(err)
	}
	o = newOffice(o.Set.Config, o.Set.Log, rooms.NewMetrics()) // as after a restart
	defer o.Set.Close()
	rooms, err := o.Rooms(t.Context())
	if err != nil || len(rooms) != 2 || rooms[0].Name != "a" || rooms[1].Agents != 1 {
		t.Errorf("Rooms = %+v, %v, want a and b with an agent each", rooms, err)
	}
}

// P8: a start opens the rooms with recent activity: idle sessions there may have unread mail, and no one else may
// come. Others stay closed.
func TestP8_RecentRooms(t *testing.T) {
	o := testOffice(t, time.Minute)
	for _, name := range []mail.RoomName{"lately", "long-ago"} {
		svc, err := o.Room(gate.Own(t.Context()), name, "bob")
		if err == nil {
			_, err = svc.Turn(t.Context(), mail.Turn{Moment: mail.SessionStart, Session: "s1", Client: "claude"})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := o.Set.Sweep(func(*rooms.Entry) bool { return true }); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-25 * time.Hour)
	if err := os.Chtimes(filepath.Join(o.Set.Dir("long-ago"), "mailbox.jsonl"), old, old); err != nil {
		t.Fatal(err)
	}
	o.Set.Resume(t.Context())
	for name, want := range map[mail.RoomName]bool{"lately": true, "long-ago": false} {
		if open, _, _ := o.Set.LastKnown(name); open != want {
			t.Errorf("room %s is open: %v, want %v", name, open, want)
		}
	}
}

// TestP12_IdleRoomsMakeRoom holds that when as many rooms are open as may be, another one replaces the one that has
// been idle for longest, and that rooms in use stay. Only if all are in use is the caller told to wait.
func TestP12_IdleRoomsMakeRoom(t *testing.T) {
	o := testOffice(t, time.Hour)
	o.Set.Most = 3
	send := func(name mail.RoomName) error {
		svc, err := o.Room(gate.Own(t.Context()), name, "ann")
		if err == nil {
			_, err = svc.Send(t.Context(), mail.Draft{To: mail.Recipients{"user"}, Body: "hello"})
		}
		return err
	}
	// settled waits until it is known for all rooms whether an agent must be woken there.
	settled := func() {
		for quiet := false; !quiet; time.Sleep(time.Millisecond) {
			quiet = true
			o.Set.Each(func(e *rooms.Entry) { quiet = quiet && e.Ringer.Quiet() })
		}
	}
	wantOpen := func(when string, want ...mail.RoomName) {
		t.Helper()
		settled()
		var got []mail.RoomName
		o.Set.Each(func(e *rooms.Entry) { got = append(got, e.Room.Name()) })
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("%s, open are %v, want %v", when, got, want)
		}
	}
	var watches []mail.Watch
	watch := func(name mail.RoomName) {
		t.Helper()
		svc, err := o.Room(gate.Own(t.Context()), name, mail.User)
		if err != nil {
			t.Fatal(err)
		}
		w, err := svc.Watch(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		watches = append(watches, w)
	}
	for _, name := range []mail.RoomName{"a", "b", "c"} {
		if err := send(name); err != nil {
			t.Fatal(err)
		}
	}
	watch("a")
	if err := send("b"); err != nil { // so that c has been idle for longest
		t.Fatal(err)
	}
	settled()
	if err := send("d"); err != nil {
		t.Fatalf("a fourth room: %v", err)
	}
	wantOpen("when a fourth was opened", "a", "b", "d")
	if err := send("c"); err != nil {
		t.Fatalf("the one that was closed: %v", err)
	}
	wantOpen("when the third was opened again", "a", "c", "d")
	watch("c")
	watch("d")
	if err := send("b"); mail.CodeOf(err) != mail.Limited {
		t.Errorf("another room while all are used: %v, want a limit", err)
	}
	watches[0].Close()
	if err := send("b"); err != nil {
		t.Errorf("another room when one is used no more: %v", err)
	}
	wantOpen("then", "b", "c", "d")
	for _, w := range watches[1:] {
		w.Close()
	}
}
