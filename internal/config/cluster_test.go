package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pennypost/internal/base/selfsigned"
	"pennypost/internal/mail"
)

// clusterOf makes a data directory a machine of a cluster.
func clusterOf(t *testing.T, home Home, names ...mail.Machine) *Cluster {
	t.Helper()
	c := &Cluster{ID: "lab", Machine: names[0]}
	for _, name := range names {
		cert, err := selfsigned.KeepEd25519(filepath.Join(t.TempDir(), "key.pem"), nil, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		c.Members = append(c.Members, Member{Machine: name, Key: cert.Leaf.RawSubjectPublicKeyInfo,
			Address: "10.0.0.1:4222"})
	}
	if err := c.Write(home); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestJournalOfCluster checks the resulting configuration of a machine of a cluster.
func TestJournalOfCluster(t *testing.T) {
	for _, tt := range []struct {
		what, text string
		machines   []mail.Machine
		kind       string
		urls       int
		replicas   int
	}{
		{"alone", "", []mail.Machine{"a"}, "", 0, 0},
		{"two", "", []mail.Machine{"a", "b"}, KindJetStream, 2, 1},
		{"three", "", []mail.Machine{"a", "b", "c"}, KindJetStream, 3, 3},
		{"four", "", []mail.Machine{"a", "b", "c", "d"}, KindJetStream, 4, 3},
		{"other servers", "[journal]\nkind = \"jetstream\"\nurls = [\"nats://x:4222\"]\n",
			[]mail.Machine{"a", "b", "c"}, KindJetStream, 1, 0},
		{"files", "[journal]\nkind = \"file\"\n", []mail.Machine{"a", "b", "c"}, KindFile, 0, 0},
	} {
		home := Home(t.TempDir())
		clusterOf(t, home, tt.machines...)
		if err := os.WriteFile(home.File(), []byte(tt.text), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := Load(home, func(string) string { return "" })
		j := c.Journal
		if err != nil || j.Kind != tt.kind || len(j.URLs) != tt.urls || j.Replicas != tt.replicas {
			t.Errorf("%s: %+v, %v", tt.what, j, err)
		}
	}
}

// TestOutdated checks when a post office restarts.
func TestOutdated(t *testing.T) {
	of := func(n int) *Cluster { return &Cluster{Members: make([]Member, n)} }
	for _, tt := range []struct {
		what string
		j    Journal
		c    *Cluster
		want bool
	}{
		{"in none", Journal{}, nil, false},
		{"alone", Journal{}, of(1), false},
		{"a second one joins", Journal{}, of(2), true},
		{"with rooms in files", Journal{Kind: KindFile}, of(3), false},
		{"with other servers", Journal{URLs: []string{"x"}}, of(3), false},
		{"a third one joins", Journal{Servers: 2, URLs: []string{"x"}}, of(3), true},
		{"a fourth one joins", Journal{Servers: 3, URLs: []string{"x"}}, of(4), false},
		{"this one was removed", Journal{Servers: 3, URLs: []string{"x"}}, &Cluster{Removed: true}, false},
	} {
		if got := tt.j.Outdated(tt.c); got != tt.want {
			t.Errorf("%s: outdated %v, want %v", tt.what, got, tt.want)
		}
	}
}

// TestClusterFile checks which files are accepted, given that someone else may have written one.
func TestClusterFile(t *testing.T) {
	home := Home(t.TempDir())
	c := clusterOf(t, home, "a", "b")
	if got, err := LoadCluster(home); err != nil || len(got.Members) != 2 || !got.Knows(c.Members[1].Pin()) {
		t.Fatalf("LoadCluster = %+v, %v", got, err)
	}
	text, err := os.ReadFile(home.Cluster())
	if err != nil {
		t.Fatal(err)
	}
	whole := string(text)
	const address = "10.0.0.1:4222"
	for what, text := range map[string]string{
		"nothing": "", "no JSON": "x",
		"no id":                    strings.Replace(whole, `"lab"`, `""`, 1),
		"another machine":          strings.Replace(whole, `"machine":"a"`, `"machine":"c"`, 1),
		"a name with a space":      strings.ReplaceAll(whole, `"b"`, `"b b"`),
		"a key that is none":       strings.Replace(whole, `"key":"`, `"key":"AAAA`, 1),
		"an address with a quote":  strings.Replace(whole, address, `10.0.0.1\":4222`, 1),
		"an address without port":  strings.Replace(whole, address, "10.0.0.1", 1),
		"a port that is too high":  strings.Replace(whole, address, "10.0.0.1:63536", 1),
		"a host with a line break": strings.Replace(whole, address, `a\nb:4222`, 1),
	} {
		if err := os.WriteFile(home.Cluster(), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := LoadCluster(home); mail.CodeOf(err) != mail.Invalid {
			t.Errorf("%s: %+v, %v", what, got, err)
		}
	}
	for address, want := range map[string]string{"10.0.0.1:4222": "10.0.0.1:6222",
		"[fe80::1]:14000": "[fe80::1]:16000"} {
		if got := RoutesOf(address); got != want {
			t.Errorf("RoutesOf(%s) = %s, want %s", address, got, want)
		}
	}
}
