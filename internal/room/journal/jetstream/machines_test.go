package jetstream

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"pennypost/internal/mail"
	"pennypost/internal/room/journal/jetstream/natstest"
)

// dialMachine returns a machine's connection to servers.
func dialMachine(t *testing.T, urls ...string) *nats.Conn {
	t.Helper()
	nc, err := nats.Connect(strings.Join(urls, ","), nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1),
		nats.ReconnectWait(50*time.Millisecond), nats.ReconnectBufSize(-1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

// startMachine runs a machine until stop.
func startMachine(t *testing.T, nc *nats.Conn, opts MachineOptions) (m *Machines, stop func()) {
	t.Helper()
	opts.Prefix = t.Name()
	m, err := NewMachines(t.Context(), nc, opts)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := m.Run(ctx); err != nil {
			t.Errorf("Run of %s = %v", opts.Name, err)
		}
	})
	stop = sync.OnceFunc(func() { cancel(); running.Wait() })
	t.Cleanup(stop)
	return m, stop
}

// awaitMachines waits for a condition.
func awaitMachines(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not in time: %s", what)
		}
	}
}

func machineIn(m *Machines, name mail.Machine) (mail.MachineStatus, bool) {
	for _, st := range m.List() {
		if st.Name == name {
			return st, true
		}
	}
	return mail.MachineStatus{}, false
}

func TestMachines(t *testing.T) {
	t.Parallel()
	servers := natstest.Start(t, 1, natstest.Options{})
	a, _ := startMachine(t, dialMachine(t, servers.URLs()...),
		MachineOptions{Name: "a.example", ID: "1", Version: "v1"})
	b, stop := startMachine(t, dialMachine(t, servers.URLs()...), MachineOptions{Name: "b", ID: "2", Version: "v2",
		Skew: func() time.Duration { return 1500 * time.Millisecond }, Rooms: func() int { return 7 }})
	awaitMachines(t, "a hears b", func() bool { _, ok := machineIn(a, "b"); return ok })
	awaitMachines(t, "b hears a", func() bool { _, ok := machineIn(b, "a.example"); return ok })
	if st, _ := machineIn(a, "b"); st.Version != "v2" || st.Skew != 1500 || st.Rooms != 7 || st.Away || st.Here {
		t.Errorf("a says of b: %+v", st)
	}
	if st, _ := machineIn(b, "b"); !st.Here || st.Away {
		t.Errorf("b says of itself: %+v", st)
	}
	if err := a.Remove(t.Context(), "b"); mail.CodeOf(err) != mail.Conflict {
		t.Errorf("a machine that is there is removed: %v", err)
	}
	stop()
	stopped := time.Now()
	if a.Away("b") {
		t.Error("b is away before it was silent for 10 s")
	}
	awaitMachines(t, "b is away", func() bool { return a.Away("b") })
	if took := time.Since(stopped); took < awayAfter-beatEvery || took > awayAfter+beatEvery {
		t.Errorf("b was away after %v", took)
	}
	// a machine that starts later knows b from the list
	c, _ := startMachine(t, dialMachine(t, servers.URLs()...), MachineOptions{Name: "c", ID: "3"})
	awaitMachines(t, "c knows of b", func() bool { _, ok := machineIn(c, "b"); return ok })
	if c.Away("b") {
		t.Error("c calls b away, and has not listened for 10 s")
	}
	if err := a.Remove(t.Context(), "b"); err != nil {
		t.Error(err)
	}
	if _, ok := machineIn(a, "b"); ok {
		t.Error("b was removed and is listed")
	}
	if err := a.Remove(t.Context(), "b"); mail.CodeOf(err) != mail.NotFound {
		t.Errorf("removed again: %v", err)
	}
}

// A name belongs to one data directory, however many post offices claim it at the same time, and whether or not the
// owner is there.
func TestMachineNameIsTaken(t *testing.T) {
	t.Parallel()
	servers := natstest.Start(t, 1, natstest.Options{})
	nc := dialMachine(t, servers.URLs()...)
	got := make(map[string]error)
	var mu sync.Mutex
	var starting sync.WaitGroup
	for _, id := range []string{"1", "2", "3", "4"} {
		starting.Go(func() {
			_, err := NewMachines(t.Context(), nc, MachineOptions{Name: "a", ID: id, Prefix: t.Name()})
			mu.Lock()
			defer mu.Unlock()
			got[id] = err
		})
	}
	starting.Wait()
	owner := ""
	for id, err := range got {
		if err == nil {
			owner += id
		} else if mail.CodeOf(err) != mail.Conflict || !strings.Contains(err.Error(), "pennypost machines remove a") {
			t.Errorf("refused with: %v", err)
		}
	}
	if len(owner) != 1 {
		t.Fatalf("the name is that of %q", owner)
	}
	if _, err := NewMachines(t.Context(), nc, MachineOptions{Name: "a", ID: owner, Prefix: t.Name()}); err != nil {
		t.Errorf("the owner comes back: %v", err)
	}
}

// A post office that started without servers finds out when they are back that its name is another's, and ends.
func TestMachineNameIsTakenLate(t *testing.T) {
	t.Parallel()
	servers := natstest.Start(t, 1, natstest.Options{})
	startMachine(t, dialMachine(t, servers.URLs()...), MachineOptions{Name: "a", ID: "1"})
	servers.Servers[0].Kill()
	late, err := NewMachines(t.Context(), dialMachine(t, servers.URLs()...),
		MachineOptions{Name: "a", ID: "2", Prefix: t.Name()})
	if err != nil {
		t.Fatal(err)
	}
	if err := servers.Servers[0].Start(); err != nil {
		t.Fatal(err)
	}
	if err := late.Run(t.Context()); mail.CodeOf(err) != mail.Conflict {
		t.Errorf("Run = %v, want that the name is taken", err)
	}
}

// Silence counts only while the servers can be heard.
func TestNobodyIsAwayForWhoIsDeaf(t *testing.T) {
	t.Parallel()
	servers := natstest.Start(t, 1, natstest.Options{})
	m, _ := startMachine(t, dialMachine(t, servers.URLs()...), MachineOptions{Name: "a", ID: "1"})
	startMachine(t, dialMachine(t, servers.URLs()...), MachineOptions{Name: "b", ID: "2"})
	awaitMachines(t, "a hears b", func() bool { _, ok := machineIn(m, "b"); return ok })
	servers.Servers[0].Kill()
	for silent := time.Now(); time.Since(silent) < awayAfter+beatEvery; time.Sleep(20 * time.Millisecond) {
		if m.Away("b") {
			t.Fatalf("b is away after %v without servers", time.Since(silent))
		}
	}
	if err := servers.Servers[0].Start(); err != nil {
		t.Fatal(err)
	}
	heard := time.Now()
	awaitMachines(t, "a hears b again", func() bool { st, _ := machineIn(m, "b"); return st.Heard.Std().After(heard) })
	if m.Away("b") {
		t.Error("b is heard and away")
	}
}

func TestAsk(t *testing.T) {
	t.Parallel()
	servers := natstest.Start(t, 1, natstest.Options{})
	a, _ := startMachine(t, dialMachine(t, servers.URLs()...), MachineOptions{Name: "a", ID: "1"})
	b, stop := startMachine(t, dialMachine(t, servers.URLs()...), MachineOptions{Name: "b.example", ID: "2"})
	long := bytes.Repeat([]byte("0123456789abcdef"), 100_000) // larger than one message
	b.Serve("long", func(_ context.Context, from mail.Machine, request []byte) ([]byte, error) {
		return append([]byte(string(from)+" "+string(request)+" "), long...), nil
	})
	b.Serve("refuse", func(context.Context, mail.Machine, []byte) ([]byte, error) {
		return nil, mail.Errorf(mail.Denied, "not for you")
	})
	b.Serve("fail", func(context.Context, mail.Machine, []byte) ([]byte, error) {
		return nil, context.DeadlineExceeded
	})
	b.Serve("huge", func(context.Context, mail.Machine, []byte) ([]byte, error) {
		return make([]byte, MaxAnswer+1), nil
	})
	b.Serve("slow", func(ctx context.Context, _ mail.Machine, _ []byte) ([]byte, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	awaitMachines(t, "b listens", func() bool {
		_, err := a.Ask(t.Context(), "b.example", "long", nil)
		return err == nil
	})
	text, err := a.Ask(t.Context(), "b.example", "long", []byte("x"))
	if err != nil || !bytes.Equal(text, append([]byte("a x "), long...)) {
		t.Errorf("Ask = %d bytes, %v", len(text), err)
	}
	short, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	for _, tt := range []struct {
		ctx         context.Context
		to          mail.Machine
		subject     string
		request     int
		want        mail.Code
		wantMessage string
	}{
		{t.Context(), "b.example", "refuse", 0, mail.Denied, "not for you"},
		{t.Context(), "b.example", "fail", 0, mail.Internal, "its log"},
		{t.Context(), "b.example", "huge", 0, mail.TooLarge, "bytes"},
		{t.Context(), "b.example", "other", 0, mail.NotFound, "older"},
		{t.Context(), "b.example", "long", MaxAsk + 1, mail.TooLarge, "request"},
		{t.Context(), "nobody", "long", 0, mail.Unavailable, "nobody is not running"},
		{short, "b.example", "slow", 0, mail.Timeout, "in time"},
	} {
		_, err := a.Ask(tt.ctx, tt.to, tt.subject, make([]byte, tt.request))
		if mail.CodeOf(err) != tt.want || !strings.Contains(err.Error(), tt.wantMessage) {
			t.Errorf("Ask(%s, %s) = %v, want %s", tt.to, tt.subject, err, tt.want)
		}
	}
	stop()
	awaitMachines(t, "one that has gone is not there", func() bool { // the servers find out one by one
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		_, err := a.Ask(ctx, "b.example", "long", nil)
		return mail.CodeOf(err) == mail.Unavailable
	})
}
