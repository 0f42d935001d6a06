package jetstream

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	natsjs "github.com/nats-io/nats.go/jetstream"

	"pennypost/internal/mail"
	"pennypost/internal/room/journal/jetstream/natstest"
)

// withRoom returns a connection to servers with this machine on the list, and a room with mail.
func withRoom(t *testing.T, servers *natstest.Cluster, monitored bool) *Cluster {
	t.Helper()
	cfg := Config{URLs: servers.URLs(), Machine: "desk", Replicas: len(servers.Servers),
		Monitor: []string{"http://127.0.0.1:1"}}
	for _, s := range servers.Servers {
		if monitored {
			cfg.Monitor = append(cfg.Monitor, "http://"+s.Monitor)
		}
	}
	c, err := Connect(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if _, err := c.Machines(t.Context(), MachineOptions{Name: "desk", ID: "a"}); err != nil {
		t.Fatal(err)
	}
	l, err := c.lane(t.Context(), "lab", true)
	if err != nil {
		t.Fatal(err)
	}
	// on a busy machine a new stream may have no leader for some seconds
	if _, err := c.js.Publish(t.Context(), l.subject, []byte("{}"), natsjs.WithRetryAttempts(40)); err != nil {
		t.Fatal(err)
	}
	c.Warnings(t.Context())
	awaitMachines(t, "all servers are up", func() bool { return healthOf(c) == "up up up; 1" })
	if _, err := c.List(t.Context()); err != nil {
		t.Fatal(err)
	}
	return c
}

// healthOf returns a short form of the health.
func healthOf(c *Cluster) string {
	h := c.Health()
	var states, about []string
	for _, s := range h.Servers {
		states = append(states, string(s.State))
	}
	for _, d := range h.Degraded {
		about = append(about, d.About)
	}
	spare := "?"
	if h.MayFail != nil {
		spare = []string{"stopped", "0", "1", "2"}[*h.MayFail+1]
	}
	return strings.TrimSuffix(strings.Join(states, " ")+"; "+spare+"; "+strings.Join(about, ", "), "; ")
}

// leads returns the server that leads the list of machines, and another one.
func leads(t *testing.T, c *Cluster, servers *natstest.Cluster) (leader, other *natstest.Server) {
	t.Helper()
	s, err := c.js.Stream(t.Context(), "KV_pennypost-machines")
	if err != nil {
		t.Fatal(err)
	}
	for _, server := range servers.Servers {
		if server.Name == s.CachedInfo().Cluster.Leader {
			leader = server
		} else {
			other = server
		}
	}
	return leader, other
}

// known waits until the health is as expected, and fails if that takes longer than allowed.
func known(t *testing.T, c *Cluster, what, want string, within time.Duration) {
	t.Helper()
	began := time.Now()
	got := ""
	for time.Since(began) < within+20*time.Second {
		got = healthOf(c)
		if strings.Contains(want, "silent") { // the stopped server may also have to be replaced as leader
			got = strings.TrimSuffix(got, ", election")
		}
		if got == want {
			t.Logf("%s: known after %v", what, time.Since(began).Round(100*time.Millisecond))
			if time.Since(began) > within {
				t.Errorf("%s: known after %v, want %v", what, time.Since(began), within)
			}
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("%s: %q, want %q", what, got, want)
}

// without returns the health when these servers are silent.
func without(servers *natstest.Cluster, spare string, silent ...*natstest.Server) string {
	var states, about []string
	for _, s := range servers.Servers {
		state := mail.ServerUp
		if slices.Contains(silent, s) {
			state = mail.ServerSilent
			about = append(about, "silent "+s.Name)
		}
		states = append(states, string(state))
	}
	if spare == "stopped" {
		about = append(about, "stopped")
	}
	return strings.TrimSuffix(strings.Join(states, " ")+"; "+spare+"; "+strings.Join(about, ", "), "; ")
}

// soon is the time limit for noticing a stopped server, with a large margin: five seconds are enough on idle
// processors. The log has the figures.
const soon = 12 * time.Second

// TestHealth checks that a stopped server is soon noticed, leader or follower, killed or hanging, with and without
// its monitoring; and which rooms take no mail when too few are left.
func TestHealth(t *testing.T) {
	t.Parallel()
	for _, monitored := range []bool{false, true} {
		name := map[bool]string{false: "alone", true: "monitored"}[monitored]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			servers := natstest.Start(t, 3, natstest.Options{})
			c := withRoom(t, servers, monitored)
			all := without(servers, "1")
			_, follower := leads(t, c, servers)
			follower.Kill()
			known(t, c, "a follower is killed", without(servers, "0", follower), soon)
			if err := follower.Start(); err != nil {
				t.Fatal(err)
			}
			known(t, c, "it is back", all, 2*soon)
			leader, _ := leads(t, c, servers)
			leader.Kill()
			known(t, c, "the leader is killed", without(servers, "0", leader), soon)
			if err := leader.Start(); err != nil {
				t.Fatal(err)
			}
			known(t, c, "it is back", all, 2*soon)
			hangs(t, c, servers)
			tooFew(t, c, servers)
		})
	}
}

// hangs suspends a server.
func hangs(t *testing.T, c *Cluster, servers *natstest.Cluster) {
	_, hung := leads(t, c, servers)
	if err := hung.Suspend(); err != nil {
		t.Fatal(err)
	}
	known(t, c, "a server hangs", without(servers, "0", hung), soon)
	if err := hung.Resume(); err != nil {
		t.Fatal(err)
	}
	known(t, c, "it goes on", without(servers, "1"), 2*soon)
}

// TestSlowFollower checks that a server that is slower than the others is reported as behind, until it has caught up.
// It gets a twentieth of the time.
func TestSlowFollower(t *testing.T) {
	t.Parallel()
	servers := natstest.Start(t, 3, natstest.Options{})
	c := withRoom(t, servers, true)
	s, err := c.lane(t.Context(), "lab", false)
	if err != nil {
		t.Fatal(err)
	}
	subject := s.subject
	var slow, leader *natstest.Server
	for _, server := range servers.Servers {
		if server.Name == s.info.Cluster.Leader {
			leader = server
		} else {
			slow = server
		}
	}
	nc := dialMachine(t, leader.URL())
	stop := make(chan struct{})
	var running sync.WaitGroup
	end := sync.OnceFunc(func() { close(stop); running.Wait() })
	defer end()
	running.Go(func() {
		for {
			_ = slow.Suspend()
			time.Sleep(480 * time.Millisecond)
			_ = slow.Resume()
			select {
			case <-stop:
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	})
	for range 4 {
		running.Go(func() {
			for {
				select {
				case <-stop:
					return
				case <-time.After(time.Millisecond):
					_ = nc.Publish(subject, []byte(strings.Repeat("x", 100)))
				}
			}
		})
	}
	awaitMachines(t, "it is behind", func() bool {
		_, _ = c.List(t.Context())
		time.Sleep(time.Second)
		h := c.Health()
		i := slices.IndexFunc(h.Servers, func(s mail.ServerStatus) bool { return s.Name == slow.Name })
		late := slices.ContainsFunc(h.Degraded, func(d mail.Degraded) bool {
			return d.About == "behind "+slow.Name && strings.Contains(d.Text, "the copies of room lab")
		})
		return h.Servers[i].BehindIn == 1 && h.Servers[i].Behind >= behindFrom && late && *h.MayFail == 0
	})
	end()
	awaitMachines(t, "it has caught up", func() bool {
		_, _ = c.List(t.Context())
		return healthOf(c) == without(servers, "1")
	})
}

// tooFew leaves only one of three servers.
func tooFew(t *testing.T, c *Cluster, servers *natstest.Cluster) {
	leader, other := leads(t, c, servers)
	leader.Kill()
	other.Kill()
	// without monitoring, this is known only when the remaining server considers itself alone
	known(t, c, "two are killed", without(servers, "stopped", leader, other), 2*soon)
	for _, d := range c.Health().Degraded {
		if d.About == "stopped" && (!d.Stops || !strings.Contains(d.Text, "room lab takes no mail")) {
			t.Errorf("a room without a majority: %+v", d)
		}
	}
	for _, s := range []*natstest.Server{leader, other} {
		if err := s.Start(); err != nil {
			t.Fatal(err)
		}
	}
	known(t, c, "all are back", without(servers, "1"), 3*soon)
}
