package jetstream

import (
	"errors"
	"fmt"
	"testing"

	"pennypost/internal/mail"
	"pennypost/internal/room/journal/jetstream/natstest"
	"pennypost/internal/room/journal/jsonl"
)

// openLab connects another machine to some servers, and opens the room "lab" there.
func openLab(t *testing.T, servers *natstest.Cluster) (*Cluster, *Journal) {
	t.Helper()
	c, err := Connect(t.Context(), Config{URLs: servers.URLs()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	awaitMachines(t, "a connection", func() bool { return c.Trouble() == nil })
	j, err := c.Open(t.Context(), "lab", t.TempDir(), jsonl.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	return c, j
}

// TestErasedWhileCounted checks that messages that are erased while a machine reads a room give no other message their
// sequence numbers: neither when it reads the room, nor when it looks for the end of its copy in a new lane.
func TestErasedWhileCounted(t *testing.T) {
	t.Parallel()
	c, j := openLab(t, natstest.Start(t, 3, natstest.Options{}))
	var sent []mail.Event
	for i := range 3 * mostGot {
		e := said(fmt.Sprint("number ", i))
		e.Message.ID = mail.ID(fmt.Sprint("msg_", i))
		sent = append(sent, e)
	}
	if _, err := j.Append(t.Context(), sent...); err != nil {
		t.Fatal(err)
	}
	before := func() *lane { // as another machine knows it that has not heard of the erasure
		t.Helper()
		l, err := c.lane(t.Context(), "lab", false)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	read, few, located := before(), before(), before()
	erased := func(e mail.Event) bool { return e.Message != nil && e.Message.ID == "msg_5" }
	if n, err := j.Erase(t.Context(), "msg_5", erased); err != nil || n == 0 {
		t.Fatal(n, err)
	}

	delivered, err := read.follow(t.Context(), c.nc, point{})
	if err != nil {
		t.Fatal(err)
	}
	defer delivered.drop()
	if some := delivered.takeMany(t.Context()); len(some) != 1 || !errors.Is(some[0].err, errMiscounted) {
		t.Errorf("a reader got %d messages, the last with %v", len(some), some[len(some)-1].err)
	}
	if _, err := few.get(t.Context(), point{}, mostGot/2); err != nil {
		t.Fatal(err)
	}
	if err := few.checkCount(t.Context(), c.nc, 0); !errors.Is(err, errMiscounted) {
		t.Errorf("a reader of few messages: %v", err)
	}

	forget := func() {
		j.mu.Lock()
		defer j.mu.Unlock()
		j.points.cut(0)
	}
	forget()
	if err := j.locate(located); !errors.Is(err, errMiscounted) {
		t.Errorf("the end of the copy was found: %v", err)
	}
	if err := j.locate(located); err != nil {
		t.Error(err)
	}
	last, err := located.lastSeq(t.Context())
	if at := j.point(located, j.local.Last()); err != nil || at != (point{last, j.local.Last()}) {
		t.Errorf("the copy ends at %+v, not at %d: %v", at, last, err)
	}
}

// TestErasedSoon checks that a message that is about to be erased, and so counts as a message and as a hole, does not
// make another machine's copy longer than the room: the next message would find its sequence number taken.
func TestErasedSoon(t *testing.T) {
	t.Parallel()
	servers := natstest.Start(t, 3, natstest.Options{})
	c, j := openLab(t, servers)
	for range mostGot / 2 {
		if _, err := j.Append(t.Context(), said("some")); err != nil {
			t.Fatal(err)
		}
	}
	l, err := c.lane(t.Context(), "lab", false)
	if err != nil {
		t.Fatal(err)
	}
	some, err := l.get(t.Context(), point{}, l.end)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.record(t.Context(), l, holeOf(&some[3], nil)); err != nil {
		t.Fatal(err)
	}

	_, other := openLab(t, servers)
	if there, here := other.local.Last(), j.local.Last(); there != here {
		t.Errorf("the room has %d events, and its copy on another machine %d", here, there)
	}
	c.mu.Lock()
	f := c.feeds[l.info.Config.Name]
	c.mu.Unlock()
	if err := f.count(); err != nil {
		t.Errorf("the shard is followed again: %v", err)
	}
	last, err := j.Append(t.Context(), said("the last"))
	if err != nil {
		t.Fatal(err)
	}
	awaitMachines(t, "the last message is on both", func() bool { return other.local.Last() >= last })
	there, err := other.local.Read(t.Context(), last)
	if err != nil || len(there) != 1 || there[0].Message == nil || there[0].Message.Body != "the last" {
		t.Errorf("event %d is there %+v: %v", last, there, err)
	}
}
