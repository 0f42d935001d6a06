package systemtest

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"pennypost/internal/room/journal/jetstream/natstest"
)

// TestOutboxKilled kills the post office again and again while its servers are away and it keeps mail, and while it
// sends its kept mail. In the end every acknowledged message is in the room once, in its sender's order.
func TestOutboxKilled(t *testing.T) {
	t.Parallel()
	servers := natstest.Start(t, 1, natstest.Options{})
	o := newOffice(t)
	onServers(t, o, servers, "laptop-1", "jetstream")
	o.mustServe(t)
	o.must(t, "agents", "register", "sink")
	all := make([]*sender, 8) // over HTTP, with and without keys, and by MCP
	for i := range all {
		all[i] = o.newSender(t, i)
		_, err := all[i].send(all[i].body(0), all[i].id) // a newcomer to the room cannot have mail kept
		check(t, err)
		all[i].tried = 1
	}
	var acked atomic.Int64
	var running sync.WaitGroup
	stop := make(chan struct{})
	end := sync.OnceFunc(func() { close(stop); running.Wait() })
	defer end()
	for _, s := range all {
		running.Go(func() { s.run(stop, &acked) })
	}
	progress := func() {
		t.Helper()
		before := acked.Load()
		eventually(t, "senders have sent something", func() bool { return acked.Load() >= before+40 })
		time.Sleep(rand.N(100 * time.Millisecond)) // the kill may hit any moment
	}
	for round := range 4 {
		servers.Servers[0].Kill()
		progress()
		o.killDaemon(t) // while it keeps mail
		o.restart(t, round)
		progress()
		if err := servers.Servers[0].Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(rand.N(time.Second))
		o.killDaemon(t) // while it sends its kept mail, perhaps
		o.restart(t, round+1)
		progress()
	}
	end()
	eventually(t, "everything is sent", func() bool {
		return strings.Contains(o.must(t, "outbox"), "Nothing is kept")
	})
	checkSent(t, all, o.exported(t))
	if _, err := os.Stat(filepath.Join(o.home, "outbox.jsonl")); !os.IsNotExist(err) {
		t.Errorf("the file of the outbox is still there: %v", err)
	}
}

// TestOutboxOnFullDisk: while the disk is full no mail is kept, and the sender is told so. Refused mail is never
// sent; mail kept before and after is sent once.
func TestOutboxOnFullDisk(t *testing.T) {
	t.Parallel()
	servers := natstest.Start(t, 1, natstest.Options{})
	o := newOffice(t)
	check(t, os.MkdirAll(o.home, 0o700))
	if err := mountSmall(o.home, "size=32m"); err != nil {
		t.Skip("no small disk here: ", err)
	}
	t.Cleanup(func() { check(t, unmount(o.home)) })
	onServers(t, o, servers, "laptop-1", "jetstream")
	o.mustServe(t)
	send := func(text string) result { return o.run("send", "--to", "user", "--body", text) }
	o.must(t, "send", "--to", "user", "--body", "the first of all")
	servers.Servers[0].Kill()
	eventually(t, "mail is kept", func() bool {
		return strings.Contains(send("kept before").stdout, "kept on this machine")
	})
	filler := fillDisk(t, o.home)
	long := strings.Repeat("far too much ", 1000)
	if r := send(long); r.code == 0 || !strings.Contains(r.stderr, "not kept on this machine either") ||
		!strings.Contains(r.stderr, "no space left") {
		t.Errorf("a send on a full disk: %+v", r)
	}
	check(t, os.Remove(filler))
	if r := send("kept after"); !strings.Contains(r.stdout, "kept on this machine") {
		t.Errorf("a send when there is room again: %+v", r)
	}
	check(t, servers.Servers[0].Start())
	eventually(t, "everything is sent", func() bool {
		return strings.Contains(o.must(t, "outbox"), "Nothing is kept")
	})
	got := o.must(t, "export")
	for text, want := range map[string]int{"kept before": 1, "kept after": 1, "far too much": 0} {
		if n := strings.Count(got, `"body":"`+text); n != want {
			t.Errorf("%q is there %d times, want %d", text, n, want)
		}
	}
}

// fillDisk fills the disk of a directory with a file there.
func fillDisk(t *testing.T, dir string) (path string) {
	t.Helper()
	path = filepath.Join(dir, "filler")
	f, err := os.Create(path)
	check(t, err)
	defer f.Close()
	for block := make([]byte, 64<<10); err == nil; {
		_, err = f.Write(block)
	}
	if !strings.Contains(err.Error(), syscall.ENOSPC.Error()) {
		t.Fatal(err)
	}
	return path
}
