package systemtest

import (
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pennypost/internal/clocktest"
	"pennypost/internal/mail"
	"pennypost/internal/room/journal/jetstream/natstest"
)

// TestJumpingClock sets the clock of a running post office forward and back, by the hours of a sleep, by years, and
// to before 1970, and restarts it at each of these times. Waits and watches are served, the files verify, and all
// sent messages are there, each once.
func TestJumpingClock(t *testing.T) {
	if !*attack {
		t.Skip("compiles package time anew; ./test attack runs it")
	}
	program := filepath.Join(t.TempDir(), "pennypostd")
	if err := clocktest.Build(filepath.Dir(program), program, "../.."); errors.Is(err, clocktest.ErrUnknown) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	o := newOffice(t)
	clock := filepath.Join(o.root, "clock")
	o.env = []string{clocktest.Variable + "=" + clock}
	set := func(by time.Duration) {
		t.Helper()
		if err := clocktest.Set(clock, by); err != nil {
			t.Fatal(err)
		}
	}
	set(0)
	d := o.mustServeBy(t, program, loopback)
	// shows reports whether the post office has the set time.
	shows := func(by time.Duration) bool {
		answer, err := http.Get(d.HTTP + "/healthz")
		if err != nil {
			return false
		}
		answer.Body.Close()
		at, err := http.ParseTime(answer.Header.Get("Date"))
		return err == nil && at.Sub(time.Now().Add(by)).Abs() < time.Minute
	}
	o.must(t, "agents", "register", "ann")
	o.must(t, "agents", "register", "bob")
	watch := o.watch(t)
	const day = 24 * time.Hour
	var sent []string
	defer func() {
		if t.Failed() {
			t.Log(d.log)
		}
	}()
	for i, by := range []time.Duration{0, 9 * time.Hour, -30 * day, 400 * day, 0, -60 * 366 * day, time.Minute,
		200 * 365 * day, 0} {
		set(by)
		eventually(t, "the clock has jumped", func() bool { return shows(by) })
		for _, restarted := range []bool{false, true} {
			if restarted {
				if err := d.terminate(); err != nil {
					t.Errorf("at %v: %v", by, err)
				}
				d = o.mustServeBy(t, program, loopback)
				watch = o.watch(t)
			}
			began := len(sent)
			for _, to := range []string{"ann", "bob", "user"} {
				body := fmt.Sprint("step ", i, " to ", to, restarted)
				sent = append(sent, body)
				o.must(t, "send", "--to", to, "--type", "status", "--body", body)
			}
			if got := o.must(t, "inbox", "--as", "ann", "--json"); !strings.Contains(got, sent[began]) {
				t.Errorf("at %v, restarted %v: ann does not see what came", by, restarted)
			}
			o.must(t, "wait", "--as", "bob", "--timeout", "10s")
			eventually(t, "the watch shows it", func() bool {
				return slices.ContainsFunc(watch.events(), func(e event) bool {
					return e.Message != nil && e.Message.Body == sent[len(sent)-1]
				})
			})
			o.must(t, "status")
			o.must(t, "archive")
			o.must(t, "verify")
		}
	}
	var got []string
	for line := range strings.Lines(o.must(t, "export")) {
		if it := decode[mail.Item](t, line); it.From != mail.FromSystem {
			got = append(got, it.Body)
		}
	}
	slices.Sort(got) // archived messages come first
	slices.Sort(sent)
	if !slices.Equal(got, sent) {
		t.Errorf("an export has\n%q\nwant\n%q", got, sent)
	}
	if err := d.terminate(); err != nil {
		t.Error(err)
	}
	servers := natstest.Start(t, 1, natstest.Options{})
	onServers(t, o, servers, "laptop-1", "jetstream")
	set(10 * time.Minute)
	d = o.mustServeBy(t, program)
	const wrong = "the clock of machine laptop-1 is 10m0s ahead of that of the NATS servers"
	eventually(t, "the machines say that a clock is wrong", func() bool {
		return strings.Contains(o.must(t, "machines"), wrong)
	})
	if r := o.run("doctor"); r.code == 0 || !strings.Contains(r.stdout, wrong) {
		t.Errorf("doctor: %+v", r)
	}
	if err := d.terminate(); err != nil {
		t.Error(err)
	}
}
