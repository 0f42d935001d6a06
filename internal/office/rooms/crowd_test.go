package rooms

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

// TestCrowd holds that Go has more processors while many write at once, and not longer.
func TestCrowd(t *testing.T) {
	t.Setenv("GOMAXPROCS", "")
	usual := runtime.GOMAXPROCS(0)
	t.Cleanup(func() { runtime.GOMAXPROCS(usual) })
	runtime.SetDefaultGOMAXPROCS()
	usual = runtime.GOMAXPROCS(0)
	synctest.Test(t, func(t *testing.T) {
		var c crowd
		second := func(syncs, events, want int) {
			t.Helper()
			for range syncs {
				c.synced(events)
				time.Sleep(time.Second / time.Duration(syncs))
			}
			time.Sleep(time.Millisecond)
			if got := runtime.GOMAXPROCS(0); got != want {
				t.Fatalf("%d processors after %d syncs for %d events, want %d", got, syncs, events, want)
			}
		}
		second(1000, 1, usual)
		second(20, 20, usual)
		for range 3 {
			second(200, 20, usual+crowdedAdd)
		}
		second(20, 20, usual)
		second(200, 20, usual+crowdedAdd)
		time.Sleep(crowdedLasts)
		t.Setenv("GOMAXPROCS", "2")
		second(200, 20, usual)
	})
}
