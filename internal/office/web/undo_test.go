package web

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestUndo(t *testing.T) {
	one, two := target{"shop", "one"}, target{"shop", "two"}
	tests := map[string]struct {
		do   func(u *undo, add func(...target) string)
		want int32 // messages deleted
	}{
		"not before its time": {func(u *undo, add func(...target) string) {
			add(one)
			time.Sleep(undoTime - time.Millisecond)
		}, 0},
		"in its time": {func(u *undo, add func(...target) string) { add(one); time.Sleep(undoTime) }, 1},
		"two": {func(u *undo, add func(...target) string) {
			add(one)
			time.Sleep(time.Second)
			add(two)
			time.Sleep(undoTime)
		}, 2},
		"two at once": {func(u *undo, add func(...target) string) { add(one, two); time.Sleep(undoTime) }, 2},
		"two at once, taken back": {func(u *undo, add func(...target) string) {
			u.takeBack(add(one, two))
			time.Sleep(2 * undoTime)
		}, 0},
		"asked for twice": {func(u *undo, add func(...target) string) {
			add(one)
			time.Sleep(time.Second)
			add(one, two)
			time.Sleep(2 * undoTime)
		}, 2},
		"asked for twice, taken back once": {func(u *undo, add func(...target) string) {
			add(one)
			time.Sleep(time.Second)
			u.takeBack(add(one)) // it is the same
			time.Sleep(2 * undoTime)
		}, 0},
		"taken back, and asked for again": {func(u *undo, add func(...target) string) {
			key := add(one)
			time.Sleep(undoTime - time.Second)
			u.takeBack(key)
			add(one)
			time.Sleep(undoTime - time.Second)
		}, 0},
		"at the end":    {func(u *undo, add func(...target) string) { add(one); add(two); u.finish() }, 2},
		"after the end": {func(u *undo, add func(...target) string) { u.finish(); add(one); u.finish() }, 1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var n atomic.Int32
				u := new(undo)
				tt.do(u, func(targets ...target) string {
					return u.add(&deed{targets: targets, do: func(left []target) { n.Add(int32(len(left))) }})
				})
				synctest.Wait()
				if got := n.Load(); got != tt.want {
					t.Errorf("%d messages were deleted, want %d", got, tt.want)
				}
				u.finish()
			})
		})
	}
}

// TestUndoHides holds a message hidden from the moment in which the person deletes it until it is gone, and no longer.
func TestUndoHides(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one := target{"shop", "one"}
		u := new(undo)
		if _, ok := u.takeBack("x"); u.hides(one) || ok {
			t.Error("something is hidden before anything was deleted")
		}
		slow := make(chan struct{})
		key := u.add(&deed{targets: []target{one}, do: func([]target) { <-slow }})
		time.Sleep(undoTime)
		synctest.Wait()
		if _, ok := u.takeBack(key); !u.hides(one) || ok {
			t.Error("while it is deleted, a message is shown or can be taken back")
		}
		close(slow)
		synctest.Wait()
		if u.hides(one) {
			t.Error("a message that could not be deleted stays hidden")
		}
		u.finish()
	})
}
