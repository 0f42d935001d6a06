// Package life ends streams, waits and sessions that depend on a credential, once the credential is no longer valid.
//
// The keeper of credentials gives each one a Life. Handler prepares a request, and the code that finds its credential
// attaches that Life with Stand. When one of its lives ends, the context of the request and of everything that the
// request started is done, with the error that every later call gets.
package life

import (
	"context"
	"net/http"
	"sync"
	"time"
)

// Life is the validity of a credential.
type Life struct {
	until time.Time // when it ends by itself; zero: never
	late  error     // the error when it does

	mu    sync.Mutex
	why   error // it has ended
	on    map[*stander]struct{}
	timer *time.Timer // runs while a request depends on a life that ends by itself
}

// stander is notified of the end of a life.
type stander struct{ told func(why error) }

// New returns a life that continues until End.
func New() *Life { return new(Life) }

// Until returns a life that ends by itself at a time, with the error why, unless End is called before.
func Until(at time.Time, why error) *Life { return &Life{until: at.Round(0), late: why} }

// End ends the life, unless it has ended. When it returns, every context that depends on the life is done. It does not
// block.
func (l *Life) End(why error) {
	l.mu.Lock()
	if l.why != nil {
		l.mu.Unlock()
		return
	}
	l.why = why
	on := l.on
	l.on = nil
	l.stopLocked()
	l.mu.Unlock()
	for s := range on {
		s.told(why)
	}
}

// Err returns the error with which the life has ended, nil if it continues.
func (l *Life) Err() error {
	if !l.until.IsZero() && !time.Now().Before(l.until) {
		l.End(l.late)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.why
}

// Idle reports whether nothing depends on the life.
func (l *Life) Idle() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.on) == 0
}

// stand calls told when the life ends, immediately if it has, until leave is called.
func (l *Life) stand(told func(error)) (leave func()) {
	s := &stander{told}
	why := l.Err()
	if why == nil {
		l.mu.Lock()
		if why = l.why; why == nil {
			if l.on == nil {
				l.on = make(map[*stander]struct{})
			}
			l.on[s] = struct{}{}
			if l.timer == nil && !l.until.IsZero() {
				l.timer = time.AfterFunc(time.Until(l.until), func() { l.End(l.late) })
			}
		}
		l.mu.Unlock()
	}
	if why != nil {
		told(why)
		return func() {}
	}
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.on, s)
		if len(l.on) == 0 {
			l.stopLocked()
		}
	}
}

func (l *Life) stopLocked() {
	if l.timer != nil {
		l.timer.Stop()
		l.timer = nil
	}
}

// ground holds the lives of a request.
type ground struct {
	cancel context.CancelCauseFunc
	below  *ground // of the request that began this one; nil: none

	mu     sync.Mutex
	lives  []*Life
	leaves []func() // one for each life, until the request ends
	over   bool
}

// groundKey is the key of a context's *ground.
type groundKey struct{}

func groundOf(ctx context.Context) *ground {
	g, _ := ctx.Value(groundKey{}).(*ground)
	return g
}

// Begin returns a context to which Stand can attach lives, in addition to those of ctx, and a function that ends it.
func Begin(ctx context.Context) (context.Context, context.CancelFunc) {
	g := &ground{below: groundOf(ctx)}
	ctx, g.cancel = context.WithCancelCause(ctx)
	return context.WithValue(ctx, groundKey{}, g), g.leave
}

// leave ends the context. Its lives remain known, for work that continues without the request.
func (g *ground) leave() {
	g.mu.Lock()
	leaves := g.leaves
	g.leaves, g.over = nil, true
	g.mu.Unlock()
	for _, leave := range leaves {
		leave()
	}
	g.cancel(nil)
}

// Handler makes every request of next end with the lives that Stand attaches to it.
func Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, end := Begin(r.Context())
		defer end()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// Stand attaches l to the request of ctx, which ends with l, immediately if l has ended. It returns the error of l. A
// ctx that Begin did not make is not ended.
func Stand(ctx context.Context, l *Life) error {
	g := groundOf(ctx)
	if g == nil {
		return l.Err()
	}
	leave := l.stand(g.cancel)
	g.mu.Lock()
	g.lives = append(g.lives, l)
	over := g.over
	if !over {
		g.leaves = append(g.leaves, leave)
	}
	g.mu.Unlock()
	if over {
		leave()
	}
	return l.Err()
}

// Err returns the error of the first ended life of ctx, nil if none has ended.
func Err(ctx context.Context) error {
	for _, l := range under(ctx) {
		if err := l.Err(); err != nil {
			return err
		}
	}
	return nil
}

// OnEnd calls f once a life of ctx has ended, immediately if one has, until stop is called. It is for work that
// outlasts the request, such as a session that it opened. f may be called more than once, and must not block.
func OnEnd(ctx context.Context, f func(why error)) (stop func()) {
	var leaves []func()
	for _, l := range under(ctx) {
		leaves = append(leaves, l.stand(f))
	}
	return func() {
		for _, leave := range leaves {
			leave()
		}
	}
}

// under returns the lives of ctx, those of the outermost request first.
func under(ctx context.Context) []*Life { return groundOf(ctx).all() }

func (g *ground) all() []*Life {
	if g == nil {
		return nil
	}
	below := g.below.all()
	g.mu.Lock()
	defer g.mu.Unlock()
	return append(below[:len(below):len(below)], g.lives...)
}
