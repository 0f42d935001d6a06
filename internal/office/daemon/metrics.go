package daemon

import (
	"fmt"
	"io"
	"math"
	"net/http"
	"runtime"
	"strconv"
	"sync/atomic"
	"time"

	"pennypost/internal/room/mailroom"
)

// metrics are the figures of one post office, in the text format of Prometheus. No label names a room, an agent or a
// message: there may be any number of them, and their names are nobody's business who watches machines.
//
// The libraries for this cost every command between 0.7 and 1.5 ms before its first line, a fifth of its whole time;
// six kinds of figure do not need them.
type metrics struct {
	started time.Time

	sends, deliveries, wakes, bytes counter
	rings, failedRings, outstanding counter
	watchers, trips                 counter
	appends, fsync, inbox           histogram

	// Figures that are read when they are asked for. Fixed once the post office is put together.
	rooms, connections          func() int
	journalBytes, rejectedLines func() int64
	bridges                     func() bridgeFigures
}

func newMetrics() *metrics {
	return &metrics{
		started: time.Now(),
		appends: newHistogram(1, 2, 4, 8, 16, 32, 64, 128, 256, 512),
		fsync:   newHistogram(seconds()...),
		inbox:   newHistogram(seconds()...),
	}
}

// seconds are bounds from what memory answers to what a sleeping disk needs.
func seconds() []float64 {
	return []float64{1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3, 1, 3}
}

// of adds the figures of an office.
func (m *metrics) of(o *office, connections func() int) {
	m.connections = connections
	m.rooms = func() int { return o.each(func(*entry) {}) }
	m.bridges = o.bridgeFigures
	m.journalBytes = func() (total int64) {
		o.each(func(e *entry) { total += e.files.Condition().Bytes })
		return total
	}
	m.rejectedLines = func() (total int64) {
		o.each(func(e *entry) { total += int64(e.files.Condition().Rejected) })
		return total
	}
}

// synced is told of each write to a journal.
func (m *metrics) synced(events, bytes int, took time.Duration) {
	m.appends.observe(float64(events))
	m.fsync.observe(took.Seconds())
	m.bytes.Add(int64(bytes))
}

// observer is what a room tells.
func (m *metrics) observer() mailroom.Observer {
	return mailroom.Observer{
		Sent: func(recipients, wakes int) {
			m.sends.Add(1)
			m.deliveries.Add(int64(recipients))
			m.wakes.Add(int64(wakes))
		},
		Inbox:    func(took time.Duration) { m.inbox.observe(took.Seconds()) },
		Tripped:  func() { m.trips.Add(1) },
		Watching: func(delta int) { m.watchers.Add(int64(delta)) },
	}
}

// ServeHTTP writes all figures.
func (m *metrics) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	e := exposition{w}
	e.number("pennypost_sends_total", "counter", "Messages sent.", m.sends.Load())
	e.number("pennypost_deliveries_total", "counter", "Recipients of messages sent.", m.deliveries.Load())
	e.number("pennypost_wakes_total", "counter", "Recipients that were to be woken.", m.wakes.Load())
	e.number("pennypost_rings_total", "counter", "Attempts to ring a door.", m.rings.Load())
	e.number("pennypost_failed_rings_total", "counter", "Attempts that failed.", m.failedRings.Load())
	e.number("pennypost_outstanding_wakes", "gauge",
		"Agents with mail that they are to be woken for, and have not been given up.", m.outstanding.Load())
	e.number("pennypost_limits_total", "counter", "Messages refused because a limit was reached.", m.trips.Load())
	e.number("pennypost_appended_bytes_total", "counter", "Bytes appended to journals.", m.bytes.Load())
	e.histogram("pennypost_appends_per_fsync", "Events that shared one fsync.", &m.appends)
	e.histogram("pennypost_fsync_seconds", "Time of one write and fsync.", &m.fsync)
	e.histogram("pennypost_inbox_seconds", "Time to look into a mailbox.", &m.inbox)
	e.number("pennypost_watchers", "gauge", "Watches and waits that are open.", m.watchers.Load())
	e.number("pennypost_connections", "gauge", "Connections that are open.", int64(m.connections()))
	e.number("pennypost_rooms_open", "gauge", "Rooms that are open.", int64(m.rooms()))
	e.number("pennypost_journal_bytes", "gauge", "Bytes of the journals of open rooms.", m.journalBytes())
	e.number("pennypost_rejected_lines", "gauge", "Lines of open rooms that could not be read and were set aside.",
		m.rejectedLines())
	b := m.bridges()
	e.number("pennypost_bridges", "gauge", "Bridges to foreign mailboxes that run.", int64(b.running))
	e.number("pennypost_bridges_failing", "gauge",
		"Bridges whose files could not be read or written at the last attempt.", int64(b.failing))
	e.number("pennypost_bridges_behind", "gauge", "Events that are not in the files of the bridges yet.",
		int64(b.behind))
	e.number("pennypost_bridges_rejected", "gauge",
		"Pieces of foreign files that could not be understood and were left where they are.", int64(b.rejected))
	e.number("pennypost_start_time_seconds", "gauge", "When the post office started, in seconds since 1970.",
		m.started.Unix())
	e.number("go_goroutines", "gauge", "Goroutines.", int64(runtime.NumGoroutine()))
	e.number("go_memstats_heap_alloc_bytes", "gauge", "Bytes of heap in use.", int64(mem.HeapAlloc))
}

// counter is a number that is added to.
type counter struct{ atomic.Int64 }

// histogram counts values by upper bound.
type histogram struct {
	bounds []float64
	counts []atomic.Uint64 // one more than bounds: those above all
	sum    atomic.Uint64   // bits of a float64
}

func newHistogram(bounds ...float64) histogram {
	return histogram{bounds: bounds, counts: make([]atomic.Uint64, len(bounds)+1)}
}

func (h *histogram) observe(v float64) {
	i := 0
	for i < len(h.bounds) && v > h.bounds[i] {
		i++
	}
	h.counts[i].Add(1)
	for {
		old := h.sum.Load()
		if h.sum.CompareAndSwap(old, math.Float64bits(math.Float64frombits(old)+v)) {
			return
		}
	}
}

// exposition writes figures as Prometheus reads them (its "text-based format", version 0.0.4).
type exposition struct{ w io.Writer }

func (e exposition) head(name, kind, help string) {
	fmt.Fprintf(e.w, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
}

func (e exposition) number(name, kind, help string, v int64) {
	e.head(name, kind, help)
	fmt.Fprintf(e.w, "%s %d\n", name, v)
}

func (e exposition) histogram(name, help string, h *histogram) {
	e.head(name, "histogram", help)
	var total uint64
	for i, bound := range h.bounds {
		total += h.counts[i].Load()
		fmt.Fprintf(e.w, "%s_bucket{le=%q} %d\n", name, strconv.FormatFloat(bound, 'g', -1, 64), total)
	}
	total += h.counts[len(h.bounds)].Load()
	fmt.Fprintf(e.w, "%s_bucket{le=\"+Inf\"} %d\n%s_sum %g\n%s_count %d\n", name, total, name,
		math.Float64frombits(h.sum.Load()), name, total)
}
