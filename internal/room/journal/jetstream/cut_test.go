package jetstream_test

import (
	"cmp"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"pennypost/internal/room/journal/jetstream"
	"pennypost/internal/room/journal/jetstream/natstest"
)

// TestCutBothWays checks that rooms take mail again on every machine after nothing passed for a while, in either
// direction, between a server and all others, and the machine beside it, although no connection broke. The servers
// themselves need some seconds for a new election, since the returning one has asked for votes meanwhile: the test
// also logs when it took a plain message.
func TestCutBothWays(t *testing.T) {
	t.Parallel()
	var links []*natstest.Link // to and from the last server
	servers := natstest.Start(t, 3, natstest.Options{Route: func(i, j int, addr string) string {
		link := natstest.NewLink(t, addr)
		if i == 2 || j == 2 {
			links = append(links, link)
		}
		return strings.TrimPrefix(link.URL(), "nats://")
	}})
	way := natstest.NewLink(t, servers.Servers[2].Client)
	links = append(links, way)
	const rooms = 3
	var journals []*jetstream.Journal
	for _, c := range []*jetstream.Cluster{connect(t, []string{way.URL()}), connect(t, servers.URLs()[:2])} {
		for i := range rooms {
			journals = append(journals, open(t, c, fmt.Sprint("cut", i), t.TempDir()))
		}
	}
	direct, err := nats.Connect(servers.Servers[2].URL())
	if err != nil {
		t.Fatal(err)
	}
	defer direct.Close()
	eventually(t, func() error {
		_, err := direct.Request("$JS.API.STREAM.CREATE.plain",
			[]byte(`{"name":"plain","subjects":["plain"],"storage":"file","num_replicas":3}`), 2*time.Second)
		return cmp.Or(err, plain(direct))
	})
	lose := func(is bool) {
		for _, l := range links {
			l.Lose(is)
			l.LoseRequests(is)
		}
	}
	lose(true)
	for began := time.Now(); time.Since(began) < 9*time.Second; time.Sleep(500 * time.Millisecond) {
		for _, j := range journals {
			go func() { _, _ = j.Append(t.Context(), note("meanwhile")) }()
		}
	}
	lose(false)
	healed := time.Now()
	taken := make(chan time.Duration, 1)
	go func() {
		for plain(direct) != nil && t.Context().Err() == nil {
			time.Sleep(50 * time.Millisecond)
		}
		taken <- time.Since(healed)
	}()
	for _, j := range journals {
		eventually(t, func() error {
			_, err := j.Append(t.Context(), note("after"))
			return err
		})
	}
	t.Logf("usable again after %.1f s; the server itself took a plain message after %.1f s",
		time.Since(healed).Seconds(), (<-taken).Seconds())
}

// plain sends a message to a server for a stream of the test's own.
func plain(nc *nats.Conn) error {
	m, err := nc.Request("plain", nil, 300*time.Millisecond)
	if err == nil && strings.Contains(string(m.Data), `"error"`) {
		err = fmt.Errorf("%s", m.Data)
	}
	return err
}
