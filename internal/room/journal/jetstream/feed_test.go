package jetstream

import (
	"fmt"
	"testing"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/room/journal/jetstream/natstest"
	"pennypost/internal/room/journal/jsonl"
)

// TestFollowsMany checks that new events arrive immediately even if so many rooms of a shard are open that its
// consumer delivers all of them. Otherwise they would arrive with a heartbeat, or when the sender asks for the
// outcome.
func TestFollowsMany(t *testing.T) {
	t.Parallel()
	servers := natstest.Start(t, 3, natstest.Options{})
	c, err := Connect(t.Context(), Config{URLs: servers.URLs()})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	awaitMachines(t, "a connection", func() bool { return c.Trouble() == nil })
	j, err := c.Open(t.Context(), "lab", t.TempDir(), jsonl.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	l, err := c.lane(t.Context(), "lab", false)
	if err != nil {
		t.Fatal(err)
	}
	for i := range mostFilters {
		other := *l
		other.base = c.shardBase(fmt.Sprint("room-", i), home{Shard: l.info.Config.Name, Generation: 1})
		tap, err := c.join(t.Context(), &other, func() mail.Seq { return 0 })
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
