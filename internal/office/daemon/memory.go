package daemon

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	runtimemetrics "runtime/metrics"
)

// spareMemory is how much garbage may accumulate, in bytes, before it is collected. By default the collector lets
// the heap grow to twice the live heap. That is right while the live heap is small; with a room of a million
// messages it would waste a quarter of a gigabyte.
const spareMemory = 96 << 20

// gcPercent returns the collector's setting for a live heap of live bytes. It makes the collector work more often,
// but at most four times as often as by default.
func gcPercent(live uint64) int {
	if live <= spareMemory {
		return 100
	}
	return max(25, int(100*spareMemory/live))
}

// boundGarbage adjusts the collector after each of its cycles to the live heap, until ctx ends. It does nothing if
// GOGC is set.
func boundGarbage(ctx context.Context) {
	if os.Getenv("GOGC") != "" {
		return
	}
	now := 100
	var adjust func(struct{})
	adjust = func(struct{}) {
		live := []runtimemetrics.Sample{{Name: "/gc/heap/live:bytes"}}
		runtimemetrics.Read(live)
		next := gcPercent(live[0].Value.Uint64())
		if ctx.Err() != nil {
			next = 100
		}
		if next != now { // setting it stops the world for a moment
			now = next
			debug.SetGCPercent(next)
		}
		if ctx.Err() == nil {
			// adjust runs again once the next cycle has found this pointer to be garbage
			runtime.AddCleanup(new(*int), adjust, struct{}{})
		}
	}
	adjust(struct{}{})
}
