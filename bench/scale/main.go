// Scale simulates Pennypost on NATS clusters at the size of 1,000 post offices, 100,000 rooms and 1,000,000 agents:
// the load on servers in the busiest hour, the limit that is reached first, and how the layout moves it. Its
// parameters are in one table (model.go), each number with its source.
//
//	go run ./bench/scale
package main

import (
	"flag"
	"fmt"
	"strings"
)

func main() {
	seed := flag.Uint64("seed", 1855, "of the chances")
	flag.Parse()
	m := newModel()
	fmt.Println(m.parameters())
	fmt.Println(m.small(*seed))
	fmt.Println(m.layouts(*seed))
}

// cases are the measurements on one machine with two cores, by number of streams, with -rooms equal to that.
var cases = []struct {
	senders, streams int
	perSecond, p50   float64 // sends per second, ms
}{
	{1, 1, 735, 1.2},
	{64, 1, 8000, 6.7},
	{64, 10, 5000, 11.5},
	{64, 16, 3600, 16.9},
	{64, 64, 1270, 42},
}

// small returns a table of the cases, measured and simulated.
func (m *Model) small(seed uint64) string {
	var b strings.Builder
	b.WriteString("| senders | streams | a second: measured | simulated | p50, ms: measured | simulated |\n" +
		"|---|---|---|---|---|---|\n")
	for _, c := range cases {
		rate, p50 := m.closed(c.senders, c.streams, seed)
		fmt.Fprintf(&b, "| %d | %d | %s | %s | %.1f | %.1f |\n", c.senders, c.streams, number(c.perSecond),
			number(rate),
			c.p50, p50)
	}
	return b.String()
}

// plans are the layouts of the page.
var plans = []Layout{
	{Name: "3 servers, streams", Clusters: 1, Servers: 3, Live: 1, Days: 30},
	{Name: "9, streams", Clusters: 1, Servers: 9, Live: 1, Days: 30},
	{Name: "48, streams", Clusters: 1, Servers: 48, Live: 1, Days: 30},
	{Name: "9, streams of a tenth", Clusters: 1, Servers: 9, Live: 0.1, Days: 30},
	{Name: "3, 16 shards, all followed", Clusters: 1, Servers: 3, Shards: 16, Live: 1, Days: 30},
	{Name: "3, 4 shards", Clusters: 1, Servers: 3, Shards: 4, Live: 1, Closed: true, Days: 30},
	{Name: "3, 16 shards", Clusters: 1, Servers: 3, Shards: 16, Live: 1, Closed: true, Days: 30},
	{Name: "3, 64 shards", Clusters: 1, Servers: 3, Shards: 64, Live: 1, Closed: true, Days: 30},
	{Name: "… disks that sync in 20 µs", Clusters: 1, Servers: 3, Shards: 16, Live: 1, Closed: true, Sync: 20,
		Days: 30},
	{Name: "4 × 3, 16 shards", Clusters: 4, Servers: 3, Shards: 16, Live: 1, Closed: true, Days: 30},
	{Name: "16 × 3, 16 shards", Clusters: 16, Servers: 3, Shards: 16, Live: 1, Closed: true, Days: 30},
	{Name: "… leaf nodes at 50 sites", Clusters: 16, Servers: 3, Shards: 16, Live: 1, Closed: true, Sites: 50,
		Days: 30},
}

// layouts returns the table of the page: the load on a server for the measured day, and the traffic it could bear.
func (m *Model) layouts(seed uint64) string {
	var b strings.Builder
	b.WriteString("| layout | groups | at rest | cores | syncs | GB | restart | a day | p50 / p99 | bears |\n" +
		"|---|---|---|---|---|---|---|---|---|---|\n")
	for _, l := range plans {
		r := m.load(l, 1, seed)
		fmt.Fprintf(&b, "| %s | %s | %.1f | %.0f %% | %.0f %% | %.1f | %.0f | %.0f | %s / %s | %s |\n", l.Name,
			number(r.Groups), r.Idle, r.CPU*100, r.Sync*100, r.Memory, r.Restart, r.DiskDay, took(r.P50), took(r.P99),
			m.bears(l, seed))
	}
	return b.String()
}

// bears returns the largest multiple of the day's traffic that keeps a layout within all limits, and the limit that
// it breaks beyond that.
func (m *Model) bears(l Layout, seed uint64) string {
	low, high := 0.0, 0.25
	var beyond Load
	for high <= 64 {
		if beyond = m.load(l, high, seed); beyond.How > 1 {
			break
		}
		low, high = high, high*2
	}
	if low == 0 {
		return "nothing: " + beyond.First
	}
	for high/low > 1.1 {
		middle := (low + high) / 2
		if r := m.load(l, middle, seed); r.How > 1 {
			high, beyond = middle, r
		} else {
			low = middle
		}
	}
	return fmt.Sprintf("×%.1f, then %s", low, beyond.First)
}

// took formats a time, which may be infinite.
func took(ms float64) string {
	if ms > 1e6 {
		return "∞"
	}
	return fmt.Sprintf("%.1f", ms)
}
