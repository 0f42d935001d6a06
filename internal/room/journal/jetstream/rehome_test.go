package jetstream_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pennypost/internal/mail"
	"pennypost/internal/room/journal/jetstream"
	"pennypost/internal/room/journal/jetstream/natstest"
	"pennypost/internal/room/journal/jsonl"
)

// A room moves from a stream of its own to a shard, and from there to another, while six writers on three machines
// use it: no acknowledged event is lost or duplicated, and all machines have the same.
func TestMoveWhileUsed(t *testing.T) {
	t.Parallel()
	servers := natstest.Start(t, 3, natstest.Options{})
	var machines []*jetstream.Cluster
	var journals []*jetstream.Journal
	for i := range 3 {
		c, err := jetstream.Connect(t.Context(), jetstream.Config{URLs: servers.URLs(), OwnStreams: true,
			Machine: []mail.Machine{"desk", "laptop", "tower"}[i]})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		machines = append(machines, c)
		j, err := c.Open(t.Context(), "moves", t.TempDir(), jsonl.Options{Log: logTo(t)})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { j.Close() })
		journals = append(journals, j)
	}
	told := newTold()
	stop := make(chan struct{})
	var writing sync.WaitGroup
	var mu sync.Mutex
	var longest time.Duration
	for m, j := range journals {
		for w := range 2 {
			writing.Go(func() {
				for i := 0; ; i++ {
					select {
					case <-stop:
						return
					default:
					}
					began := time.Now()
					_ = told.send(t, j, fmt.Sprint(m, "-", w, "-", i)) // the results are checked below
					mu.Lock()
					longest = max(longest, time.Since(began))
					mu.Unlock()
				}
			})
		}
	}
	end := sync.OnceFunc(func() { close(stop); writing.Wait() })
	defer end()
	for i, shard := range []int{0, 2, 1} {
		before := told.count()
		eventually(t, func() error {
			if n := told.count() - before; n < 200 {
				return fmt.Errorf("only %d are stored", n)
			}
			return nil
		})
		mu.Lock()
		longest = 0
		mu.Unlock()
		if shard == 2 {
			if err := machines[0].AddShards(t.Context(), 2); err != nil {
				t.Fatal(err)
			}
		}
		began := time.Now()
		if moved, err := journals[i].MoveTo(t.Context(), shard); err != nil || !moved {
			t.Fatalf("move %d: %t, %v", i, moved, err)
		}
		mu.Lock()
		t.Logf("move %d took %v, the longest send %v", i, time.Since(began), longest)
		mu.Unlock()
	}
	before := told.count()
	eventually(t, func() error {
		if n := told.count() - before; n < 200 {
			return fmt.Errorf("only %d are stored at the end", n)
		}
		return nil
	})
	end()
	if len(told.unknown) > 0 {
		t.Errorf("of %d it is not known whether they are stored", len(told.unknown))
	}
	n := int(max(journals[0].Last(), journals[1].Last(), journals[2].Last()))
	got := all(t, journals[0], n)
	for _, j := range journals[1:] {
		if diff := cmp.Diff(got, all(t, j, n)); diff != "" {
			t.Errorf("a machine has other events (-want +got):\n%s", diff)
		}
	}
	told.check(t, got)
	fresh := open(t, machines[1], "moves", t.TempDir())
	if diff := cmp.Diff(got, all(t, fresh, n)); diff != "" {
		t.Errorf("a machine that comes new has other events (-want +got):\n%s", diff)
	}
}
