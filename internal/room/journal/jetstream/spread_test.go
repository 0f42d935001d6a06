package jetstream

import (
	"fmt"
	"testing"
	"time"

	"pennypost/internal/room/journal/jetstream/natstest"
)

// TestSpread checks that different servers lead the shards in the end, even after one server led all of them.
func TestSpread(t *testing.T) {
	t.Parallel()
	servers := natstest.Start(t, 3, natstest.Options{})
	c, err := Connect(t.Context(), Config{URLs: servers.URLs(), Machine: "desk"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	awaitMachines(t, "a connection", func() bool { return c.Trouble() == nil })
	if err := c.AddShards(t.Context(), 3); err != nil {
		t.Fatal(err)
	}
	if _, err := c.lane(t.Context(), "lab", true); err != nil {
		t.Fatal(err)
	}
	leaders := func() map[string]int {
		n := make(map[string]int)
		for i := range 3 {
			s, err := c.js.Stream(t.Context(), fmt.Sprint("pennypost_shard_", i+1))
			if err == nil {
				n[s.CachedInfo().Cluster.Leader]++
			}
		}
		return n
	}
	const all = "n2"
	awaitMachines(t, "all are led by "+all, func() bool {
		if leaders()[all] == 3 {
			return true
		}
		for i := range 3 {
			c.stepDown(fmt.Sprint("pennypost_shard_", i+1), all)
		}
		time.Sleep(500 * time.Millisecond) // without a pause, they do not settle
		return false
	})
	awaitMachines(t, "each is led by another", func() bool {
		c.mu.Lock()
		c.spreadAt = time.Time{}
		c.mu.Unlock()
		_, err := c.List(t.Context())
		return err == nil && len(leaders()) == 3
	})
}
