package jetstream

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pennypost/internal/mail"
	"pennypost/internal/room/journal"
	"pennypost/internal/room/journal/jetstream/natstest"
	"pennypost/internal/room/journal/jsonl"
)

// A moved room has each sequence number once: hot or archived events, and none where an event was dropped.
func TestPlaces(t *testing.T) {
	t.Parallel()
	j, err := jsonl.Open(t.TempDir(), jsonl.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	for i := range 12 {
		e := mail.Event{At: 1747750000000 + mail.Time(i), Message: &mail.Message{ID: mail.ID(fmt.Sprint("msg_", i)),
			Type: mail.Status, From: "user", To: []mail.Address{"all"}, Body: "text"}}
		if _, err := j.Append(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	fates := func(archive, drop string) {
		err := j.Compact(t.Context(), func(e mail.Event) journal.Fate {
			switch seq := fmt.Sprintf(" %d ", e.Seq); {
			case strings.Contains(archive, seq):
				return journal.Archive
			case strings.Contains(drop, seq):
				return journal.Drop
			}
			return journal.Keep
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	look := func() string {
		var b strings.Builder
		for at, err := range contents(t.Context(), j, 1, 11) {
			if err != nil {
				t.Fatal(err)
			}
			word := "hot"
			if at.archived {
				word = "cold"
			} else if at.text == nil {
				word = "gone"
			}
			if at.text != nil && !strings.Contains(string(at.text), fmt.Sprintf("msg_%d", at.seq-1)) {
				t.Errorf("at %d stands %s", at.seq, at.text)
			}
			fmt.Fprintf(&b, "%d %s ", at.seq, word)
		}
		return b.String()
	}
	fates(" 1 2 3 5 ", " 6 ")
	if got, want := look(), "2 cold 3 cold 4 hot 5 cold 6 gone 7 hot 8 hot 9 hot 10 hot 11 hot "; got != want {
		t.Errorf("the events are %s, want %s", got, want)
	}
	fates(" 7 9 ", " 8 ")
	if got, want := look(), "2 cold 3 cold 4 hot 5 cold 6 gone 7 cold 8 gone 9 cold 10 hot 11 hot "; got != want {
		t.Errorf("the events are %s, want %s", got, want)
	}
}

// A machine that fetches a room that was moved to the servers has the same events in its archive, and the rest hot;
// even if fetching was interrupted.
func TestArrive(t *testing.T) {
	t.Parallel()
	servers := natstest.Start(t, 1, natstest.Options{})
	dial := func(name mail.Machine) *Cluster {
		c, err := Connect(t.Context(), Config{URLs: servers.URLs(), Replicas: 1, Machine: name})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		awaitMachines(t, "a connection", func() bool { return c.Trouble() == nil })
		return c
	}
	a, b := dial("a"), dial("b")
	from, err := jsonl.Open(t.TempDir(), jsonl.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	add := func(n int) {
		for i := range n {
			if _, err := from.Append(t.Context(), mail.Event{At: 1747750000000, Message: &mail.Message{
				ID: mail.ID(fmt.Sprint("msg_", from.Last(), "_", i)), Type: mail.Status, From: "user",
				To: []mail.Address{"all"}, Body: "text"}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	add(2000)
	err = from.Compact(t.Context(), func(e mail.Event) journal.Fate {
		if e.Seq <= 1500 && e.Seq%2 == 0 {
			return journal.Archive
		} else if e.Seq <= 1500 && e.Seq%3 == 0 {
			return journal.Drop
		}
		return journal.Keep
	})
	if err != nil {
		t.Fatal(err)
	}
	brought, err := a.Bring(t.Context(), "lab", from)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Open(t.Context(), "lab", t.TempDir(), jsonl.Options{}); mail.CodeOf(err) != mail.Unavailable ||
		!strings.Contains(err.Error(), "being moved") {
		t.Errorf("a room on its way is opened elsewhere: %v", err)
	}
	add(10)
	if err := a.Arrive(t.Context(), "lab", from, brought); err != nil {
		t.Fatal(err)
	}
	if err := a.Settle(t.Context(), "lab", from.Last()); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, fetchingName), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "mailbox.jsonl"), []byte("what was fetched before\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	got, err := b.Open(t.Context(), "lab", dir, jsonl.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer got.Close()
	if got.Last() != 2010 || got.fetching() {
		t.Errorf("the copy ends at %d, and is being fetched: %t", got.Last(), got.fetching())
	}
	hot, cold := 0, 0
	for c := got.Replay(); ; {
		events, err := c.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			if e.Message != nil {
				hot++
			}
		}
		if events[len(events)-1].Seq == 2010 {
			c.Close()
			break
		}
	}
	for _, err := range got.Archived(t.Context(), 0, false) {
		if err != nil {
			t.Fatal(err)
		}
		cold++
	}
	if hot != 500+510 || cold != 750 {
		t.Errorf("%d events are hot and %d in the archive, want 1010 and 750", hot, cold)
	}
}
