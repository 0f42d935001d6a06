package systemtest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pennypost/internal/room/journal/jetstream/natstest"
)

type shard struct {
	Number, Rooms, Messages, Bytes int
	Leader                         string
}

// shardsOf asks a post office for the shards.
func shardsOf(t *testing.T, o *office, args ...string) (all []shard, made int) {
	t.Helper()
	var list struct {
		Shards []shard
		Made   int
	}
	text := o.must(t, append([]string{"rooms", "shards", "--json"}, args...)...)
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return list.Shards, list.Made
}

// TestRoomsShards lets the person list the shards of a cluster, make some, and move a room from one to another while
// two machines use it.
func TestRoomsShards(t *testing.T) {
	t.Parallel()
	servers := natstest.Start(t, 3, natstest.Options{})
	desk, laptop := newOffice(t), newOffice(t)
	onServers(t, desk, servers, "desk", "jetstream")
	onServers(t, laptop, servers, "laptop", "jetstream")
	desk.mustServe(t)
	laptop.mustServe(t)
	if got := desk.must(t, "rooms", "shards"); !strings.Contains(got, "There is no shard yet.") {
		t.Errorf("before there is a room: %s", got)
	}
	desk.must(t, "send", "--room", "lab", "--to", "user", "--body", "first.")
	all, _ := shardsOf(t, desk)
	if len(all) != 1 || all[0].Number != 1 || all[0].Rooms != 1 || all[0].Messages == 0 || all[0].Bytes == 0 ||
		!strings.HasPrefix(all[0].Leader, "n") {
		t.Errorf("with one room: %+v", all)
	}
	if all, made := shardsOf(t, desk, "4"); len(all) != 4 || made != 3 {
		t.Errorf("shards 4: %+v, %d made", all, made)
	}
	if all, made := shardsOf(t, laptop, "4"); len(all) != 4 || made != 0 {
		t.Errorf("shards 4 again, elsewhere: %+v, %d made", all, made)
	}
	for i := range 16 {
		o := []*office{desk, laptop}[i%2]
		o.must(t, "send", "--room", fmt.Sprint("room-", i), "--to", "user", "--body", "hello.")
	}
	all, _ = shardsOf(t, desk)
	rooms := 0
	for _, s := range all {
		rooms += s.Rooms
		if s.Rooms == 0 {
			t.Errorf("no new room is in shard %d", s.Number)
		}
	}
	if rooms != 17 {
		t.Errorf("%d rooms in all shards", rooms)
	}
	if got := desk.must(t, "rooms", "shards"); strings.Count(got, "led by n") != 4 ||
		!strings.Contains(got, "shard 4") {
		t.Errorf("rooms shards:\n%s", got)
	}
	moveBetweenShards(t, desk, laptop)

	for _, refused := range []struct{ says, line string }{
		{"Shards cannot be removed", "rooms shards 3"},
		{"1 to 64", "rooms shards 65"},
		{"1 to 64", "rooms shards 0"},
		{"1 to 64", "rooms shards many"},
		{"there is no shard 5", "rooms move lab --to shard:5"},
		{"--to shard:N", "rooms move lab --to shard:0"},
		{"--to shard:N", "rooms move lab --to shard:"},
		{"only the user may", "rooms shards --as ann"},
		{"only the user may", "rooms shards 5 --as ann"},
	} {
		r := desk.run(strings.Fields(refused.line)...)
		if r.code == 0 || !strings.Contains(r.stderr, refused.says) {
			t.Errorf("%s: exit %d, %s%s, want %q", refused.line, r.code, r.stdout, r.stderr, refused.says)
		}
	}
	desk.must(t, "rooms", "move", "lab", "--to", "file")
	if r := desk.run("rooms", "move", "lab", "--to", "shard:1"); r.code == 0 ||
		!strings.Contains(r.stderr, "--to jetstream") {
		t.Errorf("a room in a file is moved to a shard: exit %d, %s", r.code, r.stderr)
	}
	if all, _ := shardsOf(t, desk); len(all) != 4 {
		t.Errorf("after all that: %+v", all)
	}
	alone := newOffice(t)
	if r := alone.run("rooms", "shards"); r.code == 0 || !strings.Contains(r.stderr, "no rooms on NATS servers") {
		t.Errorf("without servers: exit %d, %s%s", r.code, r.stdout, r.stderr)
	}
}

// moveBetweenShards moves a room from the fullest shard to each other one, and sends to it from both machines.
func moveBetweenShards(t *testing.T, desk, laptop *office) {
	t.Helper()
	n := 0
	for _, to := range []int{2, 3, 4} {
		before, _ := shardsOf(t, desk)
		where := fmt.Sprint("shard:", to)
		for range 2 { // the second time it is moved already
			eventually(t, "the room is moved to "+where, func() bool {
				r := desk.run("rooms", "move", "lab", "--to", where)
				return r.code == 0 && strings.Contains(r.stdout, fmt.Sprint("in shard ", to))
			})
		}
		after, _ := shardsOf(t, desk)
		i := slices.IndexFunc(after, func(s shard) bool { return s.Number == to })
		if i < 0 || before[i].Rooms > after[i].Rooms {
			t.Errorf("moved to %s: before %+v, after %+v", where, before, after)
		}
		for _, o := range []*office{desk, laptop} {
			n++
			o.must(t, "send", "--room", "lab", "--to", "user", "--body", fmt.Sprintf("letter %d.", n))
		}
		for _, o := range []*office{desk, laptop} {
			eventually(t, "all is there", func() bool {
				got := o.run("inbox", "--room", "lab", "--all", "--limit", "100").stdout
				for i := range n {
					if strings.Count(got, fmt.Sprintf("letter %d.", i+1)) != 1 {
						return false
					}
				}
				return true
			})
		}
	}
}
