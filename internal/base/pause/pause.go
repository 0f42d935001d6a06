// Package pause has waits that a context ends.
package pause

import (
	"context"
	"time"
)

// For waits for d. It returns false immediately if ctx ends before.
func For(ctx context.Context, d time.Duration) bool { return Nudge(nil).Await(ctx, d) }

// Nudge tells one goroutine, which receives from it, that there is work, however often it is given.
type Nudge chan struct{}

// NewNudge returns a nudge that was not given.
func NewNudge() Nudge { return make(Nudge, 1) }

// Give tells the goroutine, unless a nudge is pending. It does not block.
func (n Nudge) Give() {
	select {
	case n <- struct{}{}:
	default:
	}
}

// Await waits until the nudge is given or for d. It returns false immediately if ctx ends before.
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
