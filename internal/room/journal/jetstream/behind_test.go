package jetstream

import (
	"errors"
	"testing"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/room/journal"
	"pennypost/internal/room/journal/jetstream/natstest"
	"pennypost/internal/room/journal/jsonl"
)

// opened opens the journal of a room over its own connection.
func opened(t *testing.T, servers *natstest.Cluster, room string) *Journal {
	t.Helper()
	c, err := Connect(t.Context(), Config{URLs: servers.URLs(), Replicas: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	j, err := c.Open(t.Context(), room, t.TempDir(), jsonl.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	return j
}

func said(body string) mail.Event {
	return mail.Event{At: 1778414400000, Message: &mail.Message{ID: mail.ID("msg_" + body), Type: mail.Status,
		From: "agent:a", To: []mail.Address{"user"}, Body: body}}
}

// TestDeliveredNoMore checks that a follower catches up even if its server keeps reporting that there is nothing new,
// as a server does that cannot catch up with the others. A paused consumer behaves the same way.
func TestDeliveredNoMore(t *testing.T) {
	t.Parallel()
	servers := natstest.Start(t, 1, natstest.Options{})
	behind, other := opened(t, servers, "behind"), opened(t, servers, "behind")
	stream, err := behind.cluster.lane(t.Context(), "behind", false)
	if err != nil {
		t.Fatal(err)
	}
	for name := range stream.ConsumerNames(t.Context()).Name() {
		if _, err := stream.PauseConsumer(t.Context(), name, time.Now().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	last, err := other.Append(t.Context(), said("news"))
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(30 * time.Second); behind.Last() < last; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the copy is at %d, the stream at %d", behind.Last(), last)
		}
	}
}

// TestSuspended checks that an acknowledgement found when time is up still counts if the event is in the copy, as
// happens after a suspension of the machine.
func TestSuspended(t *testing.T) {
	j := opened(t, natstest.Start(t, 1, natstest.Options{}), "suspended")
	last, err := j.Append(t.Context(), said("one"))
	if err != nil {
		t.Fatal(err)
	}
	f := newFlight(nil)
	f.see(last)
	for range 100 {
		if at, err := j.settle(f, time.Now().Add(-time.Second)); at != last || err != nil {
			t.Fatalf("settle = %d, %v for what is in the copy at %d", at, err, last)
		}
		f.see(last)
	}
	if _, err := j.settle(newFlight(nil), time.Now().Add(-time.Second)); !errors.Is(err, journal.ErrUnknown) {
		t.Errorf("settle = %v for what did not come, want that it is in doubt", err)
	}
}

// TestRefusedAfterDoubt checks that a refusal does not claim that nothing was stored if an earlier attempt was stored
// and its answer was lost. Here the answers to the first attempt are lost, and then the stream no longer takes
// messages of that size.
func TestRefusedAfterDoubt(t *testing.T) {
	servers := natstest.Start(t, 1, natstest.Options{})
	p := natstest.NewLink(t, servers.Servers[0].Client)
	c, err := Connect(t.Context(), Config{URLs: []string{p.URL()}, Replicas: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	j, err := c.Open(t.Context(), "late", t.TempDir(), jsonl.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	other := opened(t, servers, "late")
	text, err := jsonl.Encode(said("first"))
	if err != nil {
		t.Fatal(err)
	}
	awaitMachines(t, "the copy is compared", func() bool {
		_, err := j.Append(t.Context(), said("before"))
		return err == nil
	})
	p.Lose(true)
	answer := make(chan error, 1)
	go func() { // not through Append: then the follower would find it
		_, err := j.storeBy(t.Context(), &flight{texts: [][]byte{text}, ids: []string{"late.1"}},
			time.Now().Add(2*patience))
		answer <- err
	}()
	awaitMachines(t, "it is stored", func() bool { return other.Last() == 2 })
	stream, err := other.cluster.lane(t.Context(), "late", false)
	if err != nil {
		t.Fatal(err)
	}
	cfg := stream.info.Config
	cfg.MaxMsgSize = 1
	if _, err := other.cluster.js.UpdateStream(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	p.Lose(false)
	if err := <-answer; !errors.Is(err, journal.ErrUnknown) {
		t.Errorf("refused after an attempt whose answer was lost: %v, want that it is in doubt", err)
	}
}

// TestErasesThoughToldThatThereIsNothing checks that an erasure does not trust a delivering server that lags behind
// the leader and reports that there is nothing to erase.
func TestErasesThoughToldThatThereIsNothing(t *testing.T) {
	servers := natstest.Start(t, 1, natstest.Options{})
	const nothing = `{"stream_name":"x","name":"x","config":{"deliver_subject":"x"},"num_pending":0,` +
		`"delivered":{"consumer_seq":0,"stream_seq":0}}`
	ask(t, servers.Servers[0].Client, t.TempDir(), "behind", "erase", 2, natstest.Fault{Answer: nothing, Stored: true})
}
