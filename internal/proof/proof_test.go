//go:build linux

package proof

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

var (
	minutes = flag.Float64("proof.minutes", 0, "how long TestProof does harm; 0: it is skipped")
	seedOf  = flag.Uint64("proof.seed", 0, "replays the schedule of an earlier run; 0: a new one")
	wanted  = flag.String("proof.faults", "", "a regular expression of the faults to be done; default: all")
	dirOf   = flag.String("proof.dir", "",
		"where records go; default: a new directory below that for temporary files")
)

// TestProof lets everybody work under faults, and then holds the promises against what each client recorded.
func TestProof(t *testing.T) {
	if *minutes <= 0 {
		t.Skip("run it by: ./test proof --minutes N")
	}
	seed := *seedOf
	if seed == 0 {
		seed = uint64(time.Now().UnixNano()) % 1e9
	}
	records := *dirOf
	if records == "" {
		records = filepath.Join(os.TempDir(), fmt.Sprintf("pennypost-proof-%d", seed))
	}
	if err := os.MkdirAll(records, 0o700); err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(records, "schedule.log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	out := io.MultiWriter(os.Stdout, log)
	fmt.Fprintf(out, "seed %d; again with: ./test proof --minutes %v --seed %d\nrecords in %s\n", seed, *minutes,
		seed, records)
	w, err := newWorld(seed, records, out)
	if w != nil && w.office != nil {
		defer func() { w.office.clear(t.Failed()) }()
	}
	if err != nil {
		t.Fatal(err)
	}
	w.work(time.Duration(*minutes * float64(time.Minute)))
	w.check()
	for _, b := range w.books {
		if err := b.save(records); err != nil {
			t.Error(err)
		}
	}
	w.report(t, records)
}

// report says what was done and what was found.
func (w *world) report(t *testing.T, records string) {
	for _, name := range sortedKeys(w.nemesis.effects) {
		e := w.nemesis.effects[name]
		w.logf("%-24s %3d times, %6d calls failed under it, usable again after at most %v", name, e.times, e.harmed,
			e.slow.Round(10*time.Millisecond))
	}
	for _, b := range w.found.list {
		w.logf("BROKEN %s: %s", b.promise, b.text)
	}
	for _, promise := range sortedKeys(w.found.count) {
		t.Errorf("%s was broken %d times with seed %d", promise, w.found.count[promise], w.seed)
	}
	if t.Failed() {
		w.logf("the home, the log of the post office and every client's record are in %s; "+
			"again with: ./test proof --minutes %v --seed %d", records, *minutes, w.seed)
	}
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
