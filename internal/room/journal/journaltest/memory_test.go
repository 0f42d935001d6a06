package journaltest

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"pennypost/internal/room/journal"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestMemory(t *testing.T) {
	stores := make(map[string]*Store)
	Run(t, func(t *testing.T, dir string) journal.Journal {
		if stores[dir] == nil {
			stores[dir] = new(Store)
		}
		return stores[dir].Open()
	})
}

func TestMemoryBreaks(t *testing.T) {
	var s Store
	j := s.Open()
	if _, err := j.Append(t.Context(), message(1)); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("the disk is gone")
	s.Break(broken)
	for range 2 {
		if _, err := j.Append(t.Context(), message(2)); err != broken {
			t.Errorf("Append after Break = %v, want %v", err, broken)
		}
	}
	j.Close()
	j = s.Open()
	defer j.Close()
	if seq, err := j.Append(t.Context(), message(2)); seq != 2 || err != nil {
		t.Errorf("Append after opening again = %d, %v, want 2, nil", seq, err)
	}
}

// Two post offices on one stream see each other's mail.
func TestMemoryShared(t *testing.T) {
	var s Store
	a, b := s.Open(), s.Open()
	defer a.Close()
	defer b.Close()
	c := b.Follow(0)
	defer c.Close()
	if _, err := a.Append(t.Context(), message(1)); err != nil {
		t.Fatal(err)
	}
	if events, err := c.Next(t.Context()); len(events) != 1 || err != nil {
		t.Errorf("Next on the other journal = %v, %v, want one event", events, err)
	}
}

func TestMemoryInBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s Store
		j := s.Open()
		c := j.Follow(0)
		start := time.Now()
		go func() {
			time.Sleep(time.Hour)
			if _, err := j.Append(t.Context(), message(1)); err != nil {
				t.Error(err)
			}
		}()
		if _, err := c.Next(t.Context()); err != nil {
			t.Error(err)
		}
		if waited := time.Since(start); waited != time.Hour {
			t.Errorf("the cursor waited %v, want 1h", waited)
		}
		c.Close()
		j.Close()
	})
}
