package drive

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
)

// Each calls do for 0 to n-1, some at the same time, until one fails.
func Each(ctx context.Context, workers, n int, do func(context.Context, int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var running sync.WaitGroup
	var failed error
	var once sync.Once
	for range workers {
		running.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				if err := do(ctx, i); err != nil {
					once.Do(func() { failed = fmt.Errorf("at %d: %w", i, err) })
					cancel(err)
				}
			}
		})
	}
	running.Wait()
	if failed == nil {
		return context.Cause(ctx)
	}
	return failed
}
