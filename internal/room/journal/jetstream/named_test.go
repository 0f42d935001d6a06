//go:build unix

package jetstream

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/room/journal"
	"pennypost/internal/room/journal/jetstream/natstest"
	"pennypost/internal/room/journal/jsonl"
)

// faultOf is a fault between a machine and its server.
type faultOf struct {
	harm  func(*natstest.Server, *natstest.Link) error
	mend  func(*natstest.Server, *natstest.Link) error
	names []string // the error must contain one of these
}

var faultsOf = map[string]faultOf{
	"server killed": {
		harm:  func(s *natstest.Server, _ *natstest.Link) error { s.Kill(); return nil },
		mend:  func(s *natstest.Server, _ *natstest.Link) error { return s.Start() },
		names: []string{"the NATS servers cannot be reached"},
	},
	"server stopped": {
		harm:  func(s *natstest.Server, _ *natstest.Link) error { return s.Suspend() },
		mend:  func(s *natstest.Server, _ *natstest.Link) error { return s.Resume() },
		names: []string{"is connected but does not answer: it has stopped, the network", "answers: they are stopped"},
	},
	"answers lost": {
		harm:  func(_ *natstest.Server, l *natstest.Link) error { l.Lose(true); return nil },
		mend:  func(_ *natstest.Server, l *natstest.Link) error { l.Lose(false); return nil },
		names: []string{"does not answer: it has stopped, the network is down", "or the network is down"},
	},
	"requests lost": {
		harm:  func(_ *natstest.Server, l *natstest.Link) error { l.LoseRequests(true); return nil },
		mend:  func(_ *natstest.Server, l *natstest.Link) error { l.LoseRequests(false); return nil },
		names: []string{"does not answer: it has stopped, the network is down", "or the network is down"},
	},
	"both lost": {
		harm: func(_ *natstest.Server, l *natstest.Link) error { l.Lose(true); l.LoseRequests(true); return nil },
		mend: func(_ *natstest.Server, l *natstest.Link) error {
			l.Lose(false)
			l.LoseRequests(false)
			return nil
		},
		names: []string{"does not answer: it has stopped, the network is down", "or the network is down"},
	},
}

// Whatever fails between a machine and its server, each error names the part at fault and comes within two seconds,
// and afterwards the room recovers by itself.
func TestErrorsNameThePart(t *testing.T) {
	t.Parallel()
	for name, fault := range faultsOf {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			servers := natstest.Start(t, 1, natstest.Options{})
			server := servers.Servers[0]
			link := natstest.NewLink(t, server.Client)
			c, err := Connect(t.Context(), Config{URLs: []string{link.URL()}, Replicas: 1, Machine: "desk"})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { c.Close() })
			awaitMachines(t, "a connection", func() bool { return c.Trouble() == nil })
			j, err := c.Open(t.Context(), "lab", t.TempDir(), jsonl.Options{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { j.Close() })
			if _, err := j.Append(t.Context(), notes(5)...); err != nil {
				t.Fatal(err)
			}
			if err := fault.harm(server, link); err != nil {
				t.Fatal(err)
			}
			for i := range 3 { // before the fault is known, and later
				named(t, fault, "append", func() error {
					_, err := j.Append(t.Context(), said(fmt.Sprint("in trouble ", i)))
					return err
				})
				named(t, fault, "open a room that is not here", func() error {
					_, err := c.Open(t.Context(), fmt.Sprint("new", i), t.TempDir(), jsonl.Options{})
					return err
				})
			}
			if err := fault.mend(server, link); err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			awaitMachines(t, "the room goes on", func() bool {
				_, err := j.Append(t.Context(), said(fmt.Sprint("after ", time.Since(began))))
				return err == nil
			})
			t.Logf("usable again after %v", time.Since(began))
		})
	}
}

// named checks that an operation fails in time and names the part at fault.
func named(t *testing.T, fault faultOf, what string, do func() error) {
	t.Helper()
	began := time.Now()
	err := do()
	took := time.Since(began)
	t.Logf("%s, %.1f s: %v", what, took.Seconds(), err)
	if took > 4*time.Second { // two, and a margin for a busy machine
		t.Errorf("%s took %v", what, took)
	}
	if mail.CodeOf(err) != mail.Unavailable || strings.Contains(err.Error(), "nil>") {
		t.Errorf("%s: %v", what, err)
		return
	}
	for _, name := range fault.names {
		if strings.Contains(err.Error(), name) {
			return
		}
	}
	t.Errorf("%s does not name the part at fault: %v", what, err)
}

// TestDiskOfTheCopyIsFull checks that a send that the servers have stored is not answered with "nothing was stored"
// if this machine's disk has no room for the copy.
func TestDiskOfTheCopyIsFull(t *testing.T) {
	dir := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", dir).CombinedOutput(); err != nil {
		t.Skipf("a small disk is mounted by root only: %v: %s", err, out)
	}
	t.Cleanup(func() { _ = exec.Command("umount", "-l", dir).Run() })
	servers := natstest.Start(t, 1, natstest.Options{})
	c, err := Connect(t.Context(), Config{URLs: servers.URLs(), Replicas: 1, Machine: "desk"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	awaitMachines(t, "a connection", func() bool { return c.Trouble() == nil })
	j, err := c.Open(t.Context(), "lab", filepath.Join(dir, "copy"), jsonl.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	if _, err := j.Append(t.Context(), notes(2)...); err != nil {
		t.Fatal(err)
	}
	full := filepath.Join(dir, "full")
	if err := os.WriteFile(full, make([]byte, 1<<20), 0o600); err == nil {
		t.Fatal("the disk is not full")
	}
	long := said(strings.Repeat("long ", 4000))
	_, err = j.Append(t.Context(), long)
	if !errors.Is(err, journal.ErrUnknown) || strings.Contains(err.Error(), "Nothing of") ||
		!strings.Contains(err.Error(), "the disk of this machine") {
		t.Errorf("Append = %v", err)
	}
	if err := os.Remove(full); err != nil {
		t.Fatal(err)
	}
	awaitMachines(t, "it is in the copy", func() bool { return j.Last() == 3 })
	if _, err := j.Append(context.Background(), said("after")); err != nil {
		t.Error(err)
	}
}
