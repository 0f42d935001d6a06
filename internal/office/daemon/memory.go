package daemon

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	runtimemetrics "runtime/metrics"
)

// spareMemory is how much garbage may lie about, in bytes, before it is collected. By itself the collector lets the
// heap grow to twice what lives. That is right as long as little lives; with a room of a million messages it would be
// a quarter of a gigabyte for nothing.
const spareMemory = 96 << 20

// gcPercent is what to set the collector to when so many bytes live. It works more often then, but not more than four
// times as often as it would by itself.
func gcPercent(live uint64) int {
	if live <= spareMemory {
		return 100
	}
	return max(25, int(100*spareMemory/live))
}

// boundGarbage sets the collector after each of its cycles to what then lives, until ctx ends. Whoever has set GOGC is
// left alone.
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
		if next != now { // it stops the world for a moment
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
