package daemon

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"pennypost/internal/config"
	"pennypost/internal/mail"
	"pennypost/internal/room/journal/jetstream/natstest"
)

// clusterConfig returns the configuration of a machine whose new rooms are on servers.
func clusterConfig(t *testing.T, name mail.Machine, servers *natstest.Cluster) config.Config {
	t.Helper()
	c := testConfig(t)
	c.Machine.Name, c.Machine.Admit = name, config.AdmitAnyone
	c.Journal = config.Journal{Kind: config.KindJetStream, URLs: servers.URLs(), Replicas: len(servers.Servers)}
	return c
}

// as returns a room as seen by who.
func (r *running) as(t *testing.T, room mail.RoomName, who mail.Name) mail.Service {
	t.Helper()
	s, err := r.office.Room(t.Context(), room, who)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// broadcast sends a message to all.
func broadcast(ctx context.Context, s mail.Service, text string) error {
	_, err := s.Send(ctx, mail.Draft{To: mail.Recipients{"all"}, Type: string(mail.Status), Body: text})
	return err
}

// bodies returns the texts of the messages in a room, from the oldest.
func bodies(ctx context.Context, s mail.Service) (out []string) {
	page, err := s.History(ctx, mail.HistoryQuery{Limit: 1000})
	if err != nil {
		return []string{err.Error()}
	}
	for _, it := range page.Messages {
		out = append(out, it.Body)
	}
	return out
}

func (r *running) lists(t *testing.T, room mail.RoomName) bool {
	t.Helper()
	all, err := r.office.Rooms(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(all, func(st mail.RoomStatus) bool { return st.Name == room })
}

// A room made on one machine reaches the others within seconds, and mail sent on each is read on all.
func TestClusterRooms(t *testing.T) {
	servers := natstest.Start(t, 1, natstest.Options{})
	a := start(t, Options{Config: clusterConfig(t, "a", servers)})
	b := start(t, Options{Config: clusterConfig(t, "b", servers)})
	if err := broadcast(t.Context(), a.as(t, "lab", mail.User), "from a"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "b lists the room", func() bool { return b.lists(t, "lab") })
	if err := broadcast(t.Context(), b.as(t, "lab", mail.User), "from b"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a has both", func() bool {
		return slices.Equal(bodies(t.Context(), a.as(t, "lab", mail.User)), []string{"from a", "from b"})
	})
	st, err := b.office.Status(t.Context())
	if err != nil || st.Cluster == nil || st.Cluster.Machine != "b" || st.Cluster.Trouble != "" {
		t.Errorf("b says %+v, %v", st.Cluster, err)
	}
}

// A closed room is opened again on every machine that has it when something happens there.
func TestClusterRoomWakes(t *testing.T) {
	servers := natstest.Start(t, 1, natstest.Options{})
	a := start(t, Options{Config: clusterConfig(t, "a", servers)})
	idle := clusterConfig(t, "b", servers)
	idle.RoomIdle = config.Duration(200 * time.Millisecond)
	b := start(t, Options{Config: idle})
	if err := broadcast(t.Context(), a.as(t, "lab", mail.User), "one"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "b lists the room", func() bool { return b.lists(t, "lab") })
	if got := bodies(t.Context(), b.as(t, "lab", mail.User)); !slices.Equal(got, []string{"one"}) {
		t.Fatalf("b has %q", got)
	}
	open := func() int {
		st, err := b.office.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return st.Rooms
	}
	eventually(t, "the room is closed on b", func() bool { return open() == 0 })
	if err := broadcast(t.Context(), a.as(t, "lab", mail.User), "two"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the room is open on b", func() bool { return open() == 1 })
}

// Without the servers a post office starts and reports its knowledge, and how old that is. Mail to a known room is
// kept, even over a restart, and arrives once and in order when the servers are back, without anyone's help.
func TestClusterWithoutServers(t *testing.T) {
	servers := natstest.Start(t, 1, natstest.Options{})
	cfg := clusterConfig(t, "a", servers)
	a := start(t, Options{Config: cfg})
	other := start(t, Options{Config: clusterConfig(t, "b", servers)})
	if err := broadcast(t.Context(), a.as(t, "lab", mail.User), "before"); err != nil {
		t.Fatal(err)
	}
	refused := func(r *running, room mail.RoomName) {
		t.Helper()
		began := time.Now()
		err := broadcast(t.Context(), r.as(t, room, mail.User), "refused")
		if mail.CodeOf(err) != mail.Unavailable || time.Since(began) > 4*time.Second { // 2 s, on a busy machine
			t.Errorf("a send to %s ended with %v after %v", room, err, time.Since(began))
		}
	}
	kept := func(r *running, text string) {
		t.Helper()
		sent, err := r.as(t, "lab", mail.User).Send(t.Context(), mail.Draft{To: mail.Recipients{"all"},
			Type: string(mail.Status), Body: text})
		if err != nil || sent.Kept == nil || sent.ID != "" || sent.Recipients[0].State != mail.KeptHere {
			t.Errorf("a send without servers is answered %+v, %v", sent, err)
		}
	}
	old := func(r *running, text string) {
		t.Helper()
		page, err := r.as(t, "lab", mail.User).Inbox(t.Context(), mail.InboxQuery{All: true})
		if err != nil || !strings.HasPrefix(page.Trouble, "as of ") {
			t.Errorf("the inbox is not marked: %q, %v", page.Trouble, err)
		}
		st, err := r.as(t, "lab", mail.User).Status(t.Context())
		if err != nil || !strings.Contains(st.Trouble, "NATS servers cannot be reached") {
			t.Errorf("the room's status is %q, %v", st.Trouble, err)
		}
		if got := bodies(t.Context(), r.as(t, "lab", mail.User)); !slices.Equal(got, []string{"before"}) {
			t.Errorf("without servers there is %q", got)
		}
		kept(r, text)
		refused(r, "new")
		if r.lists(t, "new") {
			t.Error("a room was made by a message that was refused")
		}
	}
	servers.Servers[0].Kill()
	eventually(t, "a notices", func() bool {
		st, err := a.office.Status(t.Context())
		return err == nil && st.Cluster.Trouble != ""
	})
	old(a, "kept 1")
	a.stop(t)
	again := start(t, Options{Config: cfg})
	old(again, "kept 2")
	if err := servers.Servers[0].Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "mail is taken again", func() bool {
		return broadcast(t.Context(), again.as(t, "lab", mail.User), "after") == nil
	})
	for _, r := range []*running{again, other} {
		eventually(t, "all have all", func() bool {
			got := bodies(t.Context(), r.as(t, "lab", mail.User))
			return len(got) >= 4 && slices.Equal(got[:3], []string{"before", "kept 1", "kept 2"}) &&
				!slices.Contains(got[3:], "kept 1") && !slices.Contains(got[3:], "kept 2") &&
				got[len(got)-1] == "after" && !slices.Contains(got, "refused")
		})
	}
	eventually(t, "nothing is marked any more", func() bool {
		page, err := again.as(t, "lab", mail.User).Inbox(t.Context(), mail.InboxQuery{})
		return err == nil && page.Trouble == ""
	})
}

// Servers that answer but do not list their rooms say nothing of a room of which this machine has a copy: it is not
// damaged, and the post office continues.
func TestRoomsNotListed(t *testing.T) {
	servers := natstest.Start(t, 1, natstest.Options{Config: `no_auth_user: all
authorization { users: [
  { user: all, password: all }
  { user: deaf, password: deaf, permissions: { publish: { deny: "$JS.API.STREAM.LIST" } } }
] }
`})
	cfg := clusterConfig(t, "a", servers)
	a := start(t, Options{Config: cfg})
	if err := broadcast(t.Context(), a.as(t, "lab", mail.User), "before"); err != nil {
		t.Fatal(err)
	}
	a.stop(t)
	cfg.Journal.URLs = []string{strings.Replace(servers.URLs()[0], "://", "://deaf:deaf@", 1)}
	tries := make(failedLists, 10)
	again := start(t, Options{Config: cfg, Log: slog.New(slog.NewTextHandler(tries, nil))})
	<-tries // at the start
	<-tries // and by itself
	if err := broadcast(t.Context(), again.as(t, "lab", mail.User), "after"); err != nil {
		t.Error(err)
	}
	st, err := again.office.Status(t.Context())
	if err != nil || len(st.Cluster.Health.Degraded) > 0 {
		t.Errorf("the servers did not list their rooms, and it is said that %+v, %v", st.Cluster.Health.Degraded, err)
	}
}

// failedLists receives a value whenever a log says that rooms were not listed.
type failedLists chan struct{}

func (c failedLists) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte("rooms on the NATS servers not listed")) {
		c <- struct{}{}
	}
	return len(line), nil
}

// A second post office of the same name is refused.
func TestMachineName(t *testing.T) {
	servers := natstest.Start(t, 1, natstest.Options{})
	start(t, Options{Config: clusterConfig(t, "a", servers)})
	err := Run(t.Context(), Options{Config: clusterConfig(t, "a", servers)})
	if mail.CodeOf(err) != mail.Conflict || !strings.Contains(err.Error(), "the name a belongs") {
		t.Errorf("Run = %v, want that the name is taken", err)
	}
}

// TestNewRoomsAreNotLost makes rooms while the servers' rooms are being listed: none of them is reported lost because
// the list is older.
func TestNewRoomsAreNotLost(t *testing.T) {
	servers := natstest.Start(t, 1, natstest.Options{})
	a := start(t, Options{Config: clusterConfig(t, "a", servers)})
	for i := range 100 {
		room := mail.RoomName(fmt.Sprint("lab-", i))
		if err := broadcast(t.Context(), a.as(t, room, mail.User), "first"); err != nil {
			t.Fatal(err)
		}
		all, err := a.office.Rooms(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, st := range all {
			if st.Trouble != "" {
				t.Fatalf("after %d rooms: %s", i+1, st.Trouble)
			}
		}
	}
}

// TestRoomMadeAgain removes a room and makes it again while the servers' rooms are being listed: the new room is not
// taken for the removed one because the list is older.
func TestRoomMadeAgain(t *testing.T) {
	servers := natstest.Start(t, 1, natstest.Options{})
	a := start(t, Options{Config: clusterConfig(t, "a", servers)})
	for i := range 60 {
		if err := broadcast(t.Context(), a.as(t, "lab", mail.User), "first"); err != nil {
			t.Fatal(i, err)
		}
		if got := bodies(t.Context(), a.as(t, "lab", mail.User)); len(got) != 1 {
			t.Fatalf("room %d has %q", i, got)
		}
		if _, err := a.office.RemoveRoom(t.Context(), "lab"); err != nil {
			t.Fatal(i, err)
		}
	}
}

// TestDeletedStreamIsNotMadeAgain: a machine that never had a room open does not make a new stream for one that was
// deleted while another machine has a copy. Restored, the room has all its mail.
func TestDeletedStreamIsNotMadeAgain(t *testing.T) {
	servers := natstest.Start(t, 1, natstest.Options{})
	a := start(t, Options{Config: clusterConfig(t, "a", servers)})
	b := start(t, Options{Config: clusterConfig(t, "b", servers)})
	eventually(t, "they know each other", func() bool {
		list, err := b.office.Machines(t.Context())
		return err == nil && len(list.Machines) == 2
	})
	for _, body := range []string{"one", "two"} {
		if err := broadcast(t.Context(), a.as(t, "lab", mail.User), body); err != nil {
			t.Fatal(err)
		}
	}
	nc, err := nats.Connect(servers.URLs()[0])
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	if _, err := nc.Request("$JS.API.STREAM.DELETE.pennypost_shard_1", nil, time.Second); err != nil {
		t.Fatal(err)
	}
	err = broadcast(t.Context(), b.as(t, "lab", mail.User), "three")
	if mail.CodeOf(err) != mail.Unavailable || !strings.Contains(err.Error(), "pennypost rooms restore lab") {
		t.Errorf("a send by a machine without a copy: %v", err)
	}
	if _, err := a.office.RestoreRoom(t.Context(), "lab", "a"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "mail is taken again", func() bool {
		return broadcast(t.Context(), b.as(t, "lab", mail.User), "three") == nil
	})
	page, err := b.as(t, "lab", mail.User).History(t.Context(), mail.HistoryQuery{})
	if err != nil || len(page.Messages) != 3 {
		t.Errorf("the room has %d messages, %v, want 3", len(page.Messages), err)
	}
	if err := broadcast(t.Context(), b.as(t, "new", mail.User), "first"); err != nil {
		t.Errorf("a room that never was: %v", err)
	}
}
