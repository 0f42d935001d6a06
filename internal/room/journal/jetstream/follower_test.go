package jetstream_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/room/journal/jsonl"
)

// TestOpensAtOnce opens a room without a copy repeatedly. A lost first message is noticed only after two heartbeats;
// with a pull consumer instead of a push consumer that happened once in twenty times.
func TestOpensAtOnce(t *testing.T) {
	c := connect(t, shared(t).URLs())
	first, err := c.Open(t.Context(), "at-once", filepath.Join(t.TempDir(), "first"), jsonl.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	for range 50 {
		change := &mail.AgentChange{Name: "builder"}
		if _, err := first.Append(t.Context(), mail.Event{At: 1, Agent: change}); err != nil {
			t.Fatal(err)
		}
	}
	dir, late := t.TempDir(), 0
	for i := range 100 {
		began := time.Now()
		j, err := c.Open(t.Context(), "at-once", filepath.Join(dir, fmt.Sprint(i)), jsonl.Options{})
		if err != nil {
			t.Fatalf("after %v: %v", time.Since(began), err)
		}
		if time.Since(began) > 1900*time.Millisecond {
			late++
		}
		if last := j.Last(); last != first.Last() {
			t.Errorf("opened as far as %d of %d", last, first.Last())
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if late > 0 {
		t.Errorf("%d of 100 waited for the second heartbeat", late)
	}
}
