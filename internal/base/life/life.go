// Package life ends what stands on a credential, once the credential is good no more: streams, waits and sessions.
//
// Whoever keeps credentials gives each one a Life. Handler prepares a request, and whoever finds out by which
// credential it came puts that one's life under it, with Stand. The context of the request, and of whatever comes of
// it, is done as soon as one of its lives has ended, with the error that every later call gets.
package life

import (
	"context"
	"net/http"
	"sync"
	"time"
)

// Life is how long a credential is good.
type Life struct {
	until time.Time // when it ends by itself; zero: it does not
	late  error     // what it ends with then

	mu    sync.Mutex
	why   error // it has ended
	on    map[*stander]struct{}
	timer *time.Timer // runs while somebody stands on a life that ends by itself
}

// stander is told of the end of a life.
type stander struct{ told func(why error) }

// New returns a life that goes on until End.
func New() *Life { return new(Life) }

// Until returns a life that ends by itself, with an error, if End was not called before.
func Until(at time.Time, why error) *Life { return &Life{until: at.Round(0), late: why} }

// End ends the life, unless it has ended. When it returns, every context that stands on the life is done. It does not
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

// Err returns with what the life has ended, nil if it goes on.
func (l *Life) Err() error {
	if !l.until.IsZero() && !time.Now().Before(l.until) {
		l.End(l.late)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.why
}

// Idle reports whether nothing stands on the life.
func (l *Life) Idle() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.on) == 0
}

// stand has told called when the life ends, at once if it has, until leave is called.
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

// ground is what a request stands on.
type ground struct {
	cancel context.CancelCauseFunc
	below  *ground // on which it was begun; nil: none

	mu     sync.Mutex
	lives  []*Life
	leaves []func() // one for each life, until the request is over
	over   bool
}

// groundKey is under what a context holds its *ground.
type groundKey struct{}

func groundOf(ctx context.Context) *ground {
	g, _ := ctx.Value(groundKey{}).(*ground)
	return g
}

// Begin returns a context under which lives can be put, besides those of ctx, and what ends it.
func Begin(ctx context.Context) (context.Context, context.CancelFunc) {
	g := &ground{below: groundOf(ctx)}
	ctx, g.cancel = context.WithCancelCause(ctx)
	return context.WithValue(ctx, groundKey{}, g), g.leave
}

// leave ends the context. What it stood on is still known, for what goes on without the request.
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

// Handler has every request of next stand on what Stand puts under it.
func Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, end := Begin(r.Context())
		defer end()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// Stand has the request of ctx end with l, at once if that has ended. It returns the error of that. A ctx that Begin
// did not make ends with nothing.
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

// Err returns with what the first life under ctx has ended, nil if they go on.
func Err(ctx context.Context) error {
	for _, l := range under(ctx) {
		if err := l.Err(); err != nil {
			return err
		}
	}
	return nil
}

// OnEnd calls f once a life under ctx has ended, at once if one has, until stop is called. It serves what goes on when
// the request is over, such as a session that it opened. f may be called more than once, and must not block.
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

// under returns the lives on which ctx stands, the lowest first.
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
