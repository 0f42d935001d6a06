package pause

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if !For(t.Context(), time.Hour) || time.Since(began) != time.Hour {
			t.Errorf("For(1h) was over after %v", time.Since(began))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if began = time.Now(); For(ctx, time.Hour) || time.Since(began) != time.Minute {
			t.Errorf("For(1h) was over after %v, want it to end with its context", time.Since(began))
		}
	})
}

func TestNudge(t *testing.T) {
	n := NewNudge()
	n.Give()
	n.Give()
	<-n
	select {
	case <-n:
		t.Error("what was given twice before somebody looked is told twice")
	default:
	}
	n.Give()
	<-n
}

func TestAwait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, began := NewNudge(), time.Now()
		if !n.Await(t.Context(), time.Hour) || time.Since(began) != time.Hour {
			t.Errorf("Await(1h) was over after %v", time.Since(began))
		}
		time.AfterFunc(time.Minute, n.Give)
		if began = time.Now(); !n.Await(t.Context(), time.Hour) || time.Since(began) != time.Minute {
			t.Errorf("Await(1h) was over after %v, want it to end with the nudge", time.Since(began))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if began = time.Now(); n.Await(ctx, time.Hour) || time.Since(began) != time.Minute {
			t.Errorf("Await(1h) was over after %v, want it to end with its context", time.Since(began))
		}
	})
}
