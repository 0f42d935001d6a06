package jetstream_test

import (
	"fmt"
	"sync"
	"testing"

	"pennypost/internal/room/journal/jetstream"
	"pennypost/internal/room/journal/jetstream/natstest"
	"pennypost/internal/room/journal/jsonl"
)

// TestFirstRoomsAtOnce holds that the first rooms of a cluster can be made at the same time, by two machines, though
// the servers say nothing of a stream that is just being made.
func TestFirstRoomsAtOnce(t *testing.T) {
	t.Parallel()
	servers := natstest.Start(t, 3, natstest.Options{})
	var machines [2]*jetstream.Cluster
	for i := range machines {
		machines[i] = connect(t, servers.URLs())
		eventually(t, machines[i].Trouble)
	}
	var making sync.WaitGroup
	for i := range 16 {
		making.Go(func() {
			j, err := machines[i%2].Open(t.Context(), fmt.Sprint("room-", i), t.TempDir(),
				jsonl.Options{Log: logTo(t)})
			if err != nil {
				t.Errorf("room %d: %v", i, err)
				return
			}
			defer j.Close()
			if _, err := j.Append(t.Context(), note("first")); err != nil {
				t.Errorf("room %d: %v", i, err)
			}
		})
	}
	making.Wait()
}
