package jetstream_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"pennypost/internal/mail"
	"pennypost/internal/room/journal"
	"pennypost/internal/room/journal/jetstream"
	"pennypost/internal/room/journal/jetstream/natstest"
)

// told records what senders were told about their notes.
type told struct {
	mu      sync.Mutex
	stored  map[string]mail.Seq // sequence number by body
	refused map[string]bool     // nothing was stored
	unknown map[string]bool
}

func newTold() *told {
	return &told{stored: make(map[string]mail.Seq), refused: make(map[string]bool), unknown: make(map[string]bool)}
}

// count returns how many notes were stored.
func (o *told) count() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.stored)
}

// send appends some notes in one call and records what the sender is told.
func (o *told) send(t *testing.T, j *jetstream.Journal, texts ...string) error {
	events := make([]mail.Event, len(texts))
	for i, text := range texts {
		events[i] = note(text)
	}
	began := time.Now()
	last, err := j.Append(context.Background(), events...)
	if took := time.Since(began); took > 5*time.Second { // two, and a margin for a busy machine
		t.Errorf("Append took %v", took)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for i, text := range texts {
		switch {
		case err == nil:
			o.stored[text] = last - mail.Seq(len(texts)-1-i)
		case mail.CodeOf(err) != mail.Unavailable:
			t.Errorf("Append: %v", err)
		case errors.Is(err, journal.ErrUnknown):
			o.unknown[text] = true
		default:
			o.refused[text] = true
		}
	}
	return err
}

// check fails the test unless events agree with what senders were told.
func (o *told) check(t *testing.T, events []mail.Event) {
	t.Helper()
	count := bodies(events)
	for _, e := range events {
		if at, ok := o.stored[e.Message.Body]; ok && at != e.Seq {
			t.Errorf("%s stands at %d, but its sender was told %d", e.Message.Body, e.Seq, at)
		}
	}
	for text := range o.stored {
		if count[text] != 1 {
			t.Errorf("%s was stored, and is there %d times", text, count[text])
		}
	}
	for text := range o.refused {
		if count[text] != 0 {
			t.Errorf("nothing of %s was stored, and it is there", text)
		}
	}
	for text := range o.unknown {
		if count[text] > 1 {
			t.Errorf("%s is there %d times", text, count[text])
		}
	}
	t.Logf("stored %d, refused %d, unknown %d", len(o.stored), len(o.refused), len(o.unknown))
}

// Post offices on several machines write to one stream, each several events at the same time: all have them in one
// order, each once, and the events of one call are adjacent.
func TestManyMachines(t *testing.T) {
	const machines, writers, each = 3, 4, 25
	var journals []*jetstream.Journal
	for range machines {
		journals = append(journals, open(t, connect(t, shared(t).URLs()), "many", t.TempDir()))
	}
	told := newTold()
	var writing sync.WaitGroup
	for m, j := range journals {
		for w := range writers {
			writing.Go(func() {
				for i := range each {
					var texts []string
					for part := range i%3 + 1 {
						texts = append(texts, fmt.Sprint(m, "-", w, "-", i, "-", part))
					}
					if err := told.send(t, j, texts...); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	writing.Wait()
	n := len(told.stored)
	got := all(t, journals[0], n)
	for _, j := range journals[1:] {
		if diff := cmp.Diff(got, all(t, j, n)); diff != "" {
			t.Errorf("a machine has other events (-first +this):\n%s", diff)
		}
	}
	told.check(t, got)
	if _, ok, err := journals[0].AppendAfter(t.Context(), mail.Seq(n-1), note("late")); ok || err != nil {
		t.Errorf("AppendAfter(%d) = %v, %v, though there are %d", n-1, ok, err, n)
	}
	if at, ok, err := journals[1].AppendAfter(t.Context(), mail.Seq(n), note("behind")); at != mail.Seq(n+1) || !ok ||
		err != nil {
		t.Errorf("AppendAfter(%d) = %d, %v, %v", n, at, ok, err)
	}
}

// TestBehindWhileOthersWrite checks that an event for directly after another is stored there or nowhere, even if
// others append all the time: a checkpoint elsewhere would be ignored.
func TestBehindWhileOthersWrite(t *testing.T) {
	writer, other := openAlone(t, "busy"), openAlone(t, "busy")
	began := writer.Last()
	ctx, stop := context.WithCancel(t.Context())
	var writing sync.WaitGroup
	defer writing.Wait()
	defer stop()
	for range 3 {
		writing.Go(func() {
			for ctx.Err() == nil {
				_, _ = other.Append(ctx, note("between"))
				time.Sleep(time.Duration(rand.IntN(10)) * time.Millisecond)
			}
		})
	}
	var taken []mail.Seq
	asked := 0
	for until := time.Now().Add(3 * time.Second); time.Now().Before(until); {
		asked++
		after := writer.Last()
		at, ok, err := writer.AppendAfter(ctx, after, note("behind"))
		if err != nil {
			t.Fatal(err)
		}
		if ok && at != after+1 {
			t.Fatalf("AppendAfter(%d) is at %d, and says that nothing is between", after, at)
		}
		if ok {
			taken = append(taken, at)
		}
	}
	stop()
	writing.Wait()
	end, err := writer.Append(t.Context(), note("end"))
	if err != nil {
		t.Fatal(err)
	}
	var stored []mail.Seq
	for _, e := range all(t, writer, int(end)) {
		if e.Seq > began && e.Message != nil && e.Message.Body == "behind" {
			stored = append(stored, e.Seq)
		}
	}
	if diff := cmp.Diff(taken, stored); diff != "" {
		t.Errorf("stored (-said +there):\n%s", diff)
	}
	if t.Logf("%d of %d were taken", len(taken), asked); len(taken) == 0 {
		t.Error("nothing was taken")
	}
}

func openAlone(t *testing.T, room string) *jetstream.Journal {
	t.Helper()
	return open(t, connect(t, shared(t).URLs()), room, t.TempDir())
}

// An event that is larger than the servers' limit is packed, and one that is too large even then is refused.
func TestLargeEvents(t *testing.T) {
	c := connect(t, shared(t).URLs())
	j, far := open(t, c, "large", t.TempDir()), open(t, c, "large", t.TempDir())
	large := &mail.Checkpoint{}
	for i := range 100_000 {
		large.Trimmed = append(large.Trimmed, mail.ID(fmt.Sprint("msg_of_some_length_", i)))
	}
	if _, err := j.Append(t.Context(), mail.Event{At: 1, Checkpoint: large}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(large, all(t, far, 1)[0].Checkpoint); diff != "" {
		t.Errorf("a large checkpoint differs on another machine (-want +got):\n%s", diff)
	}
	v, err := far.Verify(t.Context())
	verify(t, v, err)
	rnd := rand.New(rand.NewPCG(16, 2))
	for i := range large.Trimmed { // does not compress
		large.Trimmed[i] = mail.ID(fmt.Sprintf("%x%x", rnd.Uint64(), rnd.Uint64()))
	}
	_, err = j.Append(t.Context(), mail.Event{At: 1, Checkpoint: large})
	if mail.CodeOf(err) != mail.TooLarge || errors.Is(err, journal.ErrUnknown) {
		t.Errorf("Append of what is too large: %v", err)
	}
}

// Answers of the servers and connections are lost. What senders were told is true, however often an event was sent.
func TestLostAcknowledgements(t *testing.T) {
	p := natstest.NewLink(t, shared(t).Servers[0].Client)
	j := open(t, connect(t, []string{p.URL()}), "acks", t.TempDir())
	told := newTold()
	ctx, cancel := context.WithCancel(t.Context())
	var writing sync.WaitGroup
	for w := range 4 {
		writing.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				var texts []string
				for part := range i%3 + 1 {
					texts = append(texts, fmt.Sprint(w, "-", i, "-", part))
				}
				if told.send(t, j, texts...) != nil {
					time.Sleep(10 * time.Millisecond) // like a sender that retries
				}
			}
		})
	}
	rnd := rand.New(rand.NewPCG(16, 1))
	for round := 0; round < 8 || told.count() < 20 && round < 200; round++ { // a busy machine stores little in 8
		time.Sleep(time.Duration(rnd.IntN(200)) * time.Millisecond)
		p.Lose(true)
		time.Sleep(time.Duration(rnd.IntN(150)) * time.Millisecond)
		p.Cut()
	}
	cancel()
	writing.Wait()
	eventually(t, func() error { return told.send(t, j, fmt.Sprint("last", time.Now())) })
	other := open(t, connect(t, shared(t).URLs()), "acks", t.TempDir())
	n := int(other.Last())
	got := all(t, other, n)
	if diff := cmp.Diff(got, all(t, j, n)); diff != "" {
		t.Errorf("the machine that was cut off has other events (-want +got):\n%s", diff)
	}
	told.check(t, got)
	if len(told.stored) < 20 {
		t.Errorf("only %d notes were stored", len(told.stored))
	}
}

// The leader of the room is killed while machines send and follow: no acknowledged event is lost or duplicated.
// Without servers nothing is stored, the copy can be read, and the room recovers by itself.
func TestLeaderKilled(t *testing.T) {
	t.Parallel()
	servers := natstest.Start(t, 3, natstest.Options{})
	a, b := connect(t, servers.URLs()), connect(t, servers.URLs())
	dir := t.TempDir()
	j, far := open(t, a, "leader", t.TempDir()), open(t, b, "leader", dir)
	told := newTold()
	ctx, cancel := context.WithCancel(t.Context())
	var writing sync.WaitGroup
	for w, j := range []*jetstream.Journal{j, j, far} {
		writing.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				_ = told.send(t, j, fmt.Sprint(w, "-", i))
				time.Sleep(2 * time.Millisecond)
			}
		})
	}
	time.Sleep(300 * time.Millisecond)
	leader := leaderOf(t, b, "pennypost_shard_1")
	for _, s := range servers.Servers {
		if s.Name == leader {
			s.Kill()
			eventually(t, func() error { return told.send(t, j, fmt.Sprint("again", time.Now())) })
			eventually(t, s.Start)
		}
	}
	time.Sleep(300 * time.Millisecond)
	cancel()
	writing.Wait()
	eventually(t, func() error { return told.send(t, far, fmt.Sprint("last", time.Now())) })
	n := int(far.Last())
	got := all(t, far, n)
	if diff := cmp.Diff(got, all(t, j, n)); diff != "" {
		t.Errorf("a machine has other events (-want +got):\n%s", diff)
	}
	told.check(t, got)

	servers.Stop()
	far.Close()
	far = open(t, b, "leader", dir)
	if diff := cmp.Diff(got, all(t, far, n)); diff != "" {
		t.Errorf("opened without servers (-want +got):\n%s", diff)
	}
	eventually(t, func() error {
		if b.Trouble() == nil {
			return errors.New("the servers are said to answer")
		}
		return nil
	})
	if err := told.send(t, far, "without"); err == nil || errors.Is(err, journal.ErrUnknown) {
		t.Errorf("Append without servers: %v, want that nothing was stored", err)
	}
	start(t, servers)
	eventually(t, func() error { return told.send(t, far, fmt.Sprint("back", time.Now())) })
	told.check(t, all(t, far, int(far.Last())))
}

func leaderOf(t *testing.T, c *jetstream.Cluster, stream string) string {
	js, err := natsjs.New(c.Conn())
	if err != nil {
		t.Fatal(err)
	}
	s, err := js.Stream(t.Context(), stream)
	if err != nil {
		t.Fatal(err)
	}
	return s.CachedInfo().Cluster.Leader
}
