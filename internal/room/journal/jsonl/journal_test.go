package jsonl

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"pennypost/internal/mail"
	"pennypost/internal/room/journal"
	"pennypost/internal/room/journal/journaltest"
)

// openOther makes the test binary open the journal in a directory and print the result.
const openOther = "PENNYPOST_TEST_OPEN_JOURNAL"

func TestMain(m *testing.M) {
	if dir := os.Getenv(openOther); dir != "" {
		_, err := Open(dir, Options{})
		fmt.Printf("%s: %v", mail.CodeOf(err), err)
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

func TestContract(t *testing.T) {
	journaltest.Run(t, func(t *testing.T, dir string) journal.Journal { return openDir(t, dir, Options{}) })
}

func openDir(tb testing.TB, dir string, opts Options) *Journal {
	tb.Helper()
	j, err := Open(dir, opts)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { j.Close() })
	return j
}

func TestLock(t *testing.T) {
	dir := t.TempDir()
	j := openDir(t, dir, Options{})
	_, err := Open(dir, Options{})
	if mail.CodeOf(err) != mail.Conflict || !strings.Contains(err.Error(), "this process") ||
		!strings.Contains(err.Error(), dir) {
		t.Errorf("opening twice in one process: %v", err)
	}
	other := func() string {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), openOther+"="+dir)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("the other process: %v\n%s", err, out)
		}
		return string(out)
	}
	want := fmt.Sprintf("process %d", os.Getpid())
	if runtime.GOOS == "windows" {
		want = "another process" // Windows keeps others from reading the number
	}
	if got := other(); !strings.HasPrefix(got, "conflict: ") || !strings.Contains(got, want) {
		t.Errorf("opening in another process = %q, want a conflict with %s", got, want)
	}
	j.Close()
	if got := other(); got != ": <nil>" {
		t.Errorf("opening in another process after Close = %q", got)
	}
	openDir(t, dir, Options{})
}

func TestPrivate(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no permission bits")
	}
	dir := filepath.Join(t.TempDir(), "rooms", "room")
	j := openDir(t, dir, Options{})
	c := newClerk()
	c.append(t, j, 6)
	if err := c.compact(t, j); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(filepath.Dir(dir), func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		want := fs.FileMode(fileMode)
		if e.IsDir() {
			want = dirMode
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s has mode %v, want %v", path, got, want)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// On a real disk, no byte of an erased text remains in any file, including unreadable ones.
func TestEraseEverywhere(t *testing.T) {
	dir := t.TempDir()
	j := openDir(t, dir, Options{})
	c := newClerk()
	c.append(t, j, 9)
	if err := c.compact(t, j); err != nil {
		t.Fatal(err)
	}
	c.append(t, j, 3)
	j.Close()
	damage := func(name, old, damaged string) {
		path := filepath.Join(dir, name)
		b, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(b, []byte(old)) {
			t.Fatalf("%s does not contain %s: %v", name, old, err)
		}
		if err := os.WriteFile(path, bytes.Replace(b, []byte(old), []byte(damaged), 1), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	damage(mainName, secret(6), "X"+secret(6))
	damage("archive/2026-06.jsonl", secret(4), "X"+secret(4))
	j = openDir(t, dir, Options{})
	if rejected := j.Condition().Rejected; rejected != 1 {
		t.Errorf("%d lines were set aside, want 1", rejected)
	}
	if v, err := j.Verify(t.Context()); err != nil || len(v.Problems) != 2 {
		t.Errorf("Verify = %+v, %v, want two problems", v, err)
	}
	// Leftovers that a compaction could not remove, and a foreign file.
	for _, name := range []string{mainName + tmpSuffix, "archive/2026-06.jsonl" + tmpSuffix,
		"index/2026-06.idx" + tmpSuffix, "mailbox.foreign-1.jsonl"} {
		text := fmt.Sprintf("cut off %s %s\n", noteID(1), secret(1))
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	gone := 0
	for n := range 12 {
		k, err := j.Erase(t.Context(), noteID(n), func(e mail.Event) bool {
			return e.Message != nil && e.Message.ID == noteID(n)
		})
		if err != nil {
			t.Fatal(err)
		}
		gone += k
	}
	// Of 12 notes and one that compaction added, 2 and 5 had been dropped; 8 and 9 came later or were last.
	if gone < 9 {
		t.Errorf("%d lines went", gone)
	}
	if rejected := j.Condition().Rejected; rejected != 0 {
		t.Errorf("%d lines are still set aside", rejected)
	}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		for n := range 12 {
			if bytes.Contains(b, []byte(secret(n))) {
				t.Errorf("the text of note %d is in %s", n, path)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	// The damaged lines' content is lost: only their number is known, and that there was a foreign file.
	v, err := j.Verify(t.Context())
	if err != nil || len(v.Problems) != 3 || v.Problems[0].First != 5 || v.Problems[1].First != 7 {
		t.Errorf("Verify = %+v, %v, want that the lines 5 and 7 are missing", v, err)
	}
}

// Appends that arrive during a write share the next batch; one that is cancelled while it waits leaves no trace.
func TestBatch(t *testing.T) {
	written := make(chan int)
	goOn := make(chan struct{})
	d := newMemDisk()
	j, err := Open(memPath, Options{disk: d, watch: -1, OnSync: func(events, _ int, _ time.Duration) {
		written <- events
		<-goOn
	}})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	add := func(n int, want error) context.CancelFunc {
		ctx, cancel := context.WithCancel(context.Background())
		wg.Go(func() {
			if _, err := j.Append(ctx, note(n)); !errors.Is(err, want) {
				t.Errorf("Append of note %d = %v, want %v", n, err, want)
			}
		})
		return cancel
	}
	waits := func(n int) {
		for {
			j.mu.Lock()
			queued := len(j.queue)
			j.mu.Unlock()
			if queued == n {
				return
			}
			runtime.Gosched()
		}
	}
	first := add(0, nil)
	if got := <-written; got != 1 {
		t.Fatalf("the first batch has %d events, want 1", got)
	}
	add(1, nil)
	waits(1)
	leaves := add(2, context.Canceled)
	waits(2)
	stays := add(3, nil)
	waits(3)
	leaves()
	waits(2)
	first() // too late
	goOn <- struct{}{}
	if got := <-written; got != 2 {
		t.Fatalf("the second batch has %d events, want 2", got)
	}
	stays() // too late
	goOn <- struct{}{}
	wg.Wait()
	if names := d.holds(secret(2)); names != nil {
		t.Errorf("the cancelled note is in %v", names)
	}
	go func() {
		<-written
		goOn <- struct{}{}
	}()
	if seq, err := j.Append(t.Context(), note(4)); seq != 4 || err != nil {
		t.Errorf("Append = %d, %v, want 4, nil", seq, err)
	}
	j.Close()
}

// TestBatchTakesAlongWhoIsReady checks that senders that share one processor also share writes, even if the disk is so
// quick that none has to wait for it.
func TestBatchTakesAlongWhoIsReady(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const senders, each, rounds = 16, 8, 10
	const most = senders * each * 3 / 4 // without batches there is one sync per event
	fewest := senders * each
	for range rounds { // a busy machine breaks batches up
		if fewest = min(fewest, batchesOf(t, senders, each)); fewest <= most {
			return
		}
	}
	t.Errorf("%d events were written in %d batches, want at most %d", senders*each, fewest, most)
}

// batchesOf returns the number of batches in which senders write their events. They meet once, at the start.
func batchesOf(t *testing.T, senders, each int) (syncs int) {
	t.Helper()
	j, err := Open(memPath, Options{disk: newMemDisk(), watch: -1, OnSync: func(int, int, time.Duration) { syncs++ }})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	var all sync.WaitGroup
	j.takeLead() // so that they meet
	for range senders {
		all.Go(func() {
			for n := range each {
				if _, err := j.Append(t.Context(), note(n)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for queued := 0; queued <= senders; runtime.Gosched() {
		j.mu.Lock()
		queued = len(j.queue)
		j.mu.Unlock()
	}
	j.giveLead()
	all.Wait()
	return syncs
}

func TestBatchesAreBounded(t *testing.T) {
	var mu sync.Mutex
	most := 0
	j := openDir(t, t.TempDir(), Options{OnSync: func(_, bytes int, _ time.Duration) {
		mu.Lock()
		most = max(most, bytes)
		mu.Unlock()
	}})
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() {
			e := note(i)
			e.Message.Body = strings.Repeat("x", 60_000)
			if _, err := j.Append(t.Context(), e); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if most > maxBatch+10_000 {
		t.Errorf("a batch had %d bytes, want at most %d", most, maxBatch)
	}
	// One call is one batch, however large, with adjacent sequence numbers.
	var events []mail.Event
	for i := range 40 {
		e := note(i)
		e.Message.Body = strings.Repeat("y", 60_000)
		events = append(events, e)
	}
	if seq, err := j.Append(t.Context(), events...); seq != 140 || err != nil {
		t.Errorf("Append of 2.4 MB = %d, %v, want 140, nil", seq, err)
	}
}

// Live followers share appended events; one that falls out of the tail reads them from the file.
func TestTail(t *testing.T) {
	j := openDir(t, t.TempDir(), Options{})
	sleeper := j.Follow(0)
	defer sleeper.Close()
	c := j.Follow(0)
	defer c.Close()
	const n, size = 200, 50_000
	var sent []*mail.Message
	for i := range n {
		e := note(i)
		e.Message.Body = strings.Repeat("z", size)
		sent = append(sent, e.Message)
		if _, err := j.Append(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		events, err := c.Next(t.Context())
		if err != nil || len(events) != 1 || events[0].Message != e.Message {
			t.Fatalf("a live follower got %d events, %v, want the one that was appended", len(events), err)
		}
	}
	near := j.Follow(n - 3)
	defer near.Close()
	if events, err := near.Next(t.Context()); err != nil || len(events) != 1 || events[0].Message != sent[n-3] {
		t.Errorf("a follower that is a little behind got %d events, %v, want the one that was appended", len(events),
			err)
	}
	if got := j.tail.bytes; got > tailBytes+2*size {
		t.Errorf("the tail holds %d bytes, want at most %d", got, tailBytes)
	}
	for want := mail.Seq(1); want <= n; {
		events, err := sleeper.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			if e.Seq != want || len(e.Message.Body) != size {
				t.Fatalf("the sleeper got %d, want %d", e.Seq, want)
			}
			want++
		}
	}
}

// Waiting followers read nothing: a room has many, and they wait most of the time.
func TestWaitingReadsNothing(t *testing.T) {
	d := newMemDisk()
	j, err := openMem(d)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	newClerk().append(t, j, 3)
	c := j.Follow(3)
	defer c.Close()
	before := d.reads
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
	defer cancel()
	if _, err := c.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Next = %v, want %v", err, context.DeadlineExceeded)
	}
	if d.reads != before {
		t.Errorf("a waiting follower read the file %d times", d.reads-before)
	}
}

func TestCloseStopsCompaction(t *testing.T) {
	j := openDir(t, t.TempDir(), Options{})
	c := newClerk()
	c.append(t, j, 9)
	compacting, closed := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(closed)
		<-compacting
		if err := j.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}()
	var once sync.Once
	err := j.Compact(t.Context(), func(mail.Event) journal.Fate {
		once.Do(func() { close(compacting) })
		<-j.closed
		return journal.Drop
	})
	if !errors.Is(err, journal.ErrClosed) {
		t.Errorf("Compact = %v, want %v", err, journal.ErrClosed)
	}
	<-closed
}

// Compaction without work must not touch the disk: it runs every hour in every room.
func TestCompactNothing(t *testing.T) {
	d := newMemDisk()
	j, err := openMem(d)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	newClerk().append(t, j, 3)
	before := d.calls
	if err := j.Compact(t.Context(), func(mail.Event) journal.Fate { return journal.Keep }); err != nil {
		t.Fatal(err)
	}
	if d.calls != before {
		t.Errorf("it made %d calls", d.calls-before)
	}
}

// Disk errors keep their cause for the log, and tell a person what to do.
func TestPoisonMessage(t *testing.T) {
	d := newMemDisk()
	j, err := openMem(d)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	d.fault = func(_ int, op string) fault {
		if op == "sync" {
			return fails
		}
		return works
	}
	_, err = j.Append(t.Context(), note(0))
	if mail.CodeOf(err) != mail.Unavailable || !errors.Is(err, errInjected) ||
		!strings.Contains(err.Error(), "as soon as it can be written") {
		t.Errorf("Append on a failing disk = %v", err)
	}
	d.fault = nil
	if _, again := j.Append(t.Context(), note(0)); again != err {
		t.Errorf("Append after that = %v, want %v", again, err)
	}
	if err := j.Compact(t.Context(), noteFate); !errors.Is(err, errInjected) {
		t.Errorf("Compact after that = %v", err)
	}
	if _, err := j.Erase(t.Context(), noteID(0), func(mail.Event) bool { return true }); !errors.Is(err, errInjected) {
		t.Errorf("Erase after that = %v", err)
	}
}
