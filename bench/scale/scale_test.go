package main

import (
	"os"
	"strings"
	"testing"
)

// factor is how far the simulation may differ from the measurements, either way: the machine did other work too.
const factor = 2

// TestMeasuredCases: the simulation matches the measurements on one machine, with the same numbers that it uses for a
// thousand.
func TestMeasuredCases(t *testing.T) {
	m := newModel()
	for _, c := range cases {
		rate, p50 := m.closed(c.senders, c.streams, 1855)
		if rate > c.perSecond*factor || rate < c.perSecond/factor {
			t.Errorf("%d senders, %d streams: %.0f a second simulated, %.0f measured", c.senders, c.streams, rate,
				c.perSecond)
		}
		if p50 > c.p50*factor || p50 < c.p50/factor {
			t.Errorf("%d senders, %d streams: p50 %.1f ms simulated, %.1f measured", c.senders, c.streams, p50, c.p50)
		}
	}
}

// TestMeasuredAtRest: the same holds for the idle load of streams, and for a restart.
func TestMeasuredAtRest(t *testing.T) {
	m := newModel()
	m.Rooms, m.Agents, m.Offices = 1000, 10, 1
	r := m.load(Layout{Clusters: 1, Servers: 3, Live: 1, Closed: true, Days: 1}, 1, 1)
	for _, c := range []struct {
		what          string
		got, measured float64
	}{
		{"MB resident", r.Memory * 3e3, 702}, {"cores", r.Idle * 3, 0.28}, {"file descriptors", r.FDs * 3, 6067},
		{"seconds of restart", r.Restart, 8.9},
	} {
		if c.got > c.measured*factor || c.got < c.measured/factor {
			t.Errorf("1,000 streams: %s: %.2f simulated, %.2f measured", c.what, c.got, c.measured)
		}
	}
}

// TestSeed: a seed always gives the same result, and queues are simulated: events that arrive faster than a cluster
// can process wait.
func TestSeed(t *testing.T) {
	m := newModel()
	l := Layout{Clusters: 16, Servers: 3, Shards: 16, Live: 1, Closed: true, Days: 30}
	one, again, other := m.load(l, 1, 1), m.load(l, 1, 1), m.load(l, 1, 2)
	if one != again {
		t.Errorf("one seed gave %+v and %+v", one, again)
	}
	if one.P99 == other.P99 {
		t.Errorf("two seeds gave the same p99 %v", one.P99)
	}
	if busy := m.load(l, 1000, 1); busy.P99 < 10*one.P99 || busy.How <= 1 {
		t.Errorf("a thousand times the traffic: p99 %v ms, first %s %v", busy.P99, busy.First, busy.How)
	}
}

// TestPage: the page has the program's table.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/scale.md")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(newModel().parameters()) {
		if !strings.Contains(string(page), line) {
			t.Errorf("docs/scale.md lacks, or differs in: %s", line)
		}
	}
}
