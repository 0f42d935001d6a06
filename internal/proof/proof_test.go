//go:build linux

package proof

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"pennypost/internal/persontest"
	"pennypost/internal/room/journal/jetstream/natstest"
)

var (
	minutes = flag.Float64("proof.minutes", 0, "how long TestProof or TestMachines does harm; 0: both are skipped")
	seedOf  = flag.Uint64("proof.seed", 0, "replays the schedule of an earlier run; 0: a new one")
	wanted  = flag.String("proof.faults", "", "a regular expression of the faults to be done; default: all")
	// seat is the person's terminal; prove opens it.
	seat  *persontest.Terminal
	dirOf = flag.String("proof.dir", "",
		"where records go; default: a new directory below that for temporary files")
)

// TestProof lets all clients work under faults, and then checks the promises against each client's record.
func TestProof(t *testing.T) { prove(t, "proof", newWorld) }

// TestMachines does the same with three post offices, on three NATS servers.
func TestMachines(t *testing.T) {
	if _, err := natstest.Program(); err != nil && *minutes > 0 {
		t.Fatal(err)
	}
	prove(t, "proof --machines", newMachines)
}

// prove does a run in a world made for it. command is the argument of ./test that repeats it.
func prove(t *testing.T, command string, world func(seed uint64, records string, out io.Writer) (*world, error)) {
	if *minutes <= 0 {
		t.Skip("run it by: ./test ", command, " --minutes N")
	}
	seed, records, out := setUp(t, strings.ReplaceAll(command, " --", "-"), command)
	var err error
	if seat, err = persontest.Open(); err != nil {
		t.Fatal(err)
	}
	defer seat.Close()
	w, err := world(seed, records, out)
	defer func() { w.clear(t.Failed()) }()
	if err != nil {
		t.Fatal(err)
	}
	w.records = records
	defer w.guard(t)()
	w.work(time.Duration(*minutes * float64(time.Minute)))
	w.check()
	for _, b := range w.books {
		if err := b.save(records); err != nil {
			t.Error(err)
		}
	}
	if err := w.found.publish(records); err != nil {
		t.Error(err)
	}
	w.report(t)
	if t.Failed() {
		w.logf("the homes, the logs and every client's record are in %s; again with: ./test %s --minutes %v --seed %d",
			records, command, *minutes, w.seed)
	}
}

// setUp returns the seed of a run, the directory of its records, and the writer of its output. The directory is
// named after what, and command is the argument of ./test that repeats the run.
func setUp(t *testing.T, what, command string) (seed uint64, records string, out io.Writer) {
	seed = *seedOf
	if seed == 0 {
		seed = uint64(time.Now().UnixNano()) % 1e9
	}
	if records = *dirOf; records == "" {
		records = filepath.Join(os.TempDir(), fmt.Sprintf("pennypost-%s-%d", what, seed))
	}
	if err := os.MkdirAll(records, 0o700); err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(records, "schedule.log"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { log.Close() })
	out = io.MultiWriter(os.Stdout, log)
	if *minutes > 0 {
		command += fmt.Sprint(" --minutes ", *minutes)
	}
	fmt.Fprintf(out, "seed %d; again with: ./test %s --seed %d\nrecords in %s\n", seed, command, seed, records)
	return seed, records, out
}

// guard says what a run that is about to exceed its time has found so far, and has the post offices write their
// goroutines into their logs, whose ends it prints. The function that it returns ends it.
func (w *world) guard(t *testing.T) (end func()) {
	deadline, limited := t.Deadline()
	if !limited {
		return func() {}
	}
	alarm := time.AfterFunc(time.Until(deadline)-time.Minute, func() {
		w.logf("a minute is left; so far it found:")
		w.found.mu.Lock()
		for _, b := range w.found.list {
			w.logf("BROKEN %s: %s", b.promise, b.text)
		}
		w.found.mu.Unlock()
		for _, o := range w.offices {
			if o.cmd != nil {
				_ = o.cmd.Process.Signal(syscall.SIGQUIT)
			}
		}
		time.Sleep(5 * time.Second)
		for _, o := range w.offices {
			text, _ := os.ReadFile(filepath.Join(w.records, o.name+".log"))
			w.logf("the log of %s ends:\n%s", o.name, text[max(0, len(text)-20_000):])
		}
	})
	return func() { alarm.Stop() }
}

// clear ends what is left, and keeps the homes if there were findings.
func (w *world) clear(keep bool) {
	for _, o := range w.offices {
		o.clear(keep)
	}
	if w.storm != nil {
		w.storm.clear(keep)
	}
}

// report prints the faults and the findings.
func (w *world) report(t *testing.T) {
	for _, name := range sortedKeys(w.wrecker.effects) {
		e := w.wrecker.effects[name]
		w.logf("%-24s %3d times, %6d calls failed under it, usable again after at most %v", name, e.times, e.harmed,
			e.slow.Round(10*time.Millisecond))
	}
	if w.storm != nil && len(w.storm.takeovers) > 0 {
		slices.Sort(w.storm.takeovers)
		n := len(w.storm.takeovers)
		w.logf("%d times another machine took over the upkeep, after %v, at most %v", n, w.storm.takeovers[n/2],
			w.storm.takeovers[n-1])
	}
	for _, b := range w.found.list {
		w.logf("BROKEN %s: %s", b.promise, b.text)
	}
	for _, promise := range sortedKeys(w.found.count) {
		t.Errorf("%s was broken %d times with seed %d", promise, w.found.count[promise], w.seed)
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
