package daemon

import (
	"runtime"
	"runtime/debug"
	runtimemetrics "runtime/metrics"
	"testing"
	"time"
)

// TestGarbageIsBounded holds that a large heap is collected before it grows to twice its live size, and a small one
// seldom.
func TestGarbageIsBounded(t *testing.T) {
	t.Setenv("GOGC", "") // it may be set
	t.Cleanup(func() { debug.SetGCPercent(100) })
	boundGarbage(t.Context())
	wait := func(what string, ok func(goal, live uint64) bool) {
		t.Helper()
		for deadline := time.Now().Add(20 * time.Second); ; runtime.Gosched() {
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
	wait("small", func(goal, live uint64) bool { return goal > live+min(3*live, spareMemory/2) })
	held := make([]byte, 4*spareMemory) // none of its pages is ever touched
	wait("large", func(goal, live uint64) bool { return live > 4*spareMemory && goal < live+5*spareMemory/4 })
	runtime.KeepAlive(held)
}
