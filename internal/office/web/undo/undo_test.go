package undo

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestUndo(t *testing.T) {
	one, two := Target{"shop", "one"}, Target{"shop", "two"}
	tests := map[string]struct {
		do   func(u *List, add func(...Target) string)
		want int32 // messages deleted
	}{
		"not before its time": {func(u *List, add func(...Target) string) {
			add(one)
			time.Sleep(Time - time.Millisecond)
		}, 0},
		"in its time": {func(u *List, add func(...Target) string) { add(one); time.Sleep(Time) }, 1},
		"two": {func(u *List, add func(...Target) string) {
			add(one)
			time.Sleep(time.Second)
			add(two)
			time.Sleep(Time)
		}, 2},
		"two at once": {func(u *List, add func(...Target) string) { add(one, two); time.Sleep(Time) }, 2},
		"two at once, taken back": {func(u *List, add func(...Target) string) {
			u.TakeBack(add(one, two))
			time.Sleep(2 * Time)
		}, 0},
		"asked for twice": {func(u *List, add func(...Target) string) {
			add(one)
			time.Sleep(time.Second)
			add(one, two)
			time.Sleep(2 * Time)
		}, 2},
		"asked for twice, taken back once": {func(u *List, add func(...Target) string) {
			add(one)
			time.Sleep(time.Second)
			u.TakeBack(add(one)) // the same key
			time.Sleep(2 * Time)
		}, 0},
		"taken back, and asked for again": {func(u *List, add func(...Target) string) {
			key := add(one)
			time.Sleep(Time - time.Second)
			u.TakeBack(key)
			add(one)
			time.Sleep(Time - time.Second)
		}, 0},
		"at the end":    {func(u *List, add func(...Target) string) { add(one); add(two); u.Finish() }, 2},
		"after the end": {func(u *List, add func(...Target) string) { u.Finish(); add(one); u.Finish() }, 1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var n atomic.Int32
				u := new(List)
				tt.do(u, func(targets ...Target) string {
					return u.Add(&Deed{Targets: targets, Do: func(left []Target) { n.Add(int32(len(left))) }})
				})
				synctest.Wait()
				if got := n.Load(); got != tt.want {
					t.Errorf("%d messages were deleted, want %d", got, tt.want)
				}
				u.Finish()
			})
		})
	}
}

// TestUndoHides tests that a message is hidden from its deletion until it is gone, and no longer.
func TestUndoHides(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one := Target{"shop", "one"}
		u := new(List)
		if _, ok := u.TakeBack("x"); u.Hides(one) || ok {
			t.Error("something is hidden before anything was deleted")
		}
		slow := make(chan struct{})
		key := u.Add(&Deed{Targets: []Target{one}, Do: func([]Target) { <-slow }})
		time.Sleep(Time)
		synctest.Wait()
		if _, ok := u.TakeBack(key); !u.Hides(one) || ok {
			t.Error("while it is deleted, a message is shown or can be taken back")
		}
		close(slow)
		synctest.Wait()
		if u.Hides(one) {
			t.Error("a message that could not be deleted stays hidden")
		}
		u.Finish()
	})
}
