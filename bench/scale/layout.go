package main

import (
	"math"
	"math/rand/v2"
)

// Layout is a way to distribute the rooms over servers.
type Layout struct {
	Name     string
	Clusters float64
	Servers  float64 // per cluster
	Shards   float64 // streams of a cluster that its rooms share; 0: a stream for each room
	Live     float64 // share of the rooms on the servers; the others are in files
	Closed   bool    // post offices follow only rooms in use
	Sites    float64 // leaf nodes, each of which fetches an event once for all its post offices; 0: none
	Sync     float64 // µs, of its disks; 0: as measured
	Days     float64 // retention of streams
}

// Load is the load on a server of a layout in the busiest hour.
type Load struct {
	Servers          float64 // total
	Groups           float64 // raft groups on a server
	Idle             float64 // cores in use when idle
	CPU, Sync        float64 // share in use
	Memory           float64 // GB
	Network          float64 // MB/s
	FDs              float64
	Restart, Created float64 // s
	DiskDay          float64 // GB
	P50, P99         float64 // ms
	First            string  // the resource nearest to its limit, or beyond it
	How              float64 // how near: 1 is the limit
}

// perHour is the number of events per agent.
func (m *Model) perHour() float64 { return m.Messages + m.Marks + m.Presence }

// size is the average size of an event.
func (m *Model) size() float64 {
	return (m.Messages*m.MessageSize + m.Marks*m.MarkSize + m.Presence*m.PresenceSz) / m.perHour()
}

// daily is the number of events in a day, peak that in a second of its busiest hour.
func (m *Model) daily() float64 { return m.Agents * m.perHour() * m.Hours }
func (m *Model) peak() float64  { return m.daily() * m.Busiest / 3600 }

// load computes the load on a server; busier multiplies the day's traffic.
func (m *Model) load(l Layout, busier float64, seed uint64) Load {
	if l.Sync > 0 {
		faster := *m
		faster.Sync = l.Sync
		m = &faster
	}
	rooms := m.Rooms * l.Live / l.Clusters
	groups := l.Shards
	if groups == 0 {
		groups = rooms
	}
	groups = groups * 3 / l.Servers
	rate := m.peak() * busier / l.Clusters
	open := rooms
	if l.Closed {
		open = min(rooms, m.Rooms*m.Live/l.Clusters)
	}
	readers := m.OfficesPerRoom
	if l.Sites > 0 {
		readers = min(readers, l.Sites)
		readers = 1 + (readers-1)/2 // half of a room's machines are at one site
	}
	consumers := open * readers / l.Servers
	deliveries := rate * readers / l.Servers
	r := Load{Servers: l.Clusters * l.Servers, Groups: groups}
	r.Idle = (groups*m.GroupIdle + consumers*m.ConsumerIdle) / 1e6
	r.Memory = (m.Base + groups*m.GroupMemory + consumers*m.ConsumerMemory +
		(rooms*3/l.Servers)*m.RoomMemory/1e3 + rate*3/l.Servers*300*m.IDMemory/1e3) / 1e3
	bytes := m.size() + m.Overhead
	r.Network = (rate/l.Servers*(bytes+m.Frame)*(1+2) + deliveries*(bytes+m.Frame)) / 1e6
	r.FDs = groups*m.GroupFDs + m.Offices/l.Servers
	r.Restart = m.Restart + groups*m.RestartGroup/1e3
	r.Created = rooms * m.Create / 1e3
	if l.Shards > 0 {
		r.Created = l.Shards*m.Create/1e3 + rooms/1e3
	}
	r.DiskDay = m.daily() * busier / l.Clusters * bytes * 3 / l.Servers / 1e9
	m.busiest(l, rate, deliveries, seed, &r)
	m.judge(l, &r)
	return r
}

// busiest simulates some seconds of the busiest hour on one cluster: clusters are independent.
func (m *Model) busiest(l Layout, rate, deliveries float64, seed uint64, r *Load) {
	idle := r.Idle + deliveries*m.Deliver/1e6
	if idle >= m.Cores*0.95 {
		r.P50, r.P99, r.CPU = math.Inf(1), math.Inf(1), idle/m.Cores
		return
	}
	w := &world{m: m, chance: rand.New(rand.NewPCG(seed, 2))}
	var hosts []*host
	for range int(l.Servers) {
		hosts = append(hosts, newHost(m.Cores, m.Disks, idle))
	}
	streams := int(l.Shards)
	if streams == 0 {
		streams = int(m.Rooms * l.Live / l.Clusters)
	}
	for i := range streams {
		at := func(k int) *host { return hosts[(i+k)%len(hosts)] }
		w.groups = append(w.groups, &group{leader: at(0), followers: [2]*host{at(1), at(2)}})
	}
	lasting := 1e6 * min(10, 60_000/rate)
	behind := min(m.Behind*1e6, lasting/10)
	warm := 5 * behind // by then arrivals and departures balance
	m.arrivals(w, rate, warm+lasting, behind)
	w.run(warm)
	w.took = nil
	for _, h := range hosts {
		h.cpu, h.sync = 0, 0
	}
	w.run(warm + lasting)
	waiting := 0
	for _, g := range w.groups {
		waiting += len(g.waiting)
	}
	r.P50, r.P99 = w.percentile(0.5), w.percentile(0.99)
	if float64(waiting) > rate { // more than a second's events: the backlog keeps growing
		r.P50, r.P99 = math.Inf(1), math.Inf(1)
	}
	for _, h := range hosts {
		r.CPU = max(r.CPU, (h.cpu/lasting+idle)/m.Cores)
		r.Sync = max(r.Sync, h.sync/lasting/m.Disks)
	}
}

// arrivals generates the rooms' events: messages at random, and, some time after each, its marks and its readers'
// presence changes. Rooms differ in traffic; a stream's share is the sum of its rooms.
func (m *Model) arrivals(w *world, rate, lasting, behind float64) {
	rooms := max(len(w.groups), 4096) // some may represent several
	shares := make([]float64, rooms)
	sum := 0.0
	for i := range shares {
		sum += math.Exp(m.Spread * w.chance.NormFloat64())
		shares[i] = sum
	}
	follow := (m.Marks + m.Presence) / m.Messages
	every := 1e6 * (1 + follow) / rate
	var next func()
	next = func() {
		room := find(shares, w.chance.Float64()*sum)
		g := w.groups[room%len(w.groups)]
		give := func() { w.publish(g, send{w.now, func() {}}) }
		give()
		for n := follow; n > 0 && (n >= 1 || w.chance.Float64() < n); n-- {
			w.at(w.now+w.chance.ExpFloat64()*behind, give)
		}
		if t := w.now + w.chance.ExpFloat64()*every; t < lasting {
			w.at(t, next)
		}
	}
	w.at(0, next)
}

// find returns the first index whose sum is at least v.
func find(sums []float64, v float64) int {
	low, high := 0, len(sums)-1
	for low < high {
		if mid := (low + high) / 2; sums[mid] < v {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low
}

// judge finds the resource nearest to its limit.
func (m *Model) judge(l Layout, r *Load) {
	for _, c := range []struct {
		what     string
		is, want float64
	}{
		{"processors at rest", r.Idle, m.Cores * m.WantCPU / 2},
		{"processors", r.CPU, m.WantCPU},
		{"syncs", r.Sync, m.WantSync},
		{"memory", r.Memory, m.Memory * m.WantMemory},
		{"network", r.Network, m.MB * m.WantNetwork},
		{"file descriptors", r.FDs, m.WantFDs},
		{"restart", r.Restart, m.WantRestart},
		{"p99", r.P99, m.WantP99},
		{"disk", r.DiskDay * l.Days / 1e3, m.Disk},
	} {
		if how := c.is / c.want; how > r.How {
			r.How, r.First = how, c.what
		}
	}
}
