package systemtest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"pennypost/internal/room/journal/jetstream/natstest"
)

// TestRoomsRestore damages the stream of a room by hand in each way, and lets the person mend it as doctor says,
// from the machine with the fullest copy; mail that only another machine has is appended.
func TestRoomsRestore(t *testing.T) {
	t.Parallel()
	servers := natstest.Start(t, 1, natstest.Options{})
	desk, laptop := newOffice(t), newOffice(t)
	onServers(t, desk, servers, "desk", "jetstream")
	onServers(t, laptop, servers, "laptop", "jetstream")
	desk.mustServe(t)
	other := laptop.mustServe(t)
	nc, err := nats.Connect(servers.URLs()[0])
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	send := func(o *office) {
		n++
		o.must(t, "send", "--room", "lab", "--to", "user", "--body", fmt.Sprintf("letter %d.", n))
	}
	holds := func(o *office, what string) {
		t.Helper()
		eventually(t, what, func() bool {
			got := o.run("inbox", "--room", "lab", "--all", "--limit", "100").stdout
			for i := range n {
				if strings.Count(got, fmt.Sprintf("letter %d.", i+1)) != 1 {
					return false
				}
			}
			return !strings.Contains(got, "as of")
		})
	}
	stream := "pennypost_shard_1"
	change := func(f func(*jetstream.StreamConfig)) {
		s, err := js.Stream(t.Context(), stream)
		if err != nil {
			t.Fatal(err)
		}
		cfg := s.CachedInfo().Config
		f(&cfg)
		if _, err := js.UpdateStream(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
	}
	whole := func(what string) {
		t.Helper()
		eventually(t, what, func() bool {
			r := desk.run("rooms", "restore", "lab", "--dry-run", "--json")
			var found struct {
				Damage string `json:"damage"`
			}
			return json.Unmarshal([]byte(r.stdout), &found) == nil && found.Damage == ""
		})
	}
	for range 3 {
		send(desk)
	}
	holds(laptop, "the laptop has a copy")
	if r := desk.run("rooms", "restore", "lab", "--yes"); r.code != 0 || !strings.Contains(r.stdout, "is complete") {
		t.Errorf("a whole room: exit %d\n%s%s", r.code, r.stdout, r.stderr)
	}
	for _, damage := range []struct {
		name, says string
		do         func()
	}{
		{"deleted", "its stream no longer exists on the servers", func() {
			other.kill()
			send(desk) // the laptop's copy lacks it
			if err := js.DeleteStream(t.Context(), stream); err != nil {
				t.Fatal(err)
			}
			stream = "pennypost_shard_2" // the room goes there: the first is not made again
			other = laptop.mustServe(t)
		}},
		{"max_age", "drops messages older than", func() {
			change(func(c *jetstream.StreamConfig) { c.MaxAge, c.Duplicates = 1e9, 1e9 })
		}},
		{"max_msgs", "is limited in size", func() { change(func(c *jetstream.StreamConfig) { c.MaxMsgs = 2 }) }},
		{"made anew, empty", "it ends at 0", func() {
			s, err := js.Stream(t.Context(), stream)
			if err != nil {
				t.Fatal(err)
			}
			cfg := s.CachedInfo().Config
			if err := js.DeleteStream(t.Context(), stream); err != nil {
				t.Fatal(err)
			}
			if _, err := js.CreateStream(t.Context(), cfg); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		damage.do()
		if damage.name != "made anew, empty" { // the machines repair that by themselves
			eventually(t, damage.name+": doctor names it", func() bool {
				r := desk.run("doctor")
				return r.code != 0 && strings.Contains(r.stdout, damage.says) &&
					strings.Contains(r.stdout, "pennypost rooms restore lab")
			})
			eventually(t, damage.name+": restored", func() bool {
				r := laptop.run("rooms", "restore", "lab", "--yes")
				t.Logf("%s: exit %d\n%s%s", damage.name, r.code, r.stdout, r.stderr)
				return r.code == 0 && strings.Contains(r.stdout, "is on the NATS servers again")
			})
		}
		whole(damage.name + ": restored")
		holds(desk, damage.name+": all is there on the desk")
		holds(laptop, damage.name+": all is there on the laptop")
		send(desk)
		send(laptop)
		holds(desk, damage.name+": mail goes on, desk")
		holds(laptop, damage.name+": mail goes on, laptop")
		whole(damage.name + ": whole")
		if r := desk.run("verify", "--room", "lab"); r.code != 0 {
			t.Errorf("%s: verify: %s%s", damage.name, r.stdout, r.stderr)
		}
	}
	desk.must(t, "rooms", "remove", "lab", "--yes")
	eventually(t, "a room that was removed on purpose is not restored", func() bool {
		r := laptop.run("rooms", "restore", "lab", "--yes")
		return r.code != 0 && strings.Contains(r.stderr, "removed on purpose")
	})
}
