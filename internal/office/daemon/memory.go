package daemon

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	runtimemetrics "runtime/metrics"
	"sync/atomic"
	"time"
)

// spareMemory is how much garbage may accumulate, in bytes, before it is collected. By default the collector lets the
// heap grow to twice the live heap. Under load, a small heap would be collected many times a second; with a room of a
// million messages, a quarter of a gigabyte would be wasted.
const spareMemory = 64 << 20

// Under load, or while a large room is opened, the collector would take a third of the processors. After a collection
// that follows another within frequent, twice as much garbage may accumulate, else half as much: at most mostSpare,
// and not more than is live. The memory is returned soon after the load.
const (
	frequent  = time.Second
	mostSpare = 4 * spareMemory
)

// gcPercent returns the collector's setting for a live heap of live bytes: it collects at most four times as often as
// by default, and at least a quarter as often.
func gcPercent(live, spare uint64) int {
	return max(25, min(int(100*spare/max(live, 1)), 400))
}

// spareFor returns how much garbage may accumulate next, if it was spare before the last collection, which came after
// some time and found live bytes.
func spareFor(live, spare uint64, after time.Duration) uint64 {
	if spare *= 2; after > frequent {
		spare /= 4
	}
	return max(spareMemory, min(spare, live, mostSpare))
}

// restsAfter is how long there must be no collection before unused memory is returned to the system. Without that it
// takes minutes, or never happens.
const restsAfter = 5 * time.Second

// boundGarbage adjusts the collector after each of its cycles to the live heap, and returns memory after a burst of
// work, such as the opening of a large room, until ctx ends. It does nothing if GOGC is set.
func boundGarbage(ctx context.Context, restsAfter time.Duration) {
	if os.Getenv("GOGC") != "" {
		return
	}
	var resting atomic.Bool
	rest := time.AfterFunc(restsAfter, func() {
		resting.Store(true)
		debug.FreeOSMemory() // which is a cycle too
	})
	context.AfterFunc(ctx, func() { rest.Stop() })
	percent, spare, last := 100, uint64(spareMemory), time.Now()
	var adjust func(struct{})
	adjust = func(struct{}) {
		if ctx.Err() != nil {
			return
		}
		samples := []runtimemetrics.Sample{{Name: "/gc/heap/live:bytes"}}
		runtimemetrics.Read(samples)
		live := samples[0].Value.Uint64()
		spare, last = spareFor(live, spare, time.Since(last)), time.Now()
		if next := gcPercent(live, spare); next != percent { // setting it stops the world
			percent = next
			debug.SetGCPercent(next)
		}
		if !resting.Swap(false) {
			rest.Reset(restsAfter)
		}
		// adjust runs again once the next cycle has found this pointer to be garbage
		runtime.AddCleanup(new(*int), adjust, struct{}{})
	}
	adjust(struct{}{})
}
