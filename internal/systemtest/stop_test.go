package systemtest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"pennypost/internal/mail"
)

// TestGracefulStop ends the post office by a signal while agents send, wait and watch, and one has stopped reading.
// It finishes its calls under way, but not for longer than promised; then no acknowledged mail is missing, and
// clients that waited get new mail after the restart.
func TestGracefulStop(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	d := o.mustServe(t)
	for _, name := range []string{"sink", "sleeper", "dreamer"} {
		o.must(t, "agents", "register", name)
	}
	o.stalledReader(t)
	watch := o.watch(t)
	asleep := o.sleepers(t)
	all, stopSenders := o.startSenders(t)
	if err := o.awaitWatchers("5"); err != nil { // two streams, three waits
		t.Fatal(err)
	}
	began := len(watch.events())
	eventually(t, "the stream is running", func() bool { return len(watch.events()) > began+100 })
	if err := d.terminate(); err != nil {
		t.Error(err)
	}
	stopSenders()
	if _, err := os.Lstat(filepath.Join(o.home, "pennypost.sock")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is still there: %v", err)
	}
	if r := o.run("status"); r.code != 6 {
		t.Errorf("status: %+v, want exit 6", r)
	}
	if err := watch.wait(); err != io.EOF {
		t.Errorf("the stream ended with %v, want an end in order", err)
	}
	o.mustServe(t)
	if r := o.run("status"); r.code != 0 {
		t.Errorf("status after the start: %+v, want exit 0", r)
	}
	checkSent(t, all, o.exported(t))
	for i, e := range watch.events() {
		if e.Seq != mail.Seq(i+1) {
			t.Fatalf("event %d of the stream is number %d", i+1, e.Seq)
		}
	}
	for _, name := range []string{"sleeper", "dreamer"} {
		o.must(t, "send", "--to", name, "--body", "good morning")
	}
	asleep()
}

// stalledReader opens the stream of a room with much mail, and never reads it.
func (o *office) stalledReader(t *testing.T) {
	t.Helper()
	o.must(t, "agents", "register", "x", "--room", "big")
	for range 100 {
		if r := o.runWith(strings.Repeat("y", mail.MaxBody), nil, "send", "--room", "big", "--to", "x"); r.code != 0 {
			t.Fatal(r)
		}
	}
	conn, err := net.Dial("unix", filepath.Join(o.home, "pennypost.sock"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if _, err := io.WriteString(conn, "GET /api/v1/rooms/big/events HTTP/1.1\r\nHost: x\r\n"+
		"Authorization: Bearer "+o.operator(t)+"\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
}

// watcher reads a stream to its end.
type watcher struct {
	done chan struct{}
	err  error // why the stream ended; read after done

	mu   sync.Mutex
	seen []event
}

func (o *office) watch(t *testing.T) *watcher {
	t.Helper()
	s, err := o.socket("").events("0", "")
	if err != nil {
		t.Fatal(err)
	}
	w := &watcher{done: make(chan struct{})}
	t.Cleanup(func() { s.close(); <-w.done })
	go func() {
		defer close(w.done)
		for {
			e, err := s.next()
			if err != nil {
				w.err = err
				return
			}
			w.mu.Lock()
			w.seen = append(w.seen, e)
			w.mu.Unlock()
		}
	}()
	return w
}

func (w *watcher) events() []event {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seen
}

func (w *watcher) wait() error {
	<-w.done
	return w.err
}

// sleepers wait in three ways: by the command line, by MCP, and by HTTP, which promises only an answer. The returned
// function checks that the others got their mail.
func (o *office) sleepers(t *testing.T) (awake func()) {
	t.Helper()
	o.env = []string{"PENNYPOST_AUTOSTART=0"} // a waiting process must not start a stopped post office
	defer func() { o.env = nil }()
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	t.Cleanup(cancel)
	cmd := o.command(ctx, "wait", "--as", "sleeper", "--timeout", "60s")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	dreamer := o.mustAgent(t, eraStateless, "--as", "dreamer")
	dreamt := make(chan error, 1)
	go func() {
		text, err := dreamer.call(context.Background(), "wait_for_messages", map[string]any{"timeout_seconds": 60})
		if err == nil && !strings.Contains(text, "good morning") {
			err = errors.New(text)
		}
		dreamt <- err
	}()
	answered := make(chan int, 1)
	go func() {
		a, _ := o.socket("sink").send(ctx, http.MethodGet, room+"/wait?type=cancel&timeout=60", nil)
		answered <- a.status
	}()
	return func() {
		t.Helper()
		if err := cmd.Wait(); err != nil || !strings.Contains(out.String(), "good morning") {
			t.Errorf("pennypost wait over a restart: %v, %s", err, &out)
		}
		if err := <-dreamt; err != nil {
			t.Errorf("wait_for_messages over a restart: %v", err)
		}
		if status := <-answered; status != http.StatusOK && status != 0 {
			t.Errorf("GET …/wait was answered with %d by a post office that stops, want 200 with null: ask again",
				status)
		}
	}
}

// startSenders makes eight senders send until they are stopped.
func (o *office) startSenders(t *testing.T) (all []*sender, stop func()) {
	t.Helper()
	var running sync.WaitGroup
	var acked atomic.Int64
	end := make(chan struct{})
	for i := range 8 {
		s := o.newSender(t, i)
		all = append(all, s)
		running.Go(func() { s.run(end, &acked) })
	}
	stop = sync.OnceFunc(func() {
		time.Sleep(20 * time.Millisecond) // some of them find no post office
		close(end)
		running.Wait()
	})
	t.Cleanup(stop)
	return all, stop
}

// TestInterrupted ends the post office as ^C does.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	d := o.mustServe(t)
	if err := d.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	<-d.done
	if d.err != nil {
		t.Errorf("ended with %v\n%s", d.err, d.log)
	}
}
