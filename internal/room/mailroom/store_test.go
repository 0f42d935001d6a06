package mailroom

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/room/journal"
	"pennypost/internal/room/journal/jetstream"
	"pennypost/internal/room/journal/jetstream/natstest"
	"pennypost/internal/room/journal/journaltest"
	"pennypost/internal/room/journal/jsonl"
)

// With PENNYPOST_TEST_JOURNAL=jetstream the tests of rooms have their journals on three NATS servers, instead of in
// memory. Those that are not about rooms on any journal say so and are skipped.
var onServers = os.Getenv("PENNYPOST_TEST_JOURNAL") == "jetstream"

// servers have the rooms of all tests, if onServers.
var servers struct {
	*jetstream.Cluster
	dir    string // of the copies
	stores atomic.Int64
}

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	if !onServers {
		return m.Run()
	}
	end, err := startServers()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer end()
	code := m.Run()
	fmt.Println("journals on NATS servers:", servers.stores.Load())
	return code
}

// startServers starts them. Their power is never cut, so they need not sync.
func startServers() (end func(), err error) {
	if servers.dir, err = os.MkdirTemp("", "mailroom"); err != nil {
		return nil, err
	}
	c, err := natstest.New(filepath.Join(servers.dir, "nats"), 3, natstest.Options{Sync: "1m"})
	if err != nil {
		return nil, err
	}
	servers.Cluster, err = jetstream.Connect(context.Background(), jetstream.Config{URLs: c.URLs()})
	if err != nil {
		return nil, err
	}
	for servers.Trouble() != nil {
		time.Sleep(time.Millisecond)
	}
	return func() {
		servers.Close()
		c.Stop()
		os.RemoveAll(servers.dir)
	}, nil
}

// store outlives the closing of a room's journal.
type store struct {
	memory *journaltest.Store
	room   string // if onServers: its name there
}

// compacter is the interface of all journals here.
type compacter interface {
	journal.Journal
	journal.Compacter
}

// newStore returns an empty store, for a test of T or of rapid.
func newStore(t interface{ Cleanup(func()) }) *store {
	s := &store{memory: &journaltest.Store{}}
	if onServers {
		s.room = fmt.Sprint("room", servers.stores.Add(1))
		t.Cleanup(func() {
			_ = servers.Delete(context.Background(), s.room)
			os.RemoveAll(s.dir())
		})
	}
	return s
}

func (s *store) dir() string { return filepath.Join(servers.dir, s.room) }

// Open opens the journal. If called again while it is open, the second one is that of another machine, with its own
// copy. It panics if healthy servers do not take it.
func (s *store) Open() compacter {
	if !onServers {
		return s.memory.Open()
	}
	for machine := 1; ; machine++ {
		dir := filepath.Join(s.dir(), fmt.Sprint(machine))
		j, err := servers.Open(context.Background(), s.room, dir, jsonl.Options{})
		if err == nil {
			return j
		}
		if mail.CodeOf(err) != mail.Conflict {
			panic(err)
		}
	}
}

// inMemory returns a store for tests which break it, or act on the room in the middle of an operation.
func inMemory(t testing.TB) *store {
	t.Helper()
	if onServers {
		t.Skip("on memory only: its journal is broken, or held up, on purpose")
	}
	return &store{memory: &journaltest.Store{}}
}

// fakeTime runs a test in a bubble of synctest.
func fakeTime(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	if onServers {
		t.Skip("on memory only: servers have no fake time")
	}
	synctest.Test(t, test)
}
