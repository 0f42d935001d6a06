package journaltest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"pennypost/internal/mail"
	"pennypost/internal/room/journal"
)

func testAppend(t *testing.T, b *fixture) {
	if got := b.Last(); got != 0 {
		t.Fatalf("Last of an empty journal = %d, want 0", got)
	}
	all := b.add(message(1))
	all = append(all, b.add(Samples()...)...)
	all = append(all, b.add(message(2), message(3))...)
	if got, want := b.Last(), all[len(all)-1].Seq; got != want {
		t.Errorf("Last() = %d, want %d", got, want)
	}
	b.want(0, all)
}

func testAppendNothing(t *testing.T, b *fixture) {
	for range 2 {
		if got, err := b.Append(b.context()); got != b.Last() || err != nil {
			t.Errorf("Append of nothing = %d, %v, want %d, nil", got, err, b.Last())
		}
		b.add(message(1))
	}
}

func testAppendAfter(t *testing.T, b *fixture) {
	j, ok := b.Journal.(journal.AfterAppender)
	if !ok {
		t.Skip("this journal has one writer")
	}
	all := b.add(message(1), message(2))
	last := b.Last()
	for _, after := range []mail.Seq{0, last - 1, last + 1} {
		if _, ok, err := j.AppendAfter(b.context(), after, message(3)); ok || err != nil {
			t.Errorf("AppendAfter %d, the last being %d, = %v, %v; want no", after, last, ok, err)
		}
	}
	place, ok, err := j.AppendAfter(b.context(), last, message(4))
	if place <= last || !ok || err != nil {
		t.Fatalf("AppendAfter the last, %d, = %d, %v, %v; want it done", last, place, ok, err)
	}
	e := message(4)
	e.Seq = place
	b.want(0, append(all, e))
}

// An event that cannot be written must be refused whole, or be written so that it reads back the same.
func testAppendRefused(t *testing.T, b *fixture) {
	all := b.add(message(1))
	odd := func(change func(*mail.Event)) mail.Event {
		e := message(2)
		change(&e)
		return e
	}
	for i, e := range []mail.Event{
		odd(func(e *mail.Event) { e.Message.Body = "\xff" }),
		odd(func(e *mail.Event) { e.Message.ID = "\xc3" }),
		odd(func(e *mail.Event) { e.Message.To[0] = "\x80" }),
		odd(func(e *mail.Event) { e.At = 253402300800000 }),
		odd(func(e *mail.Event) { e.Message.Sent = -62135596800001 }),
		odd(func(e *mail.Event) { e.Message.Metadata = mail.Metadata(`{"a":1,"a":2}`) }),
		odd(func(e *mail.Event) { e.Message.Metadata = mail.Metadata(`{"a":`) }),
		odd(func(e *mail.Event) { e.Message.Metadata = mail.Metadata("{\"a\":\"\n\"}") }),
		odd(func(e *mail.Event) { e.Message.Metadata = mail.Metadata(`[]`) }),
		{Checkpoint: &mail.Checkpoint{Trimmed: []mail.ID{"\xff"}}},
		{Checkpoint: &mail.Checkpoint{Agents: []mail.AgentRecord{{Since: 253402300800000}}}},
	} {
		// The good neighbours must not get in either.
		if last, err := b.Append(b.context(), message(3), e, message(4)); err == nil {
			e3, e4 := message(3), message(4)
			e3.Seq, e.Seq, e4.Seq = last-2, last-1, last
			all = append(all, e3, e, e4)
		} else if got := b.Last(); got != all[len(all)-1].Seq {
			t.Errorf("event %d was refused (%v), but Last() = %d, want %d", i, err, got, all[len(all)-1].Seq)
		}
	}
	all = append(all, b.add(message(5))...)
	b.reopen()
	b.want(0, all)
}

func testReopen(t *testing.T, b *fixture) {
	b.reopen()
	var all []mail.Event
	for i := range 5 {
		all = append(all, b.add(messages(i*10, i*10+i+1)...)...)
		all = append(all, b.add(Samples()...)...)
		b.reopen()
		if got, want := b.Last(), all[len(all)-1].Seq; got != want {
			t.Fatalf("Last() after reopening = %d, want %d", got, want)
		}
		b.want(0, all)
	}
}

// Metadata comes from outside and may have any layout that JSON allows.
func testLiveEqualsReplay(t *testing.T, b *fixture) {
	live := b.Follow(0)
	defer live.Close()
	events := Samples()
	for _, metadata := range []string{"{\r\n\t\"a\": [1,\n2],\n \"b\": \"\\n\"}", " {} ", "{}", "",
		`{"a":"é\ud83d\udcee"}`} {
		e := message(1)
		e.Message.Metadata = mail.Metadata(metadata)
		events = append(events, e)
	}
	mine := slices.Clone(events)
	if _, err := b.Append(b.context(), mine...); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(mine, events) { // the caller may want to send them elsewhere too
		t.Error("Append changed the slice it was given")
	}
	seen := b.take(live, len(events))
	b.reopen()
	b.want(0, seen)
}

func testConcurrentWriters(t *testing.T, b *fixture) {
	const writers, appends, most = 16, 30, 4
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range appends {
				var events []mail.Event
				for part := range i%most + 1 {
					e := message(part)
					e.Message.Subject, e.Message.Key = fmt.Sprint(i), fmt.Sprint(w)
					events = append(events, e)
				}
				if last, err := b.Append(b.context(), events...); err != nil || b.Last() < last {
					t.Errorf("Append = %d, %v while Last() = %d", last, err, b.Last())
				}
			}
		})
	}
	wg.Wait()
	total := 0
	for i := range appends {
		total += writers * (i%most + 1)
	}
	b.reopen()
	c := b.Follow(0)
	defer c.Close()
	done := make([]int, writers) // appends seen of each writer
	for events := b.take(c, total); len(events) > 0; {
		e := events[0]
		var w, i int
		fmt.Sscan(e.Message.Key, &w)
		fmt.Sscan(e.Message.Subject, &i)
		if i != done[w] {
			t.Fatalf("writer %d: append %d comes where append %d should", w, i, done[w])
		}
		done[w]++
		for part := range i%most + 1 {
			got := events[part]
			if got.Message.Key != e.Message.Key || got.Message.ID != id(part) || got.Seq != e.Seq+mail.Seq(part) {
				t.Fatalf("writer %d: append %d is not adjacent: %d parts in, %v at %d", w, i, part, got.Message.ID,
					got.Seq)
			}
		}
		events = events[i%most+1:]
	}
}

func testCancel(t *testing.T, b *fixture) {
	all := b.add(message(1))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := b.Append(ctx, message(2)); !errors.Is(err, context.Canceled) {
		t.Errorf("Append with an ended context: %v, want %v", err, context.Canceled)
	}
	// Many at the same time, with contexts that end at any moment: an event whose Append failed must not be found.
	var mu sync.Mutex
	told := make(map[mail.ID]mail.Seq)
	var wg sync.WaitGroup
	for w := range 32 {
		wg.Go(func() {
			for i := range 20 {
				ctx, cancel := context.WithCancel(context.Background())
				go cancel()
				e := message(1000 + w*100 + i)
				seq, err := b.Append(ctx, e)
				cancel()
				mu.Lock()
				if err == nil {
					told[e.Message.ID] = seq
				} else if !errors.Is(err, context.Canceled) {
					t.Errorf("Append: %v, want %v", err, context.Canceled)
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	b.reopen()
	c := b.Follow(all[0].Seq)
	defer c.Close()
	if len(told) == 0 {
		b.wantNothing(c)
		return
	}
	for _, e := range b.take(c, len(told)) {
		if told[e.Message.ID] != e.Seq {
			t.Errorf("%s stands at %d, but its sender was told %d", e.Message.ID, e.Seq, told[e.Message.ID])
		}
	}
	b.wantNothing(c)
}
