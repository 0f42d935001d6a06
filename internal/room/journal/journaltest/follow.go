package journaltest

import (
	"context"
	"errors"
	"math"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pennypost/internal/mail"
	"pennypost/internal/room/journal"
)

func testFollowReplayThenLive(t *testing.T, b *fixture) {
	all := b.add(messages(0, 50)...)
	b.reopen()
	all = append(all, b.add(messages(50, 60)...)...)
	c := b.Follow(0)
	defer c.Close()
	got := b.take(c, 60)
	for i := 60; i < 70; i++ {
		all = append(all, b.add(message(i))...)
		got = append(got, b.take(c, 1)...)
	}
	if diff := cmp.Diff(all, got); diff != "" {
		t.Errorf("a cursor that replays and goes on live differs (-want +got):\n%s", diff)
	}
	// Most likely the cursor waits here.
	go func() { _, _ = b.Append(context.Background(), message(70)) }()
	if e := b.take(c, 1)[0]; e.Message.ID != id(70) {
		t.Errorf("the waiting cursor got %s, want %s", e.Message.ID, id(70))
	}
}

func testFollowFrom(t *testing.T, b *fixture) {
	all := b.add(messages(0, 20)...)
	for range 2 {
		for after := range all {
			b.want(mail.Seq(after), all[after:])
		}
		b.want(b.Last(), nil)
		b.want(math.MaxUint64, nil)
		b.reopen()
	}
	// From a sequence number not assigned yet: only later events are seen.
	c := b.Follow(b.Last() + 2)
	defer c.Close()
	b.add(message(20), message(21))
	b.wantNothing(c)
	want := b.add(message(22))
	if diff := cmp.Diff(want, b.take(c, 1)); diff != "" {
		t.Errorf("Follow of a place to come differs (-want +got):\n%s", diff)
	}
}

func testFollowManyDuringAppends(t *testing.T, b *fixture) {
	const writers, each, followers = 8, 40, 8
	b.add(messages(0, 100)...)
	b.reopen()
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				if _, err := b.Append(b.context(), message(w*each+i)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for f := range followers {
		wg.Go(func() {
			after := mail.Seq(f * 10)
			c := b.Follow(after)
			defer c.Close()
			for want := after + 1; want <= 100+writers*each; {
				events, err := c.Next(b.context())
				if err != nil {
					t.Errorf("Next: %v", err)
					return
				}
				for _, e := range events {
					if e.Seq != want {
						t.Errorf("follower %d got %d, want %d", f, e.Seq, want)
						return
					}
					want++
				}
				if last := b.Last(); last < want-1 {
					t.Errorf("follower %d saw %d while the last durable event was %d", f, want-1, last)
				}
			}
		})
	}
	wg.Wait()
}

func testNextEndsWithContext(t *testing.T, b *fixture) {
	c := b.Follow(0)
	defer c.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	if _, err := c.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Next = %v, want %v", err, context.DeadlineExceeded)
	}
	// The cursor continues where it was.
	want := b.add(message(1))
	if diff := cmp.Diff(want, b.take(c, 1)); diff != "" {
		t.Errorf("after a cancelled Next (-want +got):\n%s", diff)
	}
}

func testClose(t *testing.T, b *fixture) {
	b.add(message(1))
	live, idle, closed := b.Follow(1), b.Follow(0), b.Follow(1)
	if err := closed.Close(); err != nil {
		t.Errorf("closing a cursor: %v", err)
	}
	if _, err := closed.Next(b.context()); !errors.Is(err, journal.ErrClosed) {
		t.Errorf("Next of a closed cursor: %v, want %v", err, journal.ErrClosed)
	}
	woken := make(chan error)
	go func() {
		_, err := live.Next(b.context())
		woken <- err
	}()
	runtime.Gosched()
	if err := b.Journal.Close(); err != nil {
		t.Fatalf("Close() = %v", err)
	}
	if err := <-woken; !errors.Is(err, journal.ErrClosed) {
		t.Errorf("Next that waited while the journal was closed: %v, want %v", err, journal.ErrClosed)
	}
	if _, err := b.Append(b.context(), message(2)); !errors.Is(err, journal.ErrClosed) {
		t.Errorf("Append to a closed journal: %v, want %v", err, journal.ErrClosed)
	}
	for name, c := range map[string]journal.Cursor{"old": idle, "new": b.Follow(0)} {
		if _, err := c.Next(b.context()); !errors.Is(err, journal.ErrClosed) {
			t.Errorf("Next of an %s cursor on a closed journal: %v, want %v", name, err, journal.ErrClosed)
		}
		if err := c.Close(); err != nil {
			t.Errorf("closing an %s cursor on a closed journal: %v", name, err)
		}
	}
	live.Close()
	if c, ok := b.Journal.(journal.Compacter); ok {
		keep := func(mail.Event) journal.Fate { return journal.Keep }
		if err := c.Compact(b.context(), keep); !errors.Is(err, journal.ErrClosed) {
			t.Errorf("Compact of a closed journal: %v, want %v", err, journal.ErrClosed)
		}
	}
	if err := b.Journal.Close(); err != nil {
		t.Errorf("closing again: %v", err)
	}
	if got := b.Last(); got != 1 {
		t.Errorf("Last() of a closed journal = %d, want 1", got)
	}
}

func testCloseWaitsForAppends(t *testing.T, b *fixture) {
	var mu sync.Mutex
	told := make(map[mail.Seq]mail.ID)
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := 0; ; i++ {
				e := message(w*10000 + i)
				seq, err := b.Append(b.context(), e)
				if err != nil {
					if !errors.Is(err, journal.ErrClosed) {
						t.Errorf("Append while the journal is closed: %v, want %v", err, journal.ErrClosed)
					}
					return
				}
				mu.Lock()
				told[seq] = e.Message.ID
				mu.Unlock()
			}
		})
	}
	for b.Last() < 100 {
		runtime.Gosched()
	}
	if err := b.Journal.Close(); err != nil {
		t.Fatalf("Close() = %v", err)
	}
	wg.Wait()
	b.reopen()
	c := b.Follow(0)
	defer c.Close()
	for _, e := range b.take(c, len(told)) {
		if told[e.Seq] != e.Message.ID {
			t.Errorf("at %d stands %s, but its sender was told of %s", e.Seq, e.Message.ID, told[e.Seq])
		}
	}
	b.wantNothing(c)
}
