package jetstream

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestAsksAgain checks that servers that do not answer, as for a stream without a leader yet, are soon asked again:
// otherwise the first rooms of a cluster could not be created at the same time. An answer ends it, and so does the
// caller's timeout.
func TestAsksAgain(t *testing.T) {
	refused := errors.New("refused")
	for _, c := range []struct {
		name   string
		silent int // how often no answer comes
		answer error
		want   error
		asks   int
		within time.Duration
	}{
		{name: "at once", asks: 1},
		{name: "of a stream that is being made", silent: 2, asks: 3, within: time.Second},
		{name: "refused", silent: 1, answer: refused, want: refused, asks: 2, within: time.Second},
		{name: "never", silent: 100, want: context.DeadlineExceeded, asks: 4, within: patience},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				began, asks := time.Now(), 0
				_, err := again(ctx, func(ctx context.Context) (int, error) {
					if asks++; asks <= c.silent {
						<-ctx.Done()
						return 0, ctx.Err()
					}
					return 1, c.answer
				})
				if !errors.Is(err, c.want) || asks != c.asks || time.Since(began) > c.within {
					t.Errorf("%d asks in %v, %v; want %d within %v, %v", asks, time.Since(began), err, c.asks,
						c.within, c.want)
				}
			})
		})
	}
}
