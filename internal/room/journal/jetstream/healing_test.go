package jetstream

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"pennypost/internal/mail"
	"pennypost/internal/room/journal/jetstream/natstest"
	"pennypost/internal/room/journal/jsonl"
)

// healing is a cluster of one server that loses data as a test wants.
type healing struct {
	*testing.T
	*Cluster
}

func newHealing(t *testing.T) *healing {
	t.Helper()
	return newHealingOf(t, natstest.Start(t, 1, natstest.Options{}), false)
}

func newHealingOf(t *testing.T, servers *natstest.Cluster, own bool) *healing {
	t.Helper()
	c, err := Connect(t.Context(), Config{URLs: servers.URLs(), Replicas: 1, OwnStreams: own})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return &healing{t, c}
}

// healings runs a test with rooms in a shard, and with rooms in streams of their own.
func healings(t *testing.T, f func(t *testing.T, h *healing)) {
	for name, own := range map[string]bool{"shard": false, "own stream": true} {
		t.Run(name, func(t *testing.T) { f(t, newHealingOf(t, natstest.Start(t, 1, natstest.Options{}), own)) })
	}
}

func (h *healing) must(err error) {
	h.Helper()
	if err != nil {
		h.Fatal(err)
	}
}

// copyOf creates a copy with some events in a directory, and returns their texts.
func (h *healing) copyOf(events ...mail.Event) (dir string, texts [][]byte) {
	h.Helper()
	dir = h.TempDir()
	local, err := jsonl.Open(dir, jsonl.Options{Copy: true})
	h.must(err)
	var placed []jsonl.Placed
	for i, e := range events {
		text, err := jsonl.Encode(e)
		h.must(err)
		texts = append(texts, text)
		placed = append(placed, jsonl.Placed{Seq: mail.Seq(i + 1), Text: text})
	}
	h.must(local.Place(h.Context(), placed...))
	h.must(local.Close())
	return dir, texts
}

// fill creates the stream of a room with some texts; nil is a number without an event.
func (h *healing) fill(room string, texts ...[]byte) *lane {
	h.Helper()
	l, err := h.lane(h.Context(), room, true)
	h.must(err)
	for _, text := range texts {
		m := &nats.Msg{Subject: l.subject, Data: text, Header: nats.Header{}}
		if text == nil {
			m.Header.Set(headerGone, "1")
		}
		_, err := h.js.PublishMsg(h.Context(), m)
		h.must(err)
	}
	h.must(l.look(h.Context(), h.nc))
	return l
}

// detached returns the journal of a copy that does not follow the stream, so that a test can run single steps of
// healing.
func (h *healing) detached(room, dir string) *Journal {
	h.Helper()
	local, err := jsonl.Open(dir, jsonl.Options{Copy: true})
	h.must(err)
	h.Cleanup(func() { local.Close() })
	j := &Journal{cluster: h.Cluster, room: room, dir: dir, log: h.log, local: local, files: local,
		points: loadPoints(dir), ended: make(chan struct{}), advanced: make(chan struct{}), ctx: h.Context(),
		pending: make(map[string]*flight)}
	_, err = j.find(h.Context(), true)
	h.must(err)
	return j
}

// wantStream fails the test unless a room has exactly these texts on the servers; nil is a number without an event.
func (h *healing) wantStream(when string, l *lane, want ...[]byte) {
	h.Helper()
	h.must(l.look(h.Context(), h.nc))
	if got := int(l.end); got != len(want) {
		h.Errorf("%s, the stream has %d messages, want %d", when, got, len(want))
		return
	}
	seq := uint64(0)
	for i, text := range want {
		m, err := l.GetMsg(h.Context(), seq+1, jetstream.WithGetMsgSubject(l.subject))
		h.must(err)
		seq = m.Sequence
		if got := unpack(&nats.Msg{Header: m.Header, Data: m.Data}); string(got) != string(text) {
			h.Errorf("%s, at %d stands %s, want %s", when, i+1, got, text)
		}
	}
}

// told returns what the person is told about a copy.
func (h *healing) told(j *Journal) string {
	ctx, cancel := context.WithTimeout(h.Context(), 20*time.Millisecond)
	defer cancel()
	news, _ := j.local.News(ctx)
	var all []string
	for _, n := range news {
		all = append(all, n.Subject+": "+n.Body)
	}
	return strings.Join(all, "\n")
}

func notes(n int) (events []mail.Event) {
	for i := range n {
		events = append(events, said(fmt.Sprint("note ", i)))
	}
	return events
}

// TestNothingToHeal checks that if the servers have everything that the copy has, nothing is appended and no loss is
// reported; nor if they have no event there, because the machine that put back the end did not know its content.
func TestNothingToHeal(t *testing.T) { healings(t, nothingToHeal) }

func nothingToHeal(t *testing.T, h *healing) {
	for name, gone := range map[string]bool{"all": false, "gone": true} {
		dir, texts := h.copyOf(notes(3)...)
		there := append([][]byte{}, texts...)
		if gone {
			there[2] = nil
		}
		stream := h.fill(name, there...)
		j, err := h.Open(t.Context(), name, dir, jsonl.Options{})
		h.must(err)
		h.must(j.compare(t.Context(), stream, 3))
		if told := h.told(j); j.Last() != 3 || told != "" {
			t.Errorf("%s: the copy is at %d, and the person is told %q", name, j.Last(), told)
		}
		h.must(j.Close())
		h.wantStream(name, stream, there...)
		if gone {
			continue
		}
		d := h.detached(name, dir)
		h.must(d.heal(t.Context(), stream, 3))
		h.wantStream("healed without need", stream, there...)
		if told := h.told(d); told != "" {
			t.Errorf("healed without need, and the person is told %q", told)
		}
	}
}

// TestErasedIsNotRescued checks that a message that was erased since the servers lost it, and another machine had put
// it back, does not come back from an older copy.
func TestErasedIsNotRescued(t *testing.T) {
	h := newHealing(t)
	events := notes(3)
	for i := range events {
		events[i].Message.ID = mail.ID(fmt.Sprint("msg_", i))
	}
	dir, texts := h.copyOf(events...)
	since, err := jsonl.Encode(said("since"))
	h.must(err)
	l := h.fill("lab", texts[0], since, texts[2])
	third, err := l.lastSeq(t.Context())
	h.must(err)
	h.must(h.record(t.Context(), l, hole{At: third, Seq: 3, About: "msg_2"}))
	h.must(l.SecureDeleteMsg(t.Context(), third))
	h.must(l.look(t.Context(), h.nc))

	d := h.detached("lab", dir)
	h.must(d.heal(t.Context(), l, l.end))
	h.must(l.look(t.Context(), h.nc))
	last, err := l.GetLastMsgForSubject(t.Context(), l.subject)
	h.must(err)
	if l.end != 4 || string(last.Data) != string(texts[1]) {
		t.Errorf("the room ends at %d with %s, not at 4 with the event that only the copy had", l.end, last.Data)
	}
}

// TestRestoredInParts checks that the end that the servers have lost is put back with its numbers, however long it is,
// with ids that are the same on each machine.
func TestRestoredInParts(t *testing.T) { healings(t, restoredInParts) }

func restoredInParts(t *testing.T, h *healing) {
	const n, kept = maxBatch + 100, 10
	dir, texts := h.copyOf(notes(n)...)
	stream := h.fill("lab", texts[:kept]...)
	j := h.detached("lab", dir)
	h.must(j.compare(t.Context(), stream, kept))
	h.wantStream("put back", stream, texts...)
	if told := h.told(j); !strings.Contains(told, fmt.Sprintf("the last %d lines", n-kept)) {
		t.Errorf("the person is told %q", told)
	}
	for _, at := range []mail.Seq{kept + 1, maxBatch, maxBatch + kept + 1, n} {
		m, err := stream.GetMsg(t.Context(), uint64(at)) // its position in a shard with one room
		h.must(err)
		want := idsOf(stream.subject, stream.shared) + healID(at, texts[at-1])
		if got := m.Header.Get(headerID); got != want {
			t.Errorf("at %d stands the id %s, want %s", at, got, want)
		}
	}
}

// TestNotRestoredBehindOthers checks that the end is put back only with its numbers: if someone has appended since the
// stream was examined, nothing is.
func TestNotRestoredBehindOthers(t *testing.T) { healings(t, notRestoredBehindOthers) }

func notRestoredBehindOthers(t *testing.T, h *healing) {
	dir, texts := h.copyOf(notes(5)...)
	since := []byte(`"at":1,"agent":{"name":"eve"}`)
	stream := h.fill("lab", texts[0], texts[1], since)
	if err := h.detached("lab", dir).restore(t.Context(), stream, 2); !errors.Is(err, errNotAfter) {
		t.Errorf("restore = %v, want %v", err, errNotAfter)
	}
	h.wantStream("not put back", stream, texts[0], texts[1], since)
}

// TestRescuedOnce checks that events that only copies have are appended after those that others have sent since, each
// line of them, even one that repeats an earlier one; and only once, even if a second machine began before they were
// there.
func TestRescuedOnce(t *testing.T) { healings(t, rescuedOnce) }

func rescuedOnce(t *testing.T, h *healing) {
	sign := mail.Event{At: 1778414400000, Agent: &mail.AgentChange{Name: "ann"}}
	events := []mail.Event{sign, said("two"), said("three"), sign, said("five")}
	dir, texts := h.copyOf(events...)
	other, _ := h.copyOf(events...)
	since, err := jsonl.Encode(said("since"))
	h.must(err)
	stream := h.fill("lab", texts[0], texts[1], since)
	j := h.detached("lab", dir)
	h.must(j.heal(t.Context(), stream, 3))
	want := [][]byte{texts[0], texts[1], since, texts[2], texts[3], texts[4]}
	h.wantStream("rescued", stream, want...)
	if told := h.told(j); !strings.Contains(told, "from line 3 on") || !strings.Contains(told, "3 lines that only") {
		t.Errorf("the person is told %q", told)
	}
	if j.local.Last() != 2 {
		t.Errorf("the copy was cut back to %d, want 2", j.local.Last())
	}

	second := h.detached("lab", other)
	there := map[[sha256.Size]byte]bool{sha256.Sum256(since): true}
	looked := 0
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	n, err := second.rescue(ctx, stream, 3, 3, there, func(after, end mail.Seq) error {
		looked++
		return second.read(ctx, stream, after, end, func(a arrival) error {
			there[sha256.Sum256(a.text)] = true
			return nil
		})
	})
	if err != nil || n != 0 || looked != 1 {
		t.Errorf("a second machine has rescued %d lines and looked %d times: %v", n, looked, err)
	}
	h.wantStream("rescued again", stream, want...)
}

// TestReadWithin checks that read returns the events after a sequence number, up to another, and ends.
func TestReadWithin(t *testing.T) { healings(t, readWithin) }

func readWithin(t *testing.T, h *healing) {
	dir, texts := h.copyOf(notes(5)...)
	stream := h.fill("lab", texts...)
	if stream.shared {
		h.must(h.record(t.Context(), stream, hole{At: 4, Seq: 4, About: "msg_note 3"}))
	}
	h.must(stream.DeleteMsg(t.Context(), 4))
	j := h.detached("lab", dir)
	for _, test := range []struct{ after, end, first, last mail.Seq }{
		{0, 5, 1, 5}, {1, 3, 2, 3}, {2, 2, 0, 0}, {3, 2, 0, 0}, {4, 9, 5, 5}, {5, 9, 0, 0},
		{1, 4, 2, 3}, // the event at 4 was erased
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		var first, last mail.Seq
		err := j.read(ctx, stream, test.after, test.end, func(a arrival) error {
			if first == 0 {
				first = a.seq
			}
			last = a.seq
			return nil
		})
		cancel()
		if err != nil || first != test.first || last != test.last {
			t.Errorf("behind %d up to %d: %d to %d, %v; want %d to %d", test.after, test.end, first, last, err,
				test.first, test.last)
		}
	}
}

// TestReopensOnce checks that a journal that finds twice that it differs reports it once.
func TestReopensOnce(t *testing.T) {
	h := newHealing(t)
	dir, _ := h.copyOf(notes(1)...)
	j := h.detached("lab", dir)
	j.reopen = make(chan struct{})
	j.diverge(errDiffers)
	j.diverge(errLost)
	if <-j.Reopen(); !errors.Is(j.usable(), errDiffers) {
		t.Errorf("usable = %v, want the first reason", j.usable())
	}
}
