package natsd

import (
	"fmt"
	"strings"
	"testing"

	"pennypost/internal/config"
	"pennypost/internal/mail"
)

// described makes a cluster from words: its machines, those whose servers are up, and the servers of each room, its
// leader first. Brackets mark a machine whose copy lags.
func described(t *testing.T, machines, up string, rooms ...string) *state {
	t.Helper()
	s := &state{up: make(map[string]string)}
	for _, m := range strings.Fields(machines) {
		s.members = append(s.members, config.Member{Machine: mail.Machine(m)})
	}
	for _, m := range strings.Fields(up) {
		s.up[m] = "2.15.2"
	}
	for i, room := range rooms {
		x := stream{name: fmt.Sprint("room_", i), copies: len(strings.Fields(room))}
		for n, server := range strings.Fields(room) {
			if n == 0 {
				x.Cluster.Leader = strings.Trim(server, "-")
				continue
			}
			name := strings.Trim(server, "[]")
			_, there := s.up[name]
			x.Cluster.Replicas = append(x.Cluster.Replicas, replica{Name: name, Peer: nodeOf(mail.Machine(name)),
				Current: name == server && there, Offline: !there})
		}
		s.streams = append(s.streams, x)
	}
	return s
}

// TestMayRemove checks that a machine is removed only if mail continues: the servers themselves do not check that.
func TestMayRemove(t *testing.T) {
	for _, tt := range []struct {
		what, machines, up, remove string
		rooms                      []string
		refused                    string // a part of the error; "": none
	}{
		{"one of four", "a b c d", "a b c d", "d", []string{"a b c", "b c d"}, ""},
		{"one of four that is lost", "a b c d", "a b c", "d", []string{"a b d"}, ""},
		{"one of five", "a b c d e", "a b c d e", "a", []string{"a b c"}, ""},
		{"nobody", "a b c d", "a b c d", "x", nil, "no machine of the cluster is called x"},
		{"one of three", "a b c", "a b c", "c", []string{"a b c"}, "fewer than three machines would be left"},
		{"one of three that is lost", "a b c", "a b", "c", []string{"a b c"},
			"fewer than three machines would be left"},
		{"one of three without rooms", "a b c", "a b c", "c", nil, ""},
		{"one of two with a room", "a b", "a b", "b", []string{"a"}, "fewer than three machines would be left"},
		{"one of two without rooms", "a b", "a b", "b", nil, ""},
		{"where half are away", "a b c d", "a b", "d", nil, "of the 4 machines only 2 are running"},
		{"the third that is there of five", "a b c d e", "a b c", "c", nil, "of the 4 others only 2 are running"},
		{"one that is lost of five, of whom three are there", "a b c d e", "a b c", "e", []string{"a b c"}, ""},
		{"with too few for a room's copies", "a b c d", "a b c", "c", []string{"a b c"},
			"needs 3 servers, and only 2 others are running"},
		{"with too few others for three copies", "a b c d e f", "a b c d", "d", []string{"a b c d"},
			"needs 4 servers, and only 3 others are running"},
		{"where a room has no leader", "a b c d", "a b c d", "d", []string{"- b c"}, "has no majority of its servers"},
		{"where the others of a room are behind", "a b c d", "a b c d", "a", []string{"a [b] [c]"},
			"has no majority of its servers"},
		{"where one other of a room is behind", "a b c d", "a b c d", "a", []string{"a b [c]"}, ""},
		{"the only server of a room", "a b c d", "a b c d", "a", []string{"a"}, ""},
	} {
		err := described(t, tt.machines, tt.up, tt.rooms...).mayRemove(mail.Machine(tt.remove))
		switch {
		case tt.refused == "" && err != nil:
			t.Errorf("%s: %v", tt.what, err)
		case tt.refused != "" && (err == nil || !strings.Contains(err.Error(), tt.refused)):
			t.Errorf("%s: %v, want something with %q", tt.what, err, tt.refused)
		}
	}
}

// TestMayFail checks how many more servers may fail.
func TestMayFail(t *testing.T) {
	for _, tt := range []struct {
		machines, up string
		rooms        []string
		want         int
	}{
		{"a b c", "a b c", []string{"a b c"}, 1},
		{"a b c", "a b", []string{"a b c"}, 0},
		{"a b c", "a b c", []string{"a b [c]"}, 0},
		{"a b c", "a b c", []string{"a b c", "- b c"}, -2},
		{"a b c", "a", []string{"- b c"}, -2},
		{"a b c d", "a b c d", []string{"a b c"}, 1},
		{"a b c d e", "a b c d e", []string{"a b c"}, 1},
		{"a b c d e", "a b c d e", nil, 2},
	} {
		if got := described(t, tt.machines, tt.up, tt.rooms...).mayFail(); got != tt.want {
			t.Errorf("of %q, %q are there, with the rooms %q: %d may fail, want "+
				"%d", tt.machines, tt.up, tt.rooms, got, tt.want)
		}
	}
}

// TestNodeOf compares nodeOf with the node names of a real server.
func TestNodeOf(t *testing.T) {
	for name, want := range map[mail.Machine]string{"tower": "nWLc1pV7", "desk": "B43yT24a", "box": "c0O3bhOY"} {
		if got := nodeOf(name); got != want { // seen with nats-server 2.15.2
			t.Errorf("nodeOf(%s) = %s, want %s", name, got, want)
		}
	}
}
