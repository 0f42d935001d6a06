package claudeteams

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pennypost/internal/base/confined"
	"pennypost/internal/mail"
)

// With this variable the test binary is a separate writer: it gives a path, a sender and a number of messages.
const writerEnv = "PENNYPOST_TEST_TEAM_WRITER"

func TestMain(m *testing.M) {
	if job := os.Getenv(writerEnv); job != "" {
		var path, from string
		var n int
		if _, err := fmt.Sscan(job, &path, &from, &n); err != nil {
			panic(err)
		}
		if n == 0 {
			holdForEver(path)
		}
		write(path, from, n, func(i int) { fmt.Println(i) })
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// write adds n messages, one at a time, with as many tries as it takes, and calls wrote after each.
func write(path, from string, n int, wrote func(int)) {
	b := inboxAt(path, "t", strings.TrimSuffix(filepath.Base(path), ".json"))
	for i := range n {
		e := entry{From: from, Text: fmt.Sprint(i), Summary: "s", Timestamp: "2026-05-10T14:00:00.000Z"}
		for {
			err := b.edit(locker{context.Background(), lockTries}, func() (changes, error) {
				return changes{add: [][]byte{e.neat()}}, nil
			})
			if err == nil {
				break
			}
			if mail.CodeOf(err) != mail.Unavailable {
				panic(err)
			}
		}
		if wrote != nil {
			wrote(i)
		}
	}
}

// holdForEver takes the lock of a file, reports that, and keeps it.
func holdForEver(path string) {
	l := locker{context.Background(), lockTries}
	_ = l.hold(confined.At(filepath.Dir(path)), filepath.Base(path), func(func() error) error {
		fmt.Println("held")
		select {}
	})
}

// heldBy starts a process that takes the lock of an inbox, and returns a function that kills it.
func heldBy(t testing.TB, path string) (kill func()) {
	t.Helper()
	cmd, out := another(t, path, "holder", 0)
	if !bufio.NewScanner(out).Scan() {
		t.Fatal("nobody has the lock")
	}
	return func() {
		t.Helper()
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		if !there(path + ".lock") {
			t.Fatal("no lock was left")
		}
	}
}

// TestOurOwnLock: a lock left by a killed process of ours can be taken over immediately, before it is stale. A lock
// of a live process cannot.
func TestOurOwnLock(t *testing.T) {
	t.Parallel()
	path := filepath.Join(quickDir(t), "a.json")
	b := inboxAt(path, "t", "a")
	add := func(l locker) error {
		return b.edit(l, func() (changes, error) { return changes{add: [][]byte{[]byte(`{}`)}}, nil })
	}
	kill := heldBy(t, path)
	if err := add(locker{t.Context(), 0}); mail.CodeOf(err) != mail.Unavailable {
		t.Errorf("while its holder lives: %v", err)
	}
	left := filepath.Join(filepath.Dir(path), ".a.json.123.tmp")
	if err := os.WriteFile(left, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	kill()
	began := time.Now()
	if err := add(locker{t.Context(), lockTries}); err != nil || time.Since(began) > time.Second {
		t.Errorf("when its holder is dead: %v, after %v", err, time.Since(began))
	}
	if there(path+".lock") || there(left) {
		t.Error("the lock, or what its holder left, is still there")
	}
}

// TestLockLeftByUs: a lock left by a killed process of ours does not block Claude Code, even if we have nothing to
// write. A lock of Claude Code stays.
func TestLockLeftByUs(t *testing.T) {
	h := newHQ(t, "alpha")
	h.put("tester")
	heldBy(t, h.inbox("tester"))()
	theirs := h.inbox("reviewer") + ".lock"
	if err := os.Mkdir(theirs, 0o700); err != nil {
		t.Fatal(err)
	}
	h.Bridge("")
	h.eventually("our lock is gone", func() bool {
		h.Sync()
		return !there(h.inbox("tester") + ".lock")
	})
	if !there(theirs) {
		t.Error("their lock is gone too")
	}
}

// another starts this binary as a writer.
func another(t testing.TB, path, from string, n int) (*exec.Cmd, io.Reader) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %s %d", writerEnv, path, from, n))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	return cmd, out
}

// quickDir returns a directory in memory if there is one: five thousand disk flushes would not improve the test.
func quickDir(t testing.TB) string {
	dir, err := os.MkdirTemp("/dev/shm", "pennypost-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// texts returns each sender's messages in order.
func texts(t testing.TB, path string) map[string][]string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var all []struct{ From, Text string }
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	if a, ok := parseInbox(text, 0); !ok || !a.neat {
		t.Errorf("the inbox is not laid out as Claude Code does")
	}
	out := make(map[string][]string)
	for _, e := range all {
		out[e.From] = append(out[e.From], e.Text)
	}
	return out
}

// TestCC14_ManyWriters also covers X4. Most writers are goroutines, ten are processes.
func TestCC14_ManyWriters(t *testing.T) {
	writers, each := 50, 100/patience
	if testing.Short() {
		writers, each = 20, 20/patience
	}
	path := filepath.Join(quickDir(t), "team-lead.json")
	if err := os.WriteFile(path, []byte("[]"), 0o600); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for w := range writers {
		name := fmt.Sprint("w", w)
		if w < 10 {
			cmd, out := another(t, path, name, each)
			all.Go(func() {
				_, _ = io.Copy(io.Discard, out)
				if err := cmd.Wait(); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			})
			continue
		}
		all.Go(func() { write(path, name, each, nil) })
	}
	done := make(chan struct{})
	var reader sync.WaitGroup
	reader.Go(func() {
		last := 0
		for looks := 0; ; looks++ {
			text, err := os.ReadFile(path)
			if err != nil || !json.Valid(text) || len(text) < last {
				t.Errorf("CC-14 a reader saw %d bytes that are no JSON, or less than before (%v)", len(text), err)
			}
			last = len(text)
			select {
			case <-done:
				t.Logf("%d looks", looks)
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	})
	all.Wait()
	close(done)
	reader.Wait()
	got := texts(t, path)
	total := 0
	for w := range writers {
		name := fmt.Sprint("w", w)
		total += len(got[name])
		for i, text := range got[name] {
			if text != fmt.Sprint(i) {
				t.Errorf("CC-14 message %d of %s is %s", i, name, text)
			}
		}
	}
	if total != writers*each {
		t.Errorf("CC-14 the array has %d messages, want %d", total, writers*each)
	}
}

// TestKilledWriter: a writer killed at any moment leaves a whole file with everything that it acknowledged, and
// blocks no one, even if it held the lock.
func TestKilledWriter(t *testing.T) {
	rounds := 15
	if testing.Short() {
		rounds = 4
	}
	dir := quickDir(t)
	path := filepath.Join(dir, "a.json")
	for round := range rounds {
		from := fmt.Sprint("w", round)
		cmd, out := another(t, path, from, 1_000_000)
		acknowledged := 0
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if acknowledged++; acknowledged == 20+round {
				if err := cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
		}
		_ = cmd.Wait()
		n := len(texts(t, path)[from])
		if n != acknowledged && n != acknowledged+1 {
			t.Errorf("%d messages, of which %d were acknowledged", n, acknowledged)
		}
		if there(path + ".lock") {
			t.Logf("round %d: killed while it had the lock", round)
		}
		began := time.Now()
		if write(path, "heir", 1, nil); time.Since(began) > staleAfter/2 {
			t.Errorf("who came after had to wait %v", time.Since(began))
		}
	}
	if n := len(texts(t, path)["heir"]); n != rounds {
		t.Errorf("those who came after wrote %d messages, want %d", n, rounds)
	}
	if _, err := os.Stat(path + ".lock"); err == nil {
		t.Error("the lock is still there")
	}
}

func TestLock(t *testing.T) {
	t.Parallel() // it mostly waits
	path := filepath.Join(t.TempDir(), "a.json")
	dir := path + ".lock"
	b := inboxAt(path, "t", "a")
	add := func(ctx context.Context) error {
		return b.edit(locker{ctx, lockTries}, func() (changes, error) {
			return changes{add: [][]byte{[]byte(`{}`)}}, nil
		})
	}
	foreign := func(age time.Duration) time.Time {
		t.Helper()
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		at := time.Now().Add(-age).Truncate(time.Millisecond)
		if err := os.Chtimes(dir, at, at); err != nil {
			t.Fatal(err)
		}
		return at
	}
	t.Run("somebody else's, fresh", func(t *testing.T) {
		at := foreign(5 * time.Second)
		err := add(t.Context())
		if mail.CodeOf(err) != mail.Unavailable || !strings.Contains(err.Error(), "another process holds the lock") {
			t.Errorf("add: %v", err)
		}
		if info, err := os.Stat(dir); err != nil || !info.ModTime().Equal(at) {
			t.Errorf("the lock was touched: %v", err)
		}
		if text, err := os.ReadFile(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the inbox is %q, %v", text, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := add(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("add after the end: %v", err)
		}
		if err := os.Remove(dir); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("given back while we wait", func(t *testing.T) {
		foreign(0)
		time.AfterFunc(50*time.Millisecond, func() { os.Remove(dir) })
		if err := add(t.Context()); err != nil {
			t.Errorf("add: %v", err)
		}
	})
	t.Run("stale", func(t *testing.T) {
		foreign(staleAfter + time.Second)
		left := filepath.Join(filepath.Dir(path), ".a.json.123.tmp")
		if err := os.WriteFile(left, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := add(t.Context()); err != nil {
			t.Errorf("add: %v", err)
		}
		if there(dir) || there(left) {
			t.Error("the lock, or what its holder left, is still there")
		}
	})
	for name, take := range map[string]func(){
		"taken away":  func() { os.Remove(dir) },
		"touched":     func() { _ = os.Chtimes(dir, time.Time{}, time.Now().Add(time.Second)) },
		"made anew":   func() { os.Remove(dir); os.Mkdir(dir, 0o700) },
		"now a file":  func() { os.Remove(dir); _ = os.WriteFile(dir, nil, 0o600) },
		"not emptied": func() { os.Remove(dir); os.MkdirAll(filepath.Join(dir, "x"), 0o700) },
	} {
		t.Run("lost: "+name, func(t *testing.T) {
			before, _ := os.ReadFile(path)
			err := b.edit(locker{t.Context(), lockTries}, func() (changes, error) {
				take()
				return changes{add: [][]byte{[]byte(`{}`)}}, nil
			})
			if mail.CodeOf(err) != mail.Unavailable && err == nil {
				t.Errorf("edit: %v", err)
			}
			if after, _ := os.ReadFile(path); string(after) != string(before) {
				t.Errorf("it was written: %s", after)
			}
			if name != "taken away" && !there(dir) {
				t.Error("somebody else's lock was removed")
			}
			os.RemoveAll(dir)
		})
	}
}

// TestInboxMadeWhole: a reader of a new inbox finds no file or a whole one.
func TestInboxMadeWhole(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const inboxes = 40
	var path atomic.Pointer[string]
	path.Store(new(filepath.Join(dir, "0.json")))
	done := make(chan struct{})
	var readers sync.WaitGroup
	for range 3 {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				name := *path.Load()
				text, err := os.ReadFile(name)
				if errors.Is(err, fs.ErrNotExist) {
					continue
				}
				if a, ok := parseInbox(text, 0); err != nil || !ok || len(a.elements) == 0 {
					t.Errorf("%s holds %q, %v", filepath.Base(name), text, err)
				}
			}
		})
	}
	for i := range inboxes {
		name := filepath.Join(dir, strconv.Itoa(i)+".json")
		path.Store(&name)
		var writers sync.WaitGroup
		for _, from := range []string{"ann", "bob"} {
			writers.Go(func() { write(name, from, 1, nil) })
		}
		writers.Wait()
		if text, _ := os.ReadFile(name); bytes.Count(text, []byte(`"from"`)) != 2 {
			t.Errorf("%s holds %s, want what both wrote", name, text)
		}
	}
	close(done)
	readers.Wait()
}
