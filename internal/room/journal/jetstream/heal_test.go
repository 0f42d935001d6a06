package jetstream_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pennypost/internal/mail"
	"pennypost/internal/room/journal/jetstream"
	"pennypost/internal/room/journal/jetstream/natstest"
	"pennypost/internal/room/journal/jsonl"
)

func open(t testing.TB, c *jetstream.Cluster, room, dir string) (j *jetstream.Journal) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	eventually(t, func() (err error) { // the servers of a busy machine may not answer in time
		if j, err = c.Open(ctx, room, dir, jsonl.Options{}); err != nil && mail.CodeOf(err) != mail.Unavailable {
			t.Fatal(err)
		}
		return err
	})
	t.Cleanup(func() { j.Close() })
	return j
}

func note(text string) mail.Event {
	return mail.Event{At: 1778414400000, Message: &mail.Message{ID: mail.ID("msg_" + text), Type: mail.Status,
		From: "agent:a", To: []mail.Address{"user"}, Body: text}}
}

// add appends notes one by one, and retries while the servers do not answer.
func add(t testing.TB, j *jetstream.Journal, text string, n int) {
	t.Helper()
	for i := range n {
		e := note(fmt.Sprint(text, i))
		eventually(t, func() error {
			_, err := j.Append(t.Context(), e)
			return err
		})
	}
}

func eventually(t testing.TB, f func() error) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		err := f()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// all returns the first n events of a journal.
func all(t testing.TB, j *jetstream.Journal, n int) (events []mail.Event) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c := j.Follow(0)
	defer c.Close()
	for len(events) < n {
		some, err := c.Next(ctx)
		if err != nil {
			t.Fatalf("after %d of %d events: %v", len(events), n, err)
		}
		events = append(events, some...)
	}
	return events
}

// bodies counts the bodies of events.
func bodies(events []mail.Event) map[string]int {
	m := make(map[string]int)
	for _, e := range events {
		if e.Message != nil {
			m[e.Message.Body]++
		}
	}
	return m
}

// backTo stops the servers, restores their data from copied, and starts them again.
func backTo(t *testing.T, servers *natstest.Cluster, copied string) {
	t.Helper()
	servers.Stop()
	for _, s := range servers.Servers {
		if err := os.RemoveAll(s.Dir); err != nil {
			t.Fatal(err)
		}
		if err := os.CopyFS(s.Dir, os.DirFS(filepath.Join(copied, s.Name))); err != nil {
			t.Fatal(err)
		}
	}
	start(t, servers)
}

func start(t *testing.T, servers *natstest.Cluster) {
	t.Helper()
	for _, s := range servers.Servers {
		if err := s.Start(); err != nil {
			t.Fatal(err)
		}
	}
	if err := servers.Ready(time.Minute); err != nil {
		t.Fatal(err)
	}
}

// All servers lose their last acknowledged events, as in a power cut when they do not sync. The machines put back
// what they have: with the same numbers if no one has appended since, else at the end; and once, from any number of
// machines.
func TestLostTail(t *testing.T) {
	t.Parallel()
	servers := natstest.Start(t, 3, natstest.Options{})
	c := connect(t, servers.URLs())
	dirs := [4]string{t.TempDir(), t.TempDir(), t.TempDir(), t.TempDir()}
	a := open(t, c, "lost", dirs[0])
	add(t, a, "kept", 20)
	servers.Stop()
	copied := t.TempDir()
	for _, s := range servers.Servers {
		if err := os.CopyFS(filepath.Join(copied, s.Name), os.DirFS(s.Dir)); err != nil {
			t.Fatal(err)
		}
	}
	start(t, servers)
	add(t, a, "lost", 10)
	want := all(t, a, 30)

	backTo(t, servers, copied)
	b := open(t, c, "lost", dirs[1])
	eventually(t, func() error {
		if b.Last() < 30 {
			return fmt.Errorf("the servers have %d of 30 events", b.Last())
		}
		return nil
	})
	if diff := cmp.Diff(want, all(t, b, 30)); diff != "" {
		t.Fatalf("what a machine that was there has put back (-want +got):\n%s", diff)
	}
	for _, j := range []*jetstream.Journal{a, b} {
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	}

	backTo(t, servers, copied)
	d := open(t, c, "lost", dirs[2])
	add(t, d, "since", 5)
	a = open(t, c, "lost", dirs[0])
	b = open(t, c, "lost", dirs[1])
	e := open(t, c, "lost", dirs[3])
	got := all(t, e, 35)
	for _, j := range []*jetstream.Journal{a, b, d} {
		if diff := cmp.Diff(got, all(t, j, 35)); diff != "" {
			t.Errorf("a machine has other events (-want +got):\n%s", diff)
		}
	}
	expect := bodies(append(want, got[20:25]...))
	if diff := cmp.Diff(expect, bodies(got)); diff != "" {
		t.Errorf("what is there after the loss (-want +got):\n%s", diff)
	}
}
