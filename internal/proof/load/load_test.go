package load

import (
	"context"
	"flag"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"pennypost/internal/mail"
)

var (
	duration = flag.Duration("duration", 10*time.Second,
		"how long the load lasts; from a minute on, memory is held to its bound")
	watchers = flag.Int("watchers", 0, "event streams; 0: 100, or 1,000 from a minute on")
	sessions = flag.Int("sessions", 0, "MCP sessions; 0: 20, or 200 from a minute on")
	senders  = flag.Int("senders", 16, "agents that send")
	pause    = flag.Duration("pause", 250*time.Millisecond, "between the messages of one sender")
)

// What may be left of the clients after they have gone.
const (
	moreMemory     = 1.3 // times
	moreGoroutines = 10
	moreFiles      = 5
	// settling is how long the process may take to get there: Go returns memory slowly, but no later than after the
	// collection that runs every two minutes.
	settling = 4 * time.Minute
)

// seeded is the number of messages before the test: as many as a room keeps, so that keeping more does not explain
// growth.
const seeded = 5000

// TestLoad holds that every watcher sees every acknowledged message, once and in order, and that the process ends as
// it began.
func TestLoad(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("sockets and /proc")
	}
	if testing.Short() {
		t.Skip("ten seconds of load")
	}
	long := *duration >= time.Minute
	nWatchers, nSessions := choose(*watchers, long, 100, 1000), choose(*sessions, long, 20, 200)
	p := open(t)
	names := p.roster(t, *senders)
	p.seed(t)
	p.runAgents(t, names, 10, 5, time.Second) // buffers, caches and connections that are made once are made now
	p.archive(t)
	before := p.quiet(t)

	loaded := p.runAgents(t, names, nWatchers, nSessions, *duration)
	p.archive(t)
	after := p.settle(t, before, long)
	t.Logf("%v of %d watchers, %d MCP sessions and %d senders: %d messages acknowledged, %d events seen, %d MCP "+
		"calls, slowest send %v",
		*duration, nWatchers, nSessions, *senders, loaded.sent, loaded.seen, loaded.calls,
		loaded.slowest.Round(time.Millisecond))
	t.Logf("before: %v", before)
	t.Logf("under load: %v", loaded.under)
	t.Logf("after: %v", after)
	if after.goroutines > before.goroutines+moreGoroutines {
		t.Errorf("goroutines: %d before, %d after", before.goroutines, after.goroutines)
	}
	if after.files > before.files+moreFiles {
		t.Errorf("file descriptors: %d before, %d after", before.files, after.files)
	}
	if long && float64(after.memory) > moreMemory*float64(before.memory) {
		t.Errorf("memory: %d kB before, %d kB after, which is over %.1f times", before.memory, after.memory,
			moreMemory)
	}
	p.verify(t)
}

func choose(given int, long bool, short, full int) int {
	switch {
	case given > 0:
		return given
	case long:
		return full
	}
	return short
}

// outcome is the result of a crowd of clients.
type outcome struct {
	sent    int   // messages acknowledged
	seen    int64 // events, by all watchers
	calls   int64 // of MCP tools
	slowest time.Duration
	under   figures // of the process, half-way
}

// runAgents lets clients work for a while, waits until every watcher has seen all sent messages, and ends the
// clients.
func (p *place) runAgents(t *testing.T, names []agent, nWatchers, nSessions int, lasting time.Duration) outcome {
	t.Helper()
	var out outcome
	var watching, working sync.WaitGroup
	from := p.last(t)
	all := make([]*watcher, nWatchers)
	for i := range all {
		all[i] = p.watch(t, from)
		watching.Go(all[i].read)
	}
	ctx, stop := context.WithTimeout(t.Context(), lasting)
	defer stop()
	for i := range nSessions {
		working.Go(func() { p.session(ctx, t, names[i%len(names)], &out.calls) })
	}
	var mu sync.Mutex
	acked := make(map[mail.ID]bool)
	for _, a := range names {
		working.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				began := time.Now()
				id, err := p.send(t.Context(), "load", a.name,
					fmt.Sprintf("%s says %d at %d", a.name, n, began.UnixNano()))
				if err != nil {
					t.Errorf("%s: %v", a.name, err)
					return
				}
				mu.Lock()
				acked[id] = true
				out.slowest = max(out.slowest, time.Since(began))
				mu.Unlock()
				sleep(ctx, *pause)
			}
		})
	}
	sleep(ctx, lasting/2)
	out.under = p.figures(t)
	working.Wait()
	out.sent = len(acked)
	p.awaitAll(t, all, len(acked))
	for _, w := range all {
		w.close()
	}
	watching.Wait()
	for i, w := range all {
		out.seen += w.events.Load()
		if w.problem != "" {
			t.Errorf("watcher %d: %s", i, w.problem)
		}
	}
	p.holds(t, acked)
	return out
}

// awaitAll waits until every watcher has seen n messages.
func (p *place) awaitAll(t *testing.T, all []*watcher, n int) {
	t.Helper()
	var behind []string
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
		behind = behind[:0]
		for i, w := range all {
			if got := w.messages.Load(); got < int64(n) {
				behind = append(behind, fmt.Sprintf("watcher %d: %d", i, got))
			}
		}
		if len(behind) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Errorf("of %d messages were not seen by all:\n%s", n, strings.Join(behind, "\n"))
			return
		}
	}
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
