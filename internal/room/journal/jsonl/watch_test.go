package jsonl

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"pennypost/internal/mail"
)

// removeDir removes a directory with its content.
func (d *memDisk) removeDir(path string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	maps.DeleteFunc(d.dirs, func(dir string, _ *memDir) bool {
		return dir == path || strings.HasPrefix(dir, path+"/")
	})
}

// outside lists what people and programs do to the file of a running post office. Foreign is the content that must
// then be in a foreign file.
var outside = []struct {
	name    string
	do      func(d *memDisk)
	foreign string
}{
	{"sed -i", func(d *memDisk) { d.put(mainPath, []byte(chainOf(2)[1:])) }, chainOf(2)[1:]},
	{"replaced by an older one", func(d *memDisk) { d.put(mainPath, []byte(chainOf(1))) }, ""},
	{"replaced by something else", func(d *memDisk) { d.put(mainPath, []byte("hello")) }, "hello"},
	{"replaced by more", func(d *memDisk) { d.put(mainPath, []byte(chainOf(50))) }, chainOf(50)},
	{"rm", func(d *memDisk) { _ = d.Remove(mainPath) }, ""},
	{"rm -r", func(d *memDisk) { d.removeDir(memPath) }, ""},
	{"truncated", func(d *memDisk) { d.dirs[memPath].names[mainName].data = nil }, ""},
	{"cut within a line", func(d *memDisk) {
		node := d.dirs[memPath].names[mainName]
		node.data = node.data[:len(node.data)-10]
	}, ""},
	{"a line taken out in place", func(d *memDisk) {
		lines := bytes.SplitAfter(d.content(mainPath), []byte("\n"))
		d.dirs[memPath].names[mainName].data = bytes.Join(slices.Delete(lines, 1, 2), nil)
	}, ""},
}

// The open file is the truth: acknowledged events are back at the path before the next answer, within a second without
// one, and after a stop.
func TestOpenFileIsTheTruth(t *testing.T) {
	for _, test := range outside {
		for when, then := range map[string]func(*clerk, *Journal){
			"a send": func(c *clerk, j *Journal) { c.append(t, j, 1) },
			"a look": func(_ *clerk, j *Journal) { j.look() },
			"a stop": func(_ *clerk, j *Journal) { j.Close() },
			"sends":  func(c *clerk, j *Journal) { c.append(t, j, 2); c.append(t, j, 1); j.look() },
		} {
			t.Run(test.name+", then "+when, func(t *testing.T) {
				d := newMemDisk()
				j, err := openMem(d)
				if err != nil {
					t.Fatal(err)
				}
				c := newClerk()
				c.append(t, j, 3)
				c.append(t, j, 2)
				test.do(d)
				then(c, j)
				if c.poison != nil {
					t.Fatalf("Append: %v", c.poison)
				}
				if got, want := string(d.content(mainPath)), chainOf(c.next); got != want {
					t.Errorf("the file is\n%s\nwant\n%s", got, want)
				}
				if n := news(j); len(n) != 1 {
					t.Errorf("the person is told %v", n)
				}
				if got := d.content(filepath.Join(memPath, "mailbox.foreign-1.jsonl")); string(got) != test.foreign {
					t.Errorf("set aside: %q, want %q", got, test.foreign)
				}
				if now := j.Condition(); (now.Rejected == 1) != (test.foreign != "") {
					t.Errorf("condition: %+v", now)
				}
				if when == "a stop" {
					c.reopen(t, d)
					return
				}
				c.erase(j, 0)
				c.check(t, d, j)
				if err := c.compact(t, j); err != nil {
					t.Error(err)
				}
				c.check(t, d, j)
				j.Close()
				c.reopen(t, d)
			})
		}
	}
}

// The directory is removed, and another process makes it again and works there before this one checks. This one gives
// way for good, and its acknowledged events are saved beside the other's journal.
func TestGivesWay(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "lab")
	j := openDir(t, dir, Options{watch: -1})
	c := newClerk()
	c.append(t, j, 3)
	if err := os.RemoveAll(dir); err != nil {
		t.Skip(err) // Windows
	}
	other := openDir(t, dir, Options{watch: -1})
	theirs := newClerk()
	theirs.append(t, other, 2)
	for range 3 {
		j.look()
		j.healAt = time.Time{}
	}
	if c.append(t, j, 1); c.poison == nil {
		t.Error("two post offices write to one room")
	}
	other.Close()
	j.healAt = time.Time{}
	j.look()
	if b, err := os.ReadFile(filepath.Join(dir, mainName)); err != nil || string(b) != chainOf(2) {
		t.Errorf("the other's journal: %v\n%s", err, b)
	}
	found, err := filepath.Glob(filepath.Join(dir, "mailbox.foreign-*.jsonl"))
	if err != nil || len(found) != 1 {
		t.Fatalf("set aside: %v, %v", found, err)
	}
	if b, err := os.ReadFile(found[0]); err != nil || string(b) != chainOf(3) {
		t.Errorf("kept beside it: %v\n%s", err, b)
	}
}

// Events from before Open are not in memory: if the file is emptied in place, they are lost, and named.
func TestEmptiedInPlace(t *testing.T) {
	d := filled(t, 4)
	j, err := openMem(d)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	c := newClerk()
	c.next = 4
	c.append(t, j, 2)
	d.dirs[memPath].names[mainName].data = nil
	c.append(t, j, 1)
	v, err := j.Verify(t.Context())
	if got := ranges(v.Problems); err != nil || len(got) != 1 || got[0] != "1-4" || len(v.Problems) != 1 {
		t.Errorf("Verify = %+v, %v, want that 1 to 4 are missing", v, err)
	}
	if hot, _ := c.hot(t, j); len(hot) != 3 {
		t.Errorf("the journal has %v, want the three notes since it was opened", hot)
	}
	if n := news(j); len(n) != 1 || !strings.Contains(n[0].Body, "4 lines could not") {
		t.Errorf("the person is told %v", n)
	}
}

// Every disk call fails while the file is brought back: acknowledged events stay acknowledged, and are there once the
// disk works.
func TestBringBackFaults(t *testing.T) {
	for _, test := range outside {
		for _, what := range []fault{fails, succeeds} {
			for at := 1; ; at++ {
				d := newMemDisk()
				c := newClerk()
				j, err := openMem(d)
				if err != nil {
					t.Fatal(err)
				}
				c.append(t, j, 4)
				test.do(d)
				hit := ""
				from := d.calls
				d.fault = func(call int, op string) fault {
					if call != from+at {
						return works
					}
					hit = op
					return what
				}
				c.append(t, j, 2)
				c.append(t, j, 1)
				j.look()
				d.fault, c.poison = nil, nil
				c.append(t, j, 2) // without a restart
				if c.poison != nil {
					t.Errorf("after the fault: %v", c.poison)
				}
				c.check(t, d, j)
				j.Close()
				c.reopen(t, d)
				if t.Failed() {
					t.Fatalf("%s, when call %d (%s) fails: %d", test.name, at, hit, what)
				}
				if hit == "" {
					break
				}
			}
		}
	}
}

// A full disk refuses appends, and takes them again when there is space, without a restart. Refused events are not
// found.
func TestFullDisk(t *testing.T) {
	d := newMemDisk()
	j, err := openMem(d)
	if err != nil {
		t.Fatal(err)
	}
	c := newClerk()
	c.append(t, j, 3)
	full := true
	d.fault = func(_ int, op string) fault {
		if full && (op == "write" || op == "create") {
			return fails
		}
		return works
	}
	for range 3 {
		_, err := j.Append(t.Context(), note(50))
		if mail.CodeOf(err) != mail.Unavailable || !errors.Is(err, errInjected) ||
			!strings.Contains(err.Error(), "Nothing was stored") {
			t.Errorf("Append to a full disk = %v", err)
		}
		j.look()
	}
	if err := j.Condition().Broken; err != nil {
		t.Errorf("a full disk broke the journal: %v", err)
	}
	full = false
	c.append(t, j, 2)
	if got, want := string(d.content(mainPath)), chainOf(5); got != want {
		t.Errorf("the file is\n%s\nwant\n%s", got, want)
	}
	if n := news(j); len(n) != 1 || !strings.Contains(n[0].Body, "3 attempts") {
		t.Errorf("the person is told %v", n)
	}
	j.Close()
	c.reopen(t, d)
}

// The power is cut right after a full disk refused: the refused events are not there either.
func TestFullDiskThenCut(t *testing.T) {
	d := newMemDisk()
	j, err := openMem(d)
	if err != nil {
		t.Fatal(err)
	}
	newClerk().append(t, j, 1)
	d.fault = func(_ int, op string) fault {
		if op == "write" {
			return succeeds // all of it is written, but the system reports an error
		}
		return works
	}
	if _, err := j.Append(t.Context(), note(1)); err == nil {
		t.Fatal("Append succeeded")
	}
	for seed := range uint64(20) {
		after := d.crash(newRand(seed))
		if got := string(after.content(mainPath)); got != chainOf(1) {
			t.Fatalf("after a power cut there is\n%s", got)
		}
	}
	d.fault = nil
	j.Close()
}

// A journal whose disk failed takes nothing until the disk works, then continues by itself. Followers and replay see
// only acknowledged events. If any call fails during the rewrite, the journal tries again.
func TestHeals(t *testing.T) {
	for at := 1; ; at++ {
		d := newMemDisk()
		j, err := openMem(d)
		if err != nil {
			t.Fatal(err)
		}
		c := newClerk()
		c.append(t, j, 3)
		d.fault = func(_ int, op string) fault {
			if op == "sync" {
				return fails
			}
			return works
		}
		c.append(t, j, 1)
		if c.poison == nil {
			t.Fatal("a failed sync did not poison the journal")
		}
		j.look()
		tries := d.calls
		for range 50 { // the next attempt is a second away
			j.look()
		}
		if c.append(t, j, 1); j.Condition().Broken == nil || d.calls != tries {
			t.Errorf("on an ill disk: %+v after %d more calls", j.Condition(), d.calls-tries)
		}
		from, hit := d.calls, false
		d.fault = func(call int, _ string) fault {
			if call != from+at {
				return works
			}
			hit = true
			return fails
		}
		for range 2 { // the first may meet the fault
			j.healAt = time.Time{}
			j.look()
		}
		if err := j.Condition().Broken; err != nil {
			t.Errorf("the journal is still broken: %v", err)
		}
		d.fault, c.poison = nil, nil
		c.tried = map[int]bool{} // their senders were told that they were not stored, and they are not
		c.append(t, j, 2)
		c.check(t, d, j)
		if n := news(j); len(n) != 1 || !strings.Contains(n[0].Subject, "can be written again") {
			t.Errorf("the person is told %v", n)
		}
		j.Close()
		c.reopen(t, d)
		if t.Failed() {
			t.Fatalf("when call %d fails", at)
		}
		if !hit {
			return
		}
	}
}

// On a real disk: another file, no file, no directory; each second, before an answer, and at the end.
func TestOpenFileOnDisk(t *testing.T) {
	for name, do := range map[string]func(dir string) error{
		"another file": func(dir string) error {
			path := filepath.Join(dir, mainName)
			b, err := os.ReadFile(path)
			if err == nil {
				err = os.WriteFile(path+".sed", b[:len(b)/2], 0o600)
			}
			if err == nil {
				err = os.Rename(path+".sed", path)
			}
			return err
		},
		"no file": func(dir string) error { return os.Remove(filepath.Join(dir, mainName)) },
		"no directory": func(dir string) (err error) {
			for range 100 { // the journal may rewrite what was just removed
				if err = os.RemoveAll(filepath.Dir(dir)); err == nil {
					break
				}
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "rooms", "lab")
			j := openDir(t, dir, Options{watch: 10 * time.Millisecond})
			c := newClerk()
			c.append(t, j, 2)
			for range 2 {
				if err := do(dir); err != nil {
					t.Fatal(err)
				}
				c.append(t, j, 1)
				if c.poison != nil {
					t.Fatalf("Append: %v", c.poison)
				}
				if err := do(dir); err != nil {
					t.Fatal(err)
				}
				for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); {
					b, err := os.ReadFile(filepath.Join(dir, mainName))
					if string(b) == chainOf(c.next) {
						break
					}
					if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ESTALE) {
						t.Fatal(err)
					}
				}
			}
			_ = do(dir)
			j.Close()
			if b, err := os.ReadFile(filepath.Join(dir, mainName)); err != nil ||
				!bytes.Equal(b, []byte(chainOf(c.next))) {
				t.Errorf("after a stop: %v\n%s", err, b)
			}
			if other := openDir(t, dir, Options{}); other.Last() != mail.Seq(c.next) {
				t.Errorf("opened again it goes to %d, want %d", other.Last(), c.next)
			}
		})
	}
}

// TestCloseBringsBackPoisoned checks that a stop leaves the files whole, even if the last attempt at that failed
// because the directory was being removed.
func TestCloseBringsBackPoisoned(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "rooms", "lab")
	j := openDir(t, dir, Options{})
	c := newClerk()
	c.append(t, j, 3)
	if err := os.RemoveAll(filepath.Dir(dir)); err != nil {
		t.Fatal(err)
	}
	_ = j.poison(errors.New("the directory went away"))
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(filepath.Join(dir, mainName)); err != nil || string(b) != chainOf(c.next) {
		t.Errorf("after a stop: %v\n%s", err, b)
	}
}

// A program that replaces the main file again and again fills neither the disk nor the person's mailbox: copies of
// kept content are not kept, and the number of other files is bounded, which the person is told.
func TestForeignFilesAreBounded(t *testing.T) {
	for name, test := range map[string]struct {
		put  func(i int) string
		kept int
		told int
	}{
		"older copies":       {func(i int) string { return chainOf(i) }, 0, 1},
		"the same":           {func(int) string { return "hello\n" }, 1, 1},
		"another each time":  {func(i int) string { return fmt.Sprint("hello ", i, "\n") }, maxForeign, 2},
		"nothing":            {func(int) string { return "" }, 0, 1},
		"a copy and a line":  {func(i int) string { return chainOf(i) + "hello\n" }, maxForeign, 2},
		"a part of the same": {func(i int) string { return "hello, world"[:12-i%5] }, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			d := newMemDisk()
			j, err := openMem(d)
			if err != nil {
				t.Fatal(err)
			}
			c := newClerk()
			told := 0
			for i := range 30 {
				c.append(t, j, 1)
				d.put(mainPath, []byte(test.put(i)))
				j.look()
				told += len(news(j))
			}
			if got := d.files("foreign"); len(got) != test.kept {
				t.Errorf("set aside: %v, want %d", got, test.kept)
			}
			if n := j.Condition().Rejected; n != test.kept {
				t.Errorf("the condition says %d, want %d", n, test.kept)
			}
			if told != test.told {
				t.Errorf("the person was told %d times, want %d", told, test.told)
			}
			if got, want := string(d.content(mainPath)), chainOf(c.next); got != want || c.poison != nil {
				t.Errorf("the file is\n%s\nwant\n%s, %v", got, want, c.poison)
			}
			j.Close()
			c.reopen(t, d)
		})
	}
}
