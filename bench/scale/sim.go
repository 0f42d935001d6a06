package main

import (
	"container/heap"
	"math"
	"math/rand/v2"
	"slices"
)

// world is a simulated cluster: machines with processors and disks, and streams with a leader and two followers on
// them. Time is in µs.
type world struct {
	m      *Model
	now    float64
	agenda agenda
	made   int
	chance *rand.Rand
	groups []*group
	took   []float64 // from the beginning of each send to its acknowledgement
}

// host is a machine. Its processors and its disk handle work in order of arrival.
type host struct {
	cores, disks []float64 // when each is free
	slower       float64   // slowdown by the idle load
	cpu, sync    float64   // time in use
}

func newHost(cores, disks, idle float64) *host {
	return &host{cores: make([]float64, int(cores)), disks: make([]float64, int(disks)), slower: 1 / (1 - idle/cores)}
}

// take occupies the unit that is free first, and returns when the work will be done.
func take(from []float64, now, long float64) float64 {
	first := 0
	for i := range from {
		if from[i] < from[first] {
			first = i
		}
	}
	from[first] = max(now, from[first]) + long
	return from[first]
}

func (h *host) compute(now, long float64) float64 {
	h.cpu += long
	return take(h.cores, now, long*h.slower)
}

func (h *host) write(now, long float64) float64 {
	h.sync += long
	return take(h.disks, now, long)
}

// group is a stream: a raft group with three replicas.
type group struct {
	leader    *host
	followers [2]*host
	waiting   []send
	busy      bool
}

// send is an event awaiting its acknowledgement.
type send struct {
	began float64
	done  func()
}

// occasion is a future event of the simulation.
type occasion struct {
	at     float64
	number int // in planning order, so that a seed always gives the same result
	do     func()
}

type agenda []occasion

func (a agenda) Len() int { return len(a) }
func (a agenda) Less(i, j int) bool {
	return a[i].at < a[j].at || a[i].at == a[j].at && a[i].number < a[j].number
}
func (a agenda) Swap(i, j int) { a[i], a[j] = a[j], a[i] }
func (a *agenda) Push(o any)   { *a = append(*a, o.(occasion)) }
func (a *agenda) Pop() any {
	last := (*a)[len(*a)-1]
	*a = (*a)[:len(*a)-1]
	return last
}

func (w *world) at(t float64, do func()) {
	w.made++
	heap.Push(&w.agenda, occasion{t, w.made, do})
}

// run advances time to the end, or until nothing more happens.
func (w *world) run(until float64) {
	for len(w.agenda) > 0 && w.agenda[0].at <= until {
		o := heap.Pop(&w.agenda).(occasion)
		w.now = o.at
		o.do()
	}
}

// publish gives an event to a stream's leader, which puts all waiting events into its next batch.
func (w *world) publish(g *group, s send) {
	g.waiting = append(g.waiting, s)
	if !g.busy {
		w.batch(g)
	}
}

// most is the largest number of events in a batch: maxBatchEntries of the server.
const most = 512

// batch follows one batch through the servers: the leader encodes it and syncs its log; both followers do the same.
// After the first of them there is a majority, and the leader stores, acknowledges, and takes the next batch. Real
// servers do not wait that long, but their batches are as large as if they did: with the next batch taken after the
// leader's own sync, the simulation missed measured cases with several streams by a factor of about two.
func (w *world) batch(g *group) {
	n := min(len(g.waiting), most)
	if g.busy = n > 0; !g.busy {
		return
	}
	sends := slices.Clone(g.waiting[:n])
	g.waiting = append(g.waiting[:0], g.waiting[n:]...)
	cost := w.m.Batch + w.m.Event*float64(n)
	lead, follow := cost*w.m.Leader, cost*(1-w.m.Leader)/2
	computed := g.leader.compute(w.now, lead*2/3)
	w.at(computed, func() {
		w.at(g.leader.write(w.now, w.m.Sync), func() {
			acked := false
			for _, f := range g.followers {
				w.at(w.now+w.m.Network*1e3/2, func() { w.follow(g, f, follow, &acked, sends, lead/3) })
			}
		})
	})
}

func (w *world) follow(g *group, f *host, cost float64, acked *bool, sends []send, rest float64) {
	w.at(f.compute(w.now, cost), func() {
		w.at(f.write(w.now, w.m.Sync)+w.m.Network*1e3/2, func() {
			if *acked {
				return
			}
			*acked = true
			w.at(g.leader.compute(w.now, rest), func() {
				for _, s := range sends {
					w.took = append(w.took, w.now-s.began)
					s.done()
				}
				w.batch(g)
			})
		})
	})
}

// percentile is a percentile of the send times, in ms.
func (w *world) percentile(p float64) float64 {
	if len(w.took) == 0 {
		return math.Inf(1)
	}
	slices.Sort(w.took)
	return w.took[int(p*float64(len(w.took)-1))] / 1e3
}

// closed simulates a small case as it was measured: all on one machine, with senders that send after each answer.
func (m *Model) closed(senders, streams int, seed uint64) (perSecond, p50 float64) {
	w := &world{m: &Model{}, chance: rand.New(rand.NewPCG(seed, 1))}
	*w.m = *m
	w.m.Network = 0
	one := newHost(m.HostCores, m.Disks, 0)
	for range streams {
		w.groups = append(w.groups, &group{leader: one, followers: [2]*host{one, one}})
	}
	const lasting = 3e6
	var again func(s, n int)
	again = func(s, n int) {
		began := w.now
		w.at(one.compute(w.now, m.Client), func() {
			w.publish(w.groups[(s+n*senders)%streams], send{began, func() { again(s, n+1) }})
		})
	}
	for s := range senders {
		w.at(w.chance.Float64()*1e3, func() { again(s, 0) })
	}
	w.run(lasting)
	return float64(len(w.took)) / (lasting / 1e6), w.percentile(0.5)
}
