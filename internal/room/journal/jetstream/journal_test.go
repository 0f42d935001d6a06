package jetstream_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"pennypost/internal/room/journal"
	"pennypost/internal/room/journal/jetstream"
	"pennypost/internal/room/journal/jetstream/natstest"
	"pennypost/internal/room/journal/journaltest"
	"pennypost/internal/room/journal/jsonl"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if servers != nil {
		servers.Stop()
		os.RemoveAll(serversDir)
	}
	os.Exit(code)
}

var (
	servers    *natstest.Cluster // shared by the tests that do not damage them
	serversDir string
)

// shared returns three servers that all tests share.
func shared(t testing.TB) *natstest.Cluster {
	t.Helper()
	if servers != nil {
		return servers
	}
	if testing.Short() {
		t.Skip("NATS servers: ./test")
	}
	if _, err := natstest.Program(); err != nil {
		t.Skip(err)
	}
	var err error
	if serversDir, err = os.MkdirTemp("", "jetstream"); err != nil {
		t.Fatal(err)
	}
	if servers, err = natstest.New(serversDir, 3, natstest.Options{}); err != nil {
		t.Fatal(err)
	}
	return servers
}

func connect(t testing.TB, urls []string) *jetstream.Cluster {
	t.Helper()
	c, err := jetstream.Connect(t.Context(), jetstream.Config{URLs: urls})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	for c.Trouble() != nil {
		time.Sleep(time.Millisecond)
	}
	return c
}

func roomOf(dir string) string { return filepath.Base(filepath.Dir(dir)) + filepath.Base(dir) }

func TestJournal(t *testing.T) {
	c := connect(t, shared(t).URLs())
	journaltest.Run(t, func(t *testing.T, dir string) journal.Journal {
		j, err := c.Open(context.Background(), roomOf(dir), dir, jsonl.Options{Log: logTo(t)})
		if err != nil {
			t.Fatal(err)
		}
		return j
	})
}

// logTo returns a log that is printed if the test fails.
func logTo(t testing.TB) *slog.Logger {
	return slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))
}
