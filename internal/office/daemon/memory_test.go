package daemon

import (
	"context"
	"runtime"
	runtimemetrics "runtime/metrics"
	"testing"
	"time"
)

// TestGarbageIsBounded holds that a large heap is collected before it grows to twice its live size.
func TestGarbageIsBounded(t *testing.T) {
	t.Setenv("GOGC", "") // it may be set
	ctx, cancel := context.WithCancel(t.Context())
	boundGarbage(ctx)
	held := make([]byte, 4*spareMemory) // none of its pages is ever touched
	goal := func() (goal, live uint64) {
		runtime.GC()
		s := []runtimemetrics.Sample{{Name: "/gc/heap/goal:bytes"}, {Name: "/gc/heap/live:bytes"}}
		runtimemetrics.Read(s)
		return s[0].Value.Uint64(), s[1].Value.Uint64()
	}
	wait := func(what string, ok func(goal, live uint64) bool) {
		t.Helper()
		for deadline := time.Now().Add(20 * time.Second); ; runtime.Gosched() {
			goal, live := goal()
			if ok(goal, live) {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s: %d MB live, and the heap may grow to %d MB", what, live>>20, goal>>20)
			}
		}
	}
	wait("bounded", func(goal, live uint64) bool { return live > 4*spareMemory && goal < live+5*spareMemory/4 })
	cancel()
	wait("left alone", func(goal, live uint64) bool { return goal > live+3*spareMemory })
	runtime.KeepAlive(held)
}
