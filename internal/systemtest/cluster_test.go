package systemtest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pennypost/internal/room/journal/jetstream/natstest"
)

// onServers writes a configuration with NATS servers, which have new rooms if kind says so.
func onServers(t *testing.T, o *office, servers *natstest.Cluster, machine, kind string) {
	t.Helper()
	writeConfig(t, o, fmt.Sprintf("[journal]\nkind = %q\nurls = [\"%s\"]\nreplicas = %d\nmonitor = [\"http://%s\"]\n"+
		"[machine]\nname = %q\nadmit = \"anyone\"\n", kind, strings.Join(servers.URLs(), `", "`), len(servers.Servers),
		servers.Servers[0].Monitor, machine))
}

// The person's view of other machines, and of servers that are gone.
func TestMachinesAndServers(t *testing.T) {
	t.Parallel()
	servers := natstest.Start(t, 1, natstest.Options{Sync: "5s"})
	a, b := newOffice(t), newOffice(t)
	onServers(t, a, servers, "laptop-1", "jetstream")
	onServers(t, b, servers, "laptop-2", "jetstream")
	a.mustServe(t)
	other := b.mustServe(t)
	a.must(t, "send", "--to", "user", "--room", "lab", "--body", "first")
	eventually(t, "the other machine lists the room", func() bool {
		return strings.Contains(b.must(t, "rooms"), "lab")
	})
	if got := b.must(t, "inbox", "--room", "lab"); !strings.Contains(got, "first") {
		t.Errorf("inbox on the other machine: %s", got)
	}
	eventually(t, "both are listed", func() bool {
		got := a.must(t, "machines")
		return strings.Contains(got, "* laptop-1") && strings.Contains(got, "laptop-2")
	})
	for _, want := range []string{"laptop-1", "syncs only every 5s, not each write", "Use replicas = 3"} {
		eventually(t, "status says "+want, func() bool { return strings.Contains(a.must(t, "status"), want) })
	}
	if got := a.must(t, "machines"); !strings.Contains(got, "  n1  up  syncs every 5s") ||
		!strings.Contains(got, "No more of them may fail: mail would stop.") {
		t.Errorf("machines, of a server that syncs now and then: %s", got)
	}
	if got := a.run("doctor"); !strings.Contains(got.stdout, "syncs only every") || got.code == 0 {
		t.Errorf("doctor: exit %d\n%s", got.code, got.stdout)
	}
	if r := a.run("machines", "remove", "laptop-2"); r.code == 0 || !strings.Contains(r.stderr, "stop it first") {
		t.Errorf("a machine that is there is removed: exit %d\n%s", r.code, r.stderr)
	}
	other.kill()

	servers.Servers[0].Kill()
	eventually(t, "the loss is noticed", func() bool {
		return strings.Contains(a.must(t, "status"), "cannot be reached")
	})
	if got := a.must(t, "inbox", "--room", "lab"); !strings.HasPrefix(got, "as of ") ||
		!strings.Contains(got, "first") {
		t.Errorf("inbox without servers: %s", got)
	}
	began := time.Now()
	if r := a.run("send", "--to", "user", "--room", "lab", "--body", "kept"); r.code != 0 ||
		!strings.Contains(r.stdout, "kept on this machine") || time.Since(began) > 5*time.Second {
		t.Errorf("send without servers: exit %d after %v\n%s%s", r.code, time.Since(began), r.stdout, r.stderr)
	}
	if err := servers.Servers[0].Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "mail is taken again", func() bool {
		return a.run("send", "--to", "user", "--room", "lab", "--body", "last").code == 0
	})
	eventually(t, "what was kept is there once", func() bool {
		got := a.must(t, "history", "--room", "lab")
		return strings.Count(got, "kept") == 1 && strings.Contains(got, "last") && !strings.Contains(got, "as of")
	})
	eventually(t, "the other machine is away", func() bool { return strings.Contains(a.must(t, "machines"), "away") })
	a.must(t, "machines", "remove", "laptop-2")
	if got := a.must(t, "machines"); strings.Contains(got, "laptop-2") {
		t.Errorf("machines afterwards: %s", got)
	}
}

// A command that would start a post office with another's name says so immediately, after one try.
func TestNameOfAnotherMachine(t *testing.T) {
	t.Parallel()
	servers := natstest.Start(t, 1, natstest.Options{Sync: "5s"})
	first, second := newOffice(t), newOffice(t)
	onServers(t, first, servers, "laptop-1", "jetstream")
	onServers(t, second, servers, "laptop-1", "jetstream")
	first.mustServe(t)
	eventually(t, "the first is noted", func() bool {
		return strings.Contains(first.must(t, "machines"), "* laptop-1")
	})
	for tries := 1; tries <= 2; tries++ {
		r := second.run("inbox")
		if r.code == 0 || !strings.Contains(r.stderr, "the name laptop-1 belongs to another post office") {
			t.Errorf("inbox: exit %d\n%s", r.code, r.stderr)
		}
		log, err := os.ReadFile(filepath.Join(second.home, "daemon.log"))
		if n := strings.Count(string(log), "post office failed"); n != tries || err != nil {
			t.Errorf("after %d commands, %d attempts failed: %v\n%s", tries, n, err, log)
		}
	}
	if r := second.run("serve"); r.code != 5 || strings.Contains(r.stderr, "pennypost stop") {
		t.Errorf("serve: exit %d\n%s", r.code, r.stderr)
	}
}

// A room is moved to the servers and back, repeatedly, while mail is sent to it and the post office is killed
// midway. On the next request the move continues, and in the end no acknowledged mail is lost, duplicated or
// reordered.
func TestMoveKilled(t *testing.T) {
	t.Parallel()
	servers := natstest.Start(t, 1, natstest.Options{})
	o := newOffice(t)
	onServers(t, o, servers, "laptop-1", "file")
	o.mustServe(t)
	o.must(t, "agents", "register", "sink")
	all := make([]*sender, 6)
	for i := range all {
		all[i] = o.newSender(t, 8*i+1) // over HTTP, with keys
	}
	var acked atomic.Int64
	var running sync.WaitGroup
	stop := make(chan struct{})
	end := sync.OnceFunc(func() { close(stop); running.Wait() })
	defer end()
	for _, s := range all {
		running.Go(func() { s.run(stop, &acked) })
	}
	for round := range 6 {
		before := acked.Load()
		eventually(t, "senders have sent something", func() bool { return acked.Load() >= before+100 })
		to := []string{"jetstream", "file"}[round%2]
		moving := make(chan result, 1)
		go func() { moving <- o.run("rooms", "move", "default", "--to", to) }()
		time.Sleep(rand.N(time.Second)) // the kill may hit any moment
		o.killDaemon(t)
		<-moving
		o.restart(t, round)
		eventually(t, "the room is moved", func() bool {
			return o.run("rooms", "move", "default", "--to", to).code == 0
		})
	}
	end()
	checkSent(t, all, o.exported(t))
	if r := o.run("verify"); r.code != 0 {
		t.Errorf("verify finds fault:\n%s%s", r.stdout, r.stderr)
	}
}
