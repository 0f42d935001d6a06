package daemon

import (
	"runtime"
	"runtime/debug"
	runtimemetrics "runtime/metrics"
	"testing"
	"time"
)

// TestGarbageIsBounded holds that a large heap is collected before it grows to twice its live size, unless that
// happens often, and a small one seldom.
func TestGarbageIsBounded(t *testing.T) {
	t.Setenv("GOGC", "") // it may be set
	t.Cleanup(func() { debug.SetGCPercent(100) })
	boundGarbage(t.Context(), time.Hour)
	wait := func(what string, pause time.Duration, ok func(goal, live uint64) bool) {
		t.Helper()
		for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(pause) {
			runtime.GC()
			s := []runtimemetrics.Sample{{Name: "/gc/heap/goal:bytes"}, {Name: "/gc/heap/live:bytes"}}
			runtimemetrics.Read(s)
			goal, live := s[0].Value.Uint64(), s[1].Value.Uint64()
			if ok(goal, live) {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s: %d MB live, and the heap may grow to %d MB", what, live>>20, goal>>20)
			}
		}
	}
	wait("small", 0, func(goal, live uint64) bool { return goal > live+min(3*live, spareMemory/2) })
	held := make([]byte, 4*spareMemory) // none of its pages is ever touched
	wait("large and busy", 0, func(goal, live uint64) bool { return live > 4*spareMemory && goal > live+live/2 })
	wait("large", frequent+frequent/10, func(goal, live uint64) bool { return goal < live+5*spareMemory/4 })
	runtime.KeepAlive(held)
}

// TestMemoryIsReturned holds that unused memory is returned once after a collection, and that this does not start
// another round.
func TestMemoryIsReturned(t *testing.T) {
	t.Setenv("GOGC", "")
	t.Cleanup(func() { debug.SetGCPercent(100) })
	forced := func() uint32 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.NumForcedGC
	}
	before := forced()
	boundGarbage(t.Context(), 50*time.Millisecond)
	for deadline := time.Now().Add(20 * time.Second); forced() == before; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("no memory was returned")
		}
	}
	time.Sleep(500 * time.Millisecond)
	if n := forced() - before; n > 2 { // a collection of another test may still count
		t.Errorf("memory was returned %d times, though nothing was allocated", n)
	}
}
