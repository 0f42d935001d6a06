package rooms

import (
	"os"
	"runtime"
	"sync"
	"time"
)

// crowd gives Go more processors while many write at once. The likely reason why that helps: a goroutine in an
// fdatasync keeps its processor until the runtime notices, about as long as the sync takes, so that one of two is
// idle. A single writer waits longer with more processors (docs/bench.md).
type crowd struct {
	mu    sync.Mutex
	since time.Time   // when the count began
	syncs int         // that several shared since then
	calm  *time.Timer // ends the crowd; nil: there is none
}

const (
	crowdOf       = 4  // events that a shared sync covers
	crowdedSyncs  = 20 // shared syncs within crowdedWithin
	crowdedWithin = 200 * time.Millisecond
	crowdedLasts  = 500 * time.Millisecond // without as many
	crowdedAdd    = 2                      // processors
)

// synced notes a sync that covers some events. It does nothing if GOMAXPROCS is set.
func (c *crowd) synced(events int) {
	if events < crowdOf {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); now.Sub(c.since) > crowdedWithin {
		c.since, c.syncs = now, 0
	}
	c.syncs++
	switch {
	case c.syncs != crowdedSyncs || os.Getenv("GOMAXPROCS") != "":
	case c.calm != nil:
		c.calm.Reset(crowdedLasts)
	default:
		runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + crowdedAdd)
		c.calm = time.AfterFunc(crowdedLasts, c.ended)
	}
}

func (c *crowd) ended() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calm = nil
	runtime.SetDefaultGOMAXPROCS()
}
