package daemon

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"pennypost/internal/config"
	"pennypost/internal/mail"
	"pennypost/internal/room/journal/jetstream/natstest"
)

// sender sends numbered messages, with keys and retries, until stop, which returns the sent messages.
func sender(t *testing.T, s mail.Service, name string) (stop func() []string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var sent []string
	var running sync.WaitGroup
	running.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			text := fmt.Sprint(name, " ", i)
			for {
				_, err := s.Send(t.Context(), mail.Draft{To: mail.Recipients{"all"}, Type: string(mail.Status),
					Body: text,
					Key:  name + fmt.Sprint(i)})
				if err == nil {
					break
				}
				if mail.CodeOf(err) != mail.Unavailable {
					t.Errorf("send %q: %v", text, err)
					return
				}
			}
			sent = append(sent, text)
		}
	})
	return func() []string { cancel(); running.Wait(); return sent }
}

// untilMoved sends numbered messages until it learns that the room has moved to a file elsewhere, and returns the
// acknowledged ones on sent.
func untilMoved(t *testing.T, s mail.Service, name string) (sent <-chan []string) {
	done := make(chan []string, 1)
	go func() {
		var acknowledged []string
		for i := 0; ; {
			text := fmt.Sprint(name, " ", i)
			_, err := s.Send(t.Context(), mail.Draft{To: mail.Recipients{"all"}, Type: string(mail.Status),
				Body: text, Key: text})
			switch {
			case err == nil:
				acknowledged = append(acknowledged, text)
				i++
			case mail.CodeOf(err) != mail.Unavailable:
				t.Errorf("send %q: %v", text, err)
				fallthrough
			case strings.Contains(err.Error(), "file on the machine"):
				done <- acknowledged
				return
			}
		}
	}()
	return done
}

// checkSent checks that a room has the sent messages, each once and in order.
func checkSent(t *testing.T, where string, s mail.Service, sent ...[]string) {
	t.Helper()
	got := exportedBodies(t, s)
	for _, want := range sent {
		name, _, _ := cutLast(want[0])
		if !slices.Equal(got[name], want) {
			t.Errorf("%s: of %s there is %q, want %q", where, name, got[name], want)
		}
	}
}

// exportedBodies returns the texts of a room's messages in their order, by the word before the number.
func exportedBodies(t *testing.T, s mail.Service) map[string][]string {
	t.Helper()
	got := make(map[string][]string)
	var items []mail.Item // the archive comes first, and may have newer messages than the hot part
	for it, err := range s.Export(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		items = append(items, it)
	}
	slices.SortFunc(items, func(a, b mail.Item) int { return cmp.Compare(a.Seq, b.Seq) })
	for _, it := range items {
		if name, _, ok := cutLast(it.Body); ok {
			got[name] = append(got[name], it.Body)
		}
	}
	return got
}

func cutLast(text string) (name, number string, ok bool) {
	var n int
	ok = false
	if _, err := fmt.Sscanf(text, "%s %d", &name, &n); err == nil {
		ok = true
	}
	return name, fmt.Sprint(n), ok
}

// A room is moved to the servers and back while mail is sent to it, and no mail is lost, duplicated or reordered.
// Other machines have the room as soon as it is on the servers, with archived mail in their archives, and learn
// where it went.
func TestMoveRoom(t *testing.T) {
	servers := natstest.Start(t, 1, natstest.Options{})
	cfg := clusterConfig(t, "a", servers)
	cfg.Journal.Kind = config.KindFile
	cfg.Room.Retention.Count = 5 // the rest goes to the archive
	a := start(t, Options{Config: cfg})
	b := start(t, Options{Config: clusterConfig(t, "b", servers)})
	lab := a.as(t, "lab", mail.User)
	if _, err := lab.Register(t.Context(), mail.Presence{Name: "ann"}); err != nil {
		t.Fatal(err)
	}
	var first []string
	for i := range 30 {
		text := fmt.Sprint("first ", i)
		if err := broadcast(t.Context(), lab, text); err != nil {
			t.Fatal(err)
		}
		first = append(first, text)
	}
	if _, err := a.as(t, "lab", "ann").Mark(t.Context(), mail.Marking{All: true, Mark: mail.MarkRead}); err != nil {
		t.Fatal(err)
	}
	if _, err := lab.Archive(t.Context()); err != nil {
		t.Fatal(err)
	}
	stop := sender(t, lab, "second")
	done, err := a.office.MoveRoom(t.Context(), "lab", config.KindJetStream)
	if err != nil || !done.Moved {
		t.Fatalf("MoveRoom = %+v, %v", done, err)
	}
	if again, err := a.office.MoveRoom(t.Context(), "lab", config.KindJetStream); err != nil || again.Moved {
		t.Errorf("MoveRoom again = %+v, %v", again, err)
	}
	eventually(t, "b has the room", func() bool { return b.lists(t, "lab") })
	second := stop()
	checkSent(t, "a, on the servers", lab, first, second)
	far := b.as(t, "lab", mail.User)
	last := func() mail.Seq { st, err := lab.Status(t.Context()); must(t, err); return st.Seq }
	eventually(t, "b has caught up", func() bool {
		st, err := far.Status(t.Context())
		return err == nil && st.Seq >= last()
	})
	checkSent(t, "b", far, first, second)
	there, err := far.Status(t.Context())
	must(t, err)
	if hot := len(second) + 5; there.Messages > hot || there.Agents != 1 {
		t.Errorf("b has %d hot messages, want at most %d: others are in the archive", there.Messages, hot)
	}

	stop = sender(t, lab, "third")
	fourth := untilMoved(t, far, "fourth")
	eventually(t, "b sends", func() bool { return len(exportedBodies(t, lab)["fourth"]) > 20 })
	if done, err = a.office.MoveRoom(t.Context(), "lab", config.KindFile); err != nil || !done.Moved {
		t.Fatalf("MoveRoom back = %+v, %v", done, err)
	}
	third := stop()
	checkSent(t, "a, in its file", lab, first, second, third)
	acknowledged, got := <-fourth, exportedBodies(t, lab)["fourth"]
	// The sender may have missed the acknowledgement of the last one.
	if n := len(acknowledged); n > len(got) || n < len(got)-1 || !slices.Equal(got[:n], acknowledged) {
		t.Errorf("of %d that b was told are sent, a has %d: %q", n, len(got), got)
	}
	eventually(t, "b says where the room is", func() bool {
		err := broadcast(t.Context(), far, "to nowhere")
		return mail.CodeOf(err) == mail.Unavailable && strings.Contains(err.Error(), "file on the machine a")
	})
	eventually(t, "b's desk is without it, and its list says where it is", func() bool {
		desk, err := b.office.Desk(t.Context(), mail.DeskQuery{})
		must(t, err)
		rooms, err := b.office.Rooms(t.Context())
		must(t, err)
		return len(desk.Away) == 0 && slices.ContainsFunc(rooms, func(r mail.RoomStatus) bool {
			return r.Name == "lab" && r.Seq == 0 && strings.Contains(r.Trouble, "file on the machine a")
		})
	})
	if _, err := os.Stat(filepath.Join(string(cfg.Home), "rooms", "lab", "mailbox.jsonl")); err != nil {
		t.Error(err)
	}
	found, err := lab.Verify(t.Context())
	if err != nil || len(found.Problems) > 0 {
		t.Errorf("Verify = %+v, %v", found.Problems, err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
