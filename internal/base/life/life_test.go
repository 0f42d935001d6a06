package life

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

var errVoid = errors.New("void")

// TestEnd checks that contexts that depend on a life are done when End returns, and that none can depend on it later.
func TestEnd(t *testing.T) {
	l, other := New(), New()
	ctx, over := Begin(t.Context())
	defer over()
	child, cancel := context.WithTimeout(ctx, time.Hour)
	defer cancel()
	for _, one := range []*Life{other, l} {
		if err := Stand(ctx, one); err != nil {
			t.Fatal(err)
		}
	}
	if Err(child) != nil || child.Err() != nil {
		t.Fatalf("before the end: %v, %v", Err(child), child.Err())
	}
	l.End(errVoid)
	l.End(errors.New("again"))
	if Err(child) != errVoid || context.Cause(child) != errVoid {
		t.Errorf("after the end: %v, %v", Err(child), context.Cause(child))
	}
	late, over2 := Begin(t.Context())
	defer over2()
	if err := Stand(late, l); err != errVoid || context.Cause(late) != errVoid {
		t.Errorf("standing on what has ended: %v, %v", err, context.Cause(late))
	}
	if err := Stand(t.Context(), l); err != errVoid {
		t.Errorf("outside of a request: %v", err)
	}
}

// TestOver checks that a life forgets a request that is over, and that work that outlasts the request still ends.
func TestOver(t *testing.T) {
	l := New()
	ctx, over := Begin(t.Context())
	if err := Stand(ctx, l); err != nil {
		t.Fatal(err)
	}
	var told error
	stop := OnEnd(ctx, func(why error) { told = why })
	over()
	if len(l.on) != 1 || context.Cause(ctx) != context.Canceled {
		t.Errorf("%d stand on the life, want the session; %v", len(l.on), context.Cause(ctx))
	}
	if err := Stand(ctx, New()); err != nil {
		t.Errorf("standing when the request is over: %v", err)
	}
	l.End(errVoid)
	if told != errVoid || Err(ctx) != errVoid {
		t.Errorf("the session was told %v; %v", told, Err(ctx))
	}
	stop()
	told = nil
	OnEnd(ctx, func(why error) { told = why })()
	if told != errVoid {
		t.Errorf("who asks after the end was told %v", told)
	}
}

// TestUntil checks that a life with an end ends then, without a query, and keeps no timer when nothing depends on it.
func TestUntil(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := Until(time.Now().Add(time.Hour), errVoid)
		for range 2 {
			ctx, over := Begin(t.Context())
			if err := Stand(ctx, l); err != nil || l.timer == nil {
				t.Fatalf("standing: %v, timer %v", err, l.timer)
			}
			over()
			if l.timer != nil {
				t.Error("the timer runs for nobody")
			}
		}
		ctx, over := Begin(t.Context())
		defer over()
		_ = Stand(ctx, l)
		time.Sleep(time.Hour - 1)
		if ctx.Err() != nil {
			t.Error("it ended early")
		}
		<-ctx.Done()
		if context.Cause(ctx) != errVoid || l.Err() != errVoid {
			t.Errorf("it ended with %v", context.Cause(ctx))
		}
	})
}
