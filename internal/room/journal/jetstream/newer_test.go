package jetstream

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"pennypost/internal/mail"
	"pennypost/internal/room/journal/jetstream/natstest"
	"pennypost/internal/room/journal/jsonl"
)

// forNewer is an event with which a newer Pennypost locks out this version.
var forNewer = []byte(`{"at":"2026-05-10T14:00:00.125Z","needs":{"features":["rooms-in-rooms"],"by":"v9.0.0"}}`)

func wantNewer(t *testing.T, when string, err error) {
	t.Helper()
	if mail.CodeOf(err) != mail.Conflict || !strings.Contains(err.Error(), "room lab on the NATS servers was "+
		"written by a newer Pennypost (v9.0.0) and needs rooms-in-rooms, which") {
		t.Errorf("%s: %v", when, err)
	}
}

// TestNewer: a room on the servers in which a newer Pennypost has recorded a required feature is refused with the
// reason, whatever the state of this machine's copy. The stream is unchanged, and the copy has the events before
// that. Other rooms continue.
func TestNewer(t *testing.T) {
	h := newHealing(t)
	events := notes(4)
	none := t.TempDir()
	behind, texts := h.copyOf(events[:2]...)
	other, lost := h.copyOf(append(slices.Clone(events[:2]), said("lost"))...)
	since, err := jsonl.Encode(events[3])
	h.must(err)
	stream := [][]byte{texts[0], texts[1], forNewer, since}
	s := h.fill("lab", stream...)
	for name, dir := range map[string]string{"no copy": none, "a copy that is behind": behind,
		"a copy that has what the servers lost": other} {
		want := filesIn(t, dir)
		if dir == none { // it gets the events before
			want = filesIn(t, behind)
		}
		j, err := h.Open(t.Context(), "lab", dir, jsonl.Options{})
		if wantNewer(t, name, err); err == nil {
			j.Close()
		}
		if got := filesIn(t, dir); !maps.Equal(got, want) {
			t.Errorf("%s: there is %q, want %q", name, got, want)
		}
	}
	h.wantStream("afterwards", s, stream...)
	if len(lost) != 3 {
		t.Fatalf("the copy had %q", lost)
	}
	j, err := h.Open(t.Context(), "harbour", t.TempDir(), jsonl.Options{})
	h.must(err)
	defer j.Close()
	if _, err := j.Append(t.Context(), said("another room")); err != nil {
		t.Error(err)
	}
}

// filesIn returns the files of a copy that have content of the room.
func filesIn(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := make(map[string]string)
	for _, name := range []string{"mailbox.jsonl", "archive", "mailbox.rejected.jsonl", fetchingName} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err == nil && len(text) > 0 {
			all[name] = string(text)
		}
	}
	return all
}

// TestNewerMeanwhile: a newer Pennypost records a required feature in an open room. From then on none of its events
// are placed here, sends are refused, and so is opening it again.
func TestNewerMeanwhile(t *testing.T) {
	h := newHealing(t)
	dir := t.TempDir()
	j, err := h.Open(t.Context(), "lab", dir, jsonl.Options{})
	h.must(err)
	last, err := j.Append(t.Context(), said("one"))
	h.must(err)
	s := h.fill("lab", []byte(`{"at":"2026-05-10T14:00:00.125Z","needs":{"features":[],"by":"v9.0.0"}}`), forNewer)
	select {
	case <-j.Reopen():
	case <-time.After(30 * time.Second):
		t.Fatal("the room is not to be opened again")
	}
	_, err = j.Append(t.Context(), said("two"))
	wantNewer(t, "sent", err)
	if got := j.Last(); got != last+1 {
		t.Errorf("the copy is at %d, want %d", got, last+1)
	}
	h.must(j.Close())
	_, err = h.Open(t.Context(), "lab", dir, jsonl.Options{})
	wantNewer(t, "opened again", err)
	if err := s.look(t.Context(), h.nc); err != nil || s.end != 3 {
		t.Errorf("the stream is at %d, %v", s.end, err)
	}
}

// TestNewerBehindALoss: a machine that was cut off appends nothing before it has read the events sent meanwhile,
// since these may be for a newer Pennypost.
func TestNewerBehindALoss(t *testing.T) {
	servers := natstest.Start(t, 1, natstest.Options{})
	link := natstest.NewLink(t, servers.Servers[0].Client)
	c, err := Connect(t.Context(), Config{URLs: []string{link.URL()}, Replicas: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	j, err := c.Open(t.Context(), "lab", t.TempDir(), jsonl.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	newer := opened(t, servers, "lab")
	if _, err := j.Append(t.Context(), said("one")); err != nil {
		t.Fatal(err)
	}
	link.Lose(true)
	for range 20 { // so that reading them takes a while
		if _, err := newer.Append(t.Context(), notes(maxBatch)...); err != nil {
			t.Fatal(err)
		}
	}
	js := newer.cluster.js
	ack, err := js.PublishMsg(t.Context(), &nats.Msg{Subject: newer.subject, Data: forNewer})
	if err != nil {
		t.Fatal(err)
	}
	link.Cut()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var sending sync.WaitGroup
	for range 4 {
		sending.Go(func() {
			var err error
			for ctx.Err() == nil && !isNewer(err) {
				_, err = j.Append(ctx, said("late"))
			}
			wantNewer(t, "sent", err)
		})
	}
	sending.Wait()
	l, err := c.lane(t.Context(), "lab", false)
	if err != nil {
		t.Fatal(err)
	}
	if last, err := l.lastSeq(t.Context()); err != nil || last != ack.Sequence {
		t.Errorf("the stream is at %d, and was at %d: %v", last, ack.Sequence, err)
	}
}
