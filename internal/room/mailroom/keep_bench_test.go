package mailroom

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
	"pennypost/internal/room/journal/jsonl"
)

// BenchmarkTrim makes retention take all but 5,000 of 50,000 messages (PENNYPOST_BENCH_EVENTS changes that) at once,
// as after an import, and measures the cost to a client that sends every other millisecond meanwhile, and the memory.
// It also reports the cost to the same sender while there is nothing to trim.
func BenchmarkTrim(b *testing.B) {
	n := 50_000
	if s := os.Getenv("PENNYPOST_BENCH_EVENTS"); s != "" {
		var err error
		if n, err = strconv.Atoi(s); err != nil {
			b.Fatal(err)
		}
	}
	room := benchRoom(b, openJSONL(b, b.TempDir(), jsonl.Options{}))
	for i := 0; i < n; i += 500 {
		var events []mail.Event
		for k := i; k < i+500; k++ {
			m := &mail.Message{ID: mail.ID(fmt.Sprintf("msg_%021d", k)), Type: mail.Custom, From: "agent:s",
				To: []mail.Address{"agent:r0"}, Body: benchBody, Key: fmt.Sprint(mail.MadeKey, k)}
			events = append(events, mail.Event{At: room.now(), Message: m}, mail.Event{At: room.now(),
				Receipt: &mail.Receipt{Message: m.ID, Reader: "agent:r0", Mark: mail.MarkRead}})
		}
		if _, err := room.commit(b.Context(), events...); err != nil {
			b.Fatal(err)
		}
	}
	heapSize()
	before := resident()
	b.ResetTimer()
	quiet, _ := beside(b, room, func() { time.Sleep(2 * time.Second) })
	room.opts.Retention = policy.Retention{}
	var took time.Duration
	busy, most := beside(b, room, func() {
		start := time.Now()
		if _, err := room.trim(b.Context(), false); err != nil {
			b.Error(err)
		}
		took = time.Since(start)
	})
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(took.Seconds(), "s")
	b.ReportMetric(ms(quiet[len(quiet)*99/100]), "ms-p99-without")
	b.ReportMetric(ms(quiet[len(quiet)-1]), "ms-most-without")
	b.ReportMetric(ms(busy[len(busy)*99/100]), "ms-p99")
	b.ReportMetric(ms(busy[len(busy)-1]), "ms-most")
	b.ReportMetric(before, "MB-before")
	b.ReportMetric(most, "MB-most")
	b.ReportMetric(resident(), "MB-after")
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// beside returns how long sends take while do runs, the longest last, and the peak memory.
func beside(b *testing.B, room *Room, do func()) (took []time.Duration, most float64) {
	ctx, stop := context.WithCancel(b.Context())
	var running sync.WaitGroup
	running.Go(func() {
		for every := time.NewTicker(2 * time.Millisecond); ctx.Err() == nil; <-every.C {
			start := time.Now()
			if _, err := room.As("s").Send(b.Context(), mail.Draft{To: mail.Recipients{"r1"},
				Body: benchBody}); err != nil {
				b.Error(err)
				return
			}
			took = append(took, time.Since(start))
			most = max(most, resident())
		}
	})
	do()
	stop()
	running.Wait()
	slices.Sort(took)
	return took, most
}

// resident returns how many MB of memory the process has; 0 if there is no /proc.
func resident() float64 {
	var size, pages float64
	if b, err := os.ReadFile("/proc/self/statm"); err == nil {
		fmt.Sscan(string(b), &size, &pages)
	}
	return pages * float64(os.Getpagesize()) / 1e6
}
