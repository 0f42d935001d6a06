package jetstream

import (
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"pennypost/internal/room/journal/jetstream/natstest"
)

// The settings that servers report, by their monitoring and over the system account, are those of their
// configuration.
func TestReadSettings(t *testing.T) {
	t.Parallel()
	servers := natstest.Start(t, 3, natstest.Options{Sync: "7s", Config: `
accounts {
  SYS { users: [{ user: system, password: x }] }
  POST { jetstream: enabled, users: [{ user: post, password: x }] }
}
system_account: SYS
no_auth_user: post
`})
	var monitor []string
	for _, s := range servers.Servers {
		monitor = append(monitor, "http://"+s.Monitor+"/")
	}
	plain := dialMachine(t, servers.URLs()...)
	system, err := nats.Connect(servers.Servers[1].URL(), nats.UserInfo("system", "x"))
	if err != nil {
		t.Fatal(err)
	}
	defer system.Close()
	for _, tt := range []struct {
		name    string
		nc      *nats.Conn
		monitor []string
		want    string
	}{
		{"monitoring", plain, monitor, "n1 n2 n3"},
		{"monitoring of one", plain, monitor[2:], "n3"},
		{"system account", system, nil, "n1 n2 n3"},
		{"neither", plain, nil, ""},
		{"nobody there", plain, []string{"http://127.0.0.1:1"}, ""},
	} {
		got := ReadSettings(t.Context(), tt.nc, servers.URLs(), tt.monitor)
		var names []string
		for _, s := range got {
			names = append(names, s.Name)
			if s.Synced || s.Interval != 7*time.Second || s.Version != strings.TrimPrefix(natstest.Version, "v") ||
				s.Size != 3 {
				t.Errorf("%s: %+v", tt.name, s)
			}
		}
		if strings.Join(names, " ") != tt.want {
			t.Errorf("%s: settings of %q, want %q", tt.name, names, tt.want)
		}
	}
}

func TestReadSettingsSynced(t *testing.T) {
	t.Parallel()
	servers := natstest.Start(t, 1, natstest.Options{})
	got := ReadSettings(t.Context(), dialMachine(t, servers.URLs()...), nil,
		[]string{"http://" + servers.Servers[0].Monitor})
	if len(got) != 1 || !got[0].Synced || got[0].Size != 1 {
		t.Errorf("settings: %+v", got)
	}
}

func TestWarnings(t *testing.T) {
	t.Parallel()
	good := func(size int) []Server {
		var out []Server
		for range size {
			out = append(out, Server{Name: "n", Version: "2.15.2", Synced: true, Size: size})
		}
		return out
	}
	slow := good(3)
	slow[1] = Server{Name: "n2", Version: "2.15.2", Interval: 2 * time.Minute, Size: 3}
	old := good(3)
	old[2].Version = "2.11.9"
	for _, tt := range []struct {
		name           string
		servers        []Server
		connected      string
		urls, replicas int
		want           []string
	}{
		{"all is well", good(3), "2.15.2", 3, 3, nil},
		{"one does not sync", slow, "2.15.2", 3, 3, []string{"n2 syncs only every 2m0s, not each write"}},
		{"one is old", old, "2.15.2", 3, 3, []string{"version 2.11.9; 2.12"}},
		{"one is silent", good(3)[:2], "2.15.2", 1, 3, []string{"whether 1 of the 3"}},
		{"all are silent", nil, "2.10.0", 3, 3, []string{"is version 2.10.0", "whether 3 of the 3"}},
		{"few replicas", good(3), "2.15.2", 3, 1, []string{"Use replicas = 3"}},
		{"an even number", good(4), "2.15.2", 3, 3, []string{"Use 3 or 5"}},
		{"one server", good(1), "3.0.0", 1, 3, nil},
	} {
		got := Warnings(tt.servers, tt.connected, tt.urls, tt.replicas)
		if len(got) != len(tt.want) {
			t.Errorf("%s: warnings %q, want %q", tt.name, got, tt.want)
			continue
		}
		for i, want := range tt.want {
			if !strings.Contains(got[i], want) {
				t.Errorf("%s: warning %q, want %q", tt.name, got[i], want)
			}
		}
	}
}
