package rooms

import (
	"net/http"
	"time"

	vm "github.com/VictoriaMetrics/metrics"

	"pennypost/internal/room/mailroom"
)

// Metrics are the figures of one post office, in the text format of Prometheus; docs/http.md explains each. No label
// names a room, an agent or a message: their number is unbounded, and their names do not concern those who watch
// machines.
type Metrics struct {
	set *vm.Set // not the library's global one: tests run several post offices in a process

	sends, deliveries, wakes, bytes *vm.Counter
	rings, failedRings, trips       *vm.Counter
	outstanding, watchers           *vm.Gauge
	appends, fsync, inbox           *vm.PrometheusHistogram
}

// NewMetrics returns figures that count from zero.
func NewMetrics() *Metrics {
	vm.ExposeMetadata(true) // the type of each figure
	set := vm.NewSet()
	set.NewGauge("pennypost_start_time_seconds", nil).Set(float64(time.Now().Unix()))
	// from an answer out of memory to a write on a sleeping disk
	seconds := []float64{1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3, 1, 3}
	return &Metrics{
		set:         set,
		sends:       set.NewCounter("pennypost_sends_total"),
		deliveries:  set.NewCounter("pennypost_deliveries_total"),
		wakes:       set.NewCounter("pennypost_wakes_total"),
		bytes:       set.NewCounter("pennypost_appended_bytes_total"),
		rings:       set.NewCounter("pennypost_rings_total"),
		failedRings: set.NewCounter("pennypost_failed_rings_total"),
		trips:       set.NewCounter("pennypost_limits_total"),
		outstanding: set.NewGauge("pennypost_outstanding_wakes", nil),
		watchers:    set.NewGauge("pennypost_watchers", nil),
		appends: set.NewPrometheusHistogramExt("pennypost_appends_per_fsync",
			[]float64{1, 2, 4, 8, 16, 32, 64, 128, 256, 512}),
		fsync: set.NewPrometheusHistogramExt("pennypost_fsync_seconds", seconds),
		inbox: set.NewPrometheusHistogramExt("pennypost_inbox_seconds", seconds),
	}
}

// Of adds the figures of rooms, which are read on each request.
func (m *Metrics) Of(o *Set, connections func() int) {
	gauge := func(name string, read func() int) {
		m.set.NewGauge(name, func() float64 { return float64(read()) })
	}
	gauge("pennypost_connections", connections)
	gauge("pennypost_rooms_open", func() int { return o.Each(func(*Entry) {}) })
	gauge("pennypost_journal_bytes", func() (total int) {
		o.Each(func(e *Entry) { total += int(e.files.Condition().Bytes) })
		return total
	})
	gauge("pennypost_rejected_lines", func() (total int) {
		o.Each(func(e *Entry) { total += e.files.Condition().Rejected })
		return total
	})
	gauge("pennypost_bridges", func() int { return o.Figures().Running })
	gauge("pennypost_bridges_failing", func() int { return o.Figures().failing })
	gauge("pennypost_bridges_behind", func() int { return o.Figures().behind })
	gauge("pennypost_bridges_rejected", func() int { return o.Figures().rejected })
}

// synced records a write to a journal.
func (m *Metrics) synced(events, bytes int, took time.Duration) {
	m.appends.Update(float64(events))
	m.fsync.Update(took.Seconds())
	m.bytes.Add(bytes)
}

// observer returns the callbacks of a room.
func (m *Metrics) observer() mailroom.Observer {
	return mailroom.Observer{
		Sent: func(recipients, wakes int) {
			m.sends.Inc()
			m.deliveries.Add(recipients)
			m.wakes.Add(wakes)
		},
		Inbox:    func(took time.Duration) { m.inbox.Update(took.Seconds()) },
		Tripped:  m.trips.Inc,
		Watching: func(delta int) { m.watchers.Add(float64(delta)) },
	}
}

// ServeHTTP writes all figures, including those of the process.
func (m *Metrics) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	m.set.WritePrometheus(w)
	vm.WriteProcessMetrics(w)
}
