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
		do   func(u *undo, add func(target))
		want int32 // deletions carried out
	}{
		"not before its time": {func(u *undo, add func(target)) {
			add(one)
			time.Sleep(undoTime - time.Millisecond)
		}, 0},
		"in its time": {func(u *undo, add func(target)) { add(one); time.Sleep(undoTime) }, 1},
		"two": {func(u *undo, add func(target)) {
			add(one)
			time.Sleep(time.Second)
			add(two)
			time.Sleep(undoTime)
		}, 2},
		"asked for twice": {func(u *undo, add func(target)) {
			add(one)
			time.Sleep(time.Second)
			add(one)
			time.Sleep(2 * undoTime)
		}, 1},
		"taken back": {func(u *undo, add func(target)) {
			add(one)
			u.takeBack(one)
			time.Sleep(2 * undoTime)
		}, 0},
		"taken back, and asked for again": {func(u *undo, add func(target)) {
			add(one)
			time.Sleep(undoTime - time.Second)
			u.takeBack(one)
			add(one)
			time.Sleep(undoTime - time.Second)
		}, 0},
		"at the end":    {func(u *undo, add func(target)) { add(one); add(two); u.finish() }, 2},
		"after the end": {func(u *undo, add func(target)) { u.finish(); add(one); u.finish() }, 1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var n atomic.Int32
				u := new(undo)
				tt.do(u, func(t target) { u.later(t, func() { n.Add(1) }) })
				synctest.Wait()
				if got := n.Load(); got != tt.want {
					t.Errorf("%d deletions were carried out, want %d", got, tt.want)
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
		if u.hides(one) || u.takeBack(one) {
			t.Error("something is hidden before anything was deleted")
		}
		slow := make(chan struct{})
		u.later(one, func() { <-slow })
		time.Sleep(undoTime)
		synctest.Wait()
		if !u.hides(one) || u.takeBack(one) {
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
