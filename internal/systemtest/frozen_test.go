package systemtest

import (
	"strings"
	"sync"
	"testing"
	"time"

	"pennypost/internal/suspendtest"
)

// answerWithin is the promised time of a call to a post office that accepts connections but does not answer, plus
// the time that starting a process may take on a busy machine.
const answerWithin = 10*time.Second + 5*time.Second

// A post office that is stopped, as by SIGSTOP, delays no client for long; messages sent with a key meanwhile are
// sent once.
func TestFrozen(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	d := o.mustServe(t)
	o.must(t, "agents", "register", "ann")
	if err := suspendtest.Suspend(d.cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	defer suspendtest.Resume(d.cmd.Process.Pid)
	var all sync.WaitGroup
	for _, args := range [][]string{
		{"send", "--to", "ann", "--body", "x", "--key", "k"}, {"inbox"}, {"history"}, {"agents"}, {"rooms"},
		{"status"}, {"export"},
		{"wait", "--timeout", "forever"}, {"wait", "--timeout", "5m"}, {"watch"}, {"watch", "--after", "0"},
		{"mark", "--all", "--read"},
	} {
		all.Go(func() {
			began := time.Now()
			r := o.run(args...)
			if took := time.Since(began); r.code != 6 || took > answerWithin ||
				!strings.Contains(r.stdout+r.stderr, "does not answer") {
				t.Errorf("pennypost %q: exit %d after %v, want 6\n%s%s", args, r.code, took, r.stdout, r.stderr)
			}
		})
	}
	all.Wait()
	_ = suspendtest.Resume(d.cmd.Process.Pid)
	o.must(t, "send", "--to", "ann", "--body", "x", "--key", "k")
	if n := strings.Count(o.must(t, "history", "--json"), `"body":"x"`); n != 1 {
		t.Errorf("%d messages, want 1", n)
	}
}

// Calls that wait when the post office freezes end too.
func TestFreezesUnderWaits(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	d := o.mustServe(t)
	o.must(t, "agents", "register", "ann")
	watch := o.command(t.Context(), "watch", "--all", "--json", "--after", "0")
	seen := new(buffer)
	watch.Stdout = seen
	if err := watch.Start(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(patience); seen.String() == ""; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the watch sees nothing")
		}
	}
	if err := suspendtest.Suspend(d.cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	defer suspendtest.Resume(d.cmd.Process.Pid)
	ended := make(chan error, 1)
	go func() { ended <- watch.Wait() }()
	select {
	case err := <-ended:
		if err == nil || !strings.Contains(err.Error(), "exit status 6") {
			t.Errorf("the watch ended with %v, want exit status 6", err)
		}
	case <-time.After(2 * answerWithin):
		t.Error("the watch goes on")
	}
}
