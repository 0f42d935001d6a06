package jetstream

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"pennypost/internal/room/journal/jetstream/natstest"
	"pennypost/internal/room/journal/jsonl"
)

// TestFollowsMany checks that new events arrive immediately even if so many rooms of a shard are open that its
// consumer delivers all of them. Otherwise they would arrive with a heartbeat, or when the sender asks for the
// outcome.
func TestFollowsMany(t *testing.T) {
	t.Parallel()
	c, j := openLab(t, natstest.Start(t, 3, natstest.Options{}))
	l, err := c.lane(t.Context(), "lab", false)
	if err != nil {
		t.Fatal(err)
	}
	for i := range mostFilters {
		other := *l
		other.base = c.shardBase(fmt.Sprint("room-", i), home{Shard: l.info.Config.Name, Generation: 1})
		tap, err := c.join(t.Context(), &other, func() point { return point{} })
		if err != nil {
			t.Fatal(err)
		}
		defer tap.leave()
	}
	c.mu.Lock()
	f := c.feeds[l.info.Config.Name]
	c.mu.Unlock()
	f.mu.Lock()
	all := f.all
	f.mu.Unlock()
	if !all {
		t.Fatal("the consumer delivers some rooms only")
	}
	fastest := time.Hour
	for i := range 5 {
		began := time.Now()
		if _, err := j.Append(t.Context(), said(fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
		fastest = min(fastest, time.Since(began))
	}
	if fastest >= firstAttempt {
		t.Errorf("the fastest of five sends took %v", fastest)
	}
}

// TestFollowsSome: where a shard has many more rooms than are open here, only the open ones are delivered, whether
// they are opened sooner or later, and all again once many are open.
func TestFollowsSome(t *testing.T) {
	t.Parallel()
	servers := natstest.Start(t, 3, natstest.Options{})
	c, err := Connect(t.Context(), Config{URLs: servers.URLs()})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	awaitMachines(t, "a connection", func() bool { return c.Trouble() == nil })
	open := func(room string) *Journal {
		t.Helper()
		j, err := c.Open(t.Context(), room, t.TempDir(), jsonl.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { j.Close() })
		return j
	}
	sends := func(j *Journal) {
		t.Helper()
		if _, err := j.Append(t.Context(), said("in "+j.room)); err != nil {
			t.Errorf("room %s: %v", j.room, err)
		}
	}
	lab := open("lab")
	sends(lab)
	c.mu.Lock()
	f := c.feeds[c.cfg.Prefix+shardWord+"1"]
	c.mu.Unlock()
	covered := func(rooms int) bool {
		t.Helper()
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.all && rooms == 0 || !f.all && len(f.covers) == rooms
	}
	if !covered(0) {
		t.Errorf("the only room is followed by name: %v", f.covers)
	}
	for i := range 3 * mostFilters {
		subject := c.shardSubject(f.shard) + fmt.Sprintf("other-%d.1.log", i)
		if _, err := c.js.Publish(t.Context(), subject, nil); err != nil {
			t.Fatal(err)
		}
	}
	f.reaches() // which happens every 15 s
	f.wants.Give()
	awaitMachines(t, "one room is followed", func() bool { return covered(1) })
	sends(lab)
	all := []*Journal{lab}
	for i := range mostFilters {
		j := open(fmt.Sprint("room-", i))
		sends(j)
		if all = append(all, j); i == 5 && !covered(len(all)) {
			t.Errorf("of %d open rooms, %d are followed", len(all), len(f.covers))
		}
	}
	if !covered(0) {
		t.Errorf("of %d open rooms, %d are followed", len(all), len(f.covers))
	}
	for _, j := range all {
		sends(j)
	}
}

// TestLeaderLags checks that a room is not counted by a leader that has less of the shard than was delivered before
// the room was followed: the leader is asked again until it has all of that, and if it never has, the shard is
// followed again.
func TestLeaderLags(t *testing.T) {
	t.Parallel()
	c, j := openLab(t, natstest.Start(t, 3, natstest.Options{}))
	sends := func(text string) {
		t.Helper()
		if _, err := j.Append(t.Context(), said(text)); err != nil {
			t.Fatal(err)
		}
	}
	sends("one")
	l, err := c.lane(t.Context(), "lab", false)
	if err != nil {
		t.Fatal(err)
	}
	late, err := c.join(t.Context(), l, j.end)
	if err != nil {
		t.Fatal(err)
	}
	defer late.leave()
	if last := l.info.State.LastSeq; late.from != last {
		t.Errorf("after delivery up to %d, the rest is delivered from %d on", last, late.from)
	}

	late.from++ // another server has delivered one more
	counted := make(chan error, 1)
	go func() { counted <- late.look(t.Context(), l) }()
	select {
	case err := <-counted:
		t.Fatalf("the room was counted up to %d, without what was delivered: %v", l.end, err)
	case <-time.After(3 * pauseShort):
	}
	sends("two")
	if err := <-counted; err != nil || l.end != j.local.Last() {
		t.Errorf("the room ends at %d, not at %d: %v", j.local.Last(), l.end, err)
	}

	late.from = 1 << 40
	if err := late.look(t.Context(), l); err == nil {
		t.Error("the room was counted although most of the shard is missing")
	}
	select {
	case <-late.done:
	case <-time.After(10 * time.Second):
		t.Error("the shard is not followed again")
	}
	sends("three")
}

// TestOldConsumer checks that a consumer that was replaced delivers nothing more, and that a room does not count
// messages that come out of order.
func TestOldConsumer(t *testing.T) {
	t.Parallel()
	c, j := openLab(t, natstest.Start(t, 3, natstest.Options{}))
	if _, err := j.Append(t.Context(), said("one"), said("two")); err != nil {
		t.Fatal(err)
	}
	l, err := c.lane(t.Context(), "lab", false)
	if err != nil {
		t.Fatal(err)
	}
	room, err := c.join(t.Context(), l, j.end)
	if err != nil {
		t.Fatal(err)
	}
	defer room.leave()
	old, err := l.subscribe(t.Context(), c.nc, 1, l.base+".>")
	if err != nil {
		t.Fatal(err)
	}
	defer old.drop()
	passed := make(chan error, 1)
	go func() { passed <- room.feed.pass(old) }()
	select {
	case err := <-passed:
		if !errors.Is(err, errLeft) {
			t.Errorf("it ended with %v", err)
		}
	case m := <-room.in:
		t.Fatalf("the old consumer delivered %s", m.Data)
	}

	const end = 7
	for _, seq := range []uint64{end, end + 2, end + 1} {
		room.in <- message{&nats.Msg{Subject: l.subject, Header: nats.Header{}},
			&nats.MsgMetadata{Sequence: nats.SequencePair{Stream: seq}}}
	}
	arrived := make(chan arrival, 3)
	room.hand(t.Context(), &counter{l, point{end, 5}}, arrived)
	if a, b := <-arrived, <-arrived; a.err != nil || a.seq != 6 || !errors.Is(b.err, errLost) {
		t.Errorf("%d, %v; then %d, %v", a.seq, a.err, b.seq, b.err)
	}
}
