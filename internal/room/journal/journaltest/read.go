package journaltest

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"pennypost/internal/mail"
	"pennypost/internal/room/journal"
)

// wantRead fails the test unless Read returns exactly these events.
func (b *fixture) wantRead(events []mail.Event, seqs ...mail.Seq) {
	b.Helper()
	got, err := b.Read(b.context(), seqs...)
	if err != nil {
		b.Fatalf("Read(%d) = %v", seqs, err)
	}
	if diff := cmp.Diff(events, got, cmpopts.EquateEmpty()); diff != "" {
		b.Fatalf("Read(%d) differs (-want +got):\n%s", seqs, diff)
	}
}

func testRead(t *testing.T, b *fixture) {
	all := b.add(append(messages(0, 500), Samples()...)...)
	every := make([]mail.Seq, len(all))
	for i, e := range all {
		every[i] = e.Seq
	}
	for range 2 {
		b.wantRead(all, every...)
		for _, e := range all {
			b.wantRead([]mail.Event{e}, e.Seq)
		}
		b.wantRead([]mail.Event{all[2], all[400], all[499]}, 500, 3, 401, 3, 3)
		b.wantRead(nil)
		b.wantRead(all[:1], 0, 1, b.Last()+1, math.MaxUint64)
		b.reopen()
	}
	more := b.add(message(501)) // everything before it is older than the journal's opening
	b.wantRead([]mail.Event{all[7], more[0]}, 8, more[0].Seq)

	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := b.Read(ctx, 1, 500); !errors.Is(err, context.Canceled) {
		t.Errorf("Read with an ended context: %v, want %v", err, context.Canceled)
	}
	b.Journal.Close()
	if _, err := b.Read(b.context(), 1); !errors.Is(err, journal.ErrClosed) {
		t.Errorf("Read of a closed journal: %v, want %v", err, journal.ErrClosed)
	}
}

// Archived, dropped and erased events are not returned, and all others are.
func testReadCompacted(t *testing.T, b *fixture) {
	all := b.add(mixed(0, 300)...)
	b.compact()
	all = append(all, b.add(mixed(300, 400)...)...)
	b.erase(6, 1)
	b.erase(399, 1) // the last one
	kept, _ := sorted(all[:300])
	kept = append(kept, all[300:399]...) // no compaction has seen these
	for range 2 {
		for _, e := range kept {
			if !about(6)(e) {
				b.wantRead([]mail.Event{e}, e.Seq)
			}
		}
		b.wantRead(nil, all[1].Seq, all[2].Seq, all[6].Seq, all[399].Seq)
		b.reopen()
	}
}

// Readers see whole events with the right sequence numbers, all that were not removed, and none erased before the
// read.
func testReadBesideCompaction(t *testing.T, b *fixture) {
	const n = 600
	all := b.add(mixed(0, n)...)
	var erased [n]atomic.Bool
	var done atomic.Bool
	var readers sync.WaitGroup
	for r := range 3 {
		rnd := rand.New(rand.NewPCG(13, uint64(r)))
		readers.Go(func() {
			for !done.Load() && !t.Failed() {
				gone := make(map[mail.Seq]bool)
				var seqs []mail.Seq
				for range 20 {
					i := rnd.IntN(n)
					seqs = append(seqs, all[i].Seq)
					gone[all[i].Seq] = erased[i].Load()
				}
				b.checkRead(all, seqs, gone)
			}
		})
	}
	for i := 0; i < 60; i += 3 {
		b.erase(i, 1)
		erased[i].Store(true)
		b.add(message(n + i))
		b.compact()
	}
	done.Store(true)
	readers.Wait()
}

// checkRead reads seqs. Those in gone were erased, and those of the first sixty messages may be erased at any time.
func (b *fixture) checkRead(all []mail.Event, seqs []mail.Seq, gone map[mail.Seq]bool) {
	got, err := b.Read(b.context(), seqs...)
	if err != nil {
		b.Errorf("Read = %v", err)
	}
	there := make(map[mail.Seq]bool)
	for _, e := range got {
		there[e.Seq] = true
		if diff := cmp.Diff(all[e.Seq-1], e); diff != "" {
			b.Errorf("Read differs at %d (-want +got):\n%s", e.Seq, diff)
		}
		if gone[e.Seq] {
			b.Errorf("Read returned %d, which was erased before", e.Seq)
		}
	}
	for _, seq := range seqs {
		if !there[seq] && seq > 60 && fateBySubject(all[seq-1]) == journal.Keep {
			b.Errorf("Read did not return %d, which is kept", seq)
		}
	}
}

// A replay returns the same events as Follow, without texts, and continues live. Its events are valid until the next
// call.
func testReplay(t *testing.T, b *fixture) {
	_, ok := b.Journal.(journal.Replayer)
	if !ok {
		t.Skip("this journal cannot be read for the headers alone")
	}
	var all []mail.Event
	for n := range 5 { // more than one read returns
		all = append(all, b.add(append(messages(1000*n, 1000*n+1000), Samples()...)...)...)
	}
	long := message(5000)
	long.Message.Body = strings.Repeat("ä\n", mail.MaxBody)
	all = append(all, b.add(long)...)
	b.reopen()
	j := b.Journal.(journal.Replayer)
	c := j.Replay()
	defer c.Close()
	left := all
	check := func() {
		t.Helper()
		events, err := c.Next(b.context())
		if err != nil {
			t.Fatal(err)
		}
		for i, e := range events {
			if len(left) == 0 {
				t.Fatalf("Replay returned %d, which is too much", e.Seq)
			}
			if diff := cmp.Diff(headerOf(left[0]), headerOf(e)); diff != "" {
				t.Fatalf("Replay differs at %d, event %d of a part (-want +got):\n%s", e.Seq, i, diff)
			}
			left = left[1:]
		}
	}
	for len(left) > 0 {
		check()
	}
	left = b.add(message(6000))
	check()
	b.wantNothing(c)
}

// headerOf returns e without its texts, except for the length of the body.
func headerOf(e mail.Event) mail.Event {
	if e.Message != nil {
		m := *e.Message
		m.Body, m.Subject, m.Docs = strings.Repeat(" ", len(m.Body)), "", nil
		e.Message = &m
	}
	return e
}
