// Package pause has waits that a context ends.
package pause

import (
	"context"
	"time"
)

// For waits until d is over. It reports false, at once, if ctx ends before.
func For(ctx context.Context, d time.Duration) bool { return Nudge(nil).Await(ctx, d) }

// Nudge tells one goroutine, which receives from it, that there is something to do, however often it was told so.
type Nudge chan struct{}

// NewNudge returns a nudge that was not given.
func NewNudge() Nudge { return make(Nudge, 1) }

// Give tells the goroutine, unless it was told and has not looked yet. It does not block.
func (n Nudge) Give() {
	select {
	case n <- struct{}{}:
	default:
	}
}

// Await waits until the nudge is given or d is over. It reports false, at once, if ctx ends before.
func (n Nudge) Await(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-n:
	case <-timer.C:
	case <-ctx.Done():
		return false
	}
	return true
}
