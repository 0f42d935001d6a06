package lines

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pennypost/internal/base/confined"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func contents(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func open(path string) *File {
	return Open(confined.At(filepath.Dir(path)), filepath.Base(path), 0o600)
}

// torn makes a file whose last line has long lacked its end.
func torn(t *testing.T, path, text string) {
	t.Helper()
	write(t, path, text)
	if err := os.Chtimes(path, time.Time{}, time.Now().Add(-time.Minute)); err != nil {
		t.Fatal(err)
	}
}

// got reads and returns the new lines, with "|" between them and "again:" before them if all lines were returned
// again.
func got(t *testing.T, f *File) string {
	t.Helper()
	lines, again, err := f.Read()
	if err != nil {
		t.Fatal(err)
	}
	text := string(bytes.Join(lines, []byte("|")))
	if again {
		text = "again:" + text
	}
	return text
}

func TestRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sub", "mail.jsonl")
	f := open(path)
	check := func(want string) {
		t.Helper()
		if got := got(t, f); got != want {
			t.Errorf("read %q, want %q", got, want)
		}
	}
	check("")
	if err := f.Append([]byte("ours")); err != nil {
		t.Fatal(err)
	}
	check("")
	write(t, path, "ours\ntheirs\nto")
	check("theirs")
	write(t, path, "ours\ntheirs\ntorn\n")
	check("torn")
	write(t, path, "ours\nTHEIRS\ntorn\nnew\n")
	check("again:ours|THEIRS|torn|new")
	write(t, path, "ours\n")
	check("again:ours")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	check("again:")
	check("")
}

// A torn line of another program stays separate.
func TestAppendBehindTorn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mail.jsonl")
	torn(t, path, "one\n{\"torn")
	f := open(path)
	got(t, f)
	if err := f.Append([]byte("two"), []byte("three")); err != nil {
		t.Fatal(err)
	}
	if got, want := contents(t, path), "one\n{\"torn\ntwo\nthree\n"; got != want {
		t.Errorf("the file says %q, want %q", got, want)
	}
	if got, want := got(t, f), "{\"torn|two|three"; got != want {
		t.Errorf("read %q, want %q", got, want)
	}
}

func TestRewrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mail.jsonl")
	torn(t, path, "keep\ndrop\n\n\xffgarbage\nchange\ntorn")
	f := open(path)
	got(t, f)
	edit := func(line []byte) []byte {
		switch string(line) {
		case "drop":
			return nil
		case "change":
			return []byte("changed")
		}
		return line
	}
	for range 2 {
		if err := f.Rewrite(edit); err != nil {
			t.Fatal(err)
		}
		if got, want := contents(t, path), "keep\n\n\xffgarbage\nchanged\ntorn"; got != want {
			t.Errorf("the file says %q, want %q", got, want)
		}
		if got := got(t, f); got != "" {
			t.Errorf("its own rewriting came back: %q", got)
		}
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 2 {
		t.Errorf("the directory has %v, %v; want the file and its lock", entries, err)
	}
}

// Lines that others wrote before a rewrite, and that were not read yet, are still returned.
func TestRewriteUnread(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mail.jsonl")
	write(t, path, "keep\ndrop\n")
	f := open(path)
	got(t, f)
	write(t, path, "keep\ndrop\ntheirs\n")
	edit := func(line []byte) []byte {
		if string(line) == "drop" {
			return nil
		}
		return line
	}
	if err := f.Rewrite(edit); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"again:keep|theirs", ""} {
		if got := got(t, f); got != want {
			t.Errorf("read %q, want %q", got, want)
		}
	}
}

// Several writers, each with its own File, lose and duplicate nothing; each sees the lines of the others.
func TestWriters(t *testing.T) {
	const writers, each = 8, 50
	path := filepath.Join(t.TempDir(), "mail.jsonl")
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			f := open(path)
			for i := range each {
				if err := f.Append(fmt.Appendf(nil, "%d-%d", w, i)); err != nil {
					t.Error(err)
				}
				if i%10 == 0 {
					if _, _, err := f.Read(); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	all := strings.Split(strings.TrimSuffix(contents(t, path), "\n"), "\n")
	slices.Sort(all)
	if n := len(slices.Compact(all)); n != writers*each {
		t.Errorf("%d lines, want %d", n, writers*each)
	}
}

// A line that is written in two halves stays whole, if its writer is not too slow.
func TestHalves(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mail.jsonl")
	write(t, path, "")
	f := open(path)
	defer f.Close()
	const n = 15 // all of it takes a second; a reader that never finds an end waits two seconds and then continues
	var theirs sync.WaitGroup
	var took [n]time.Duration // on a busy machine the slow writer is slower
	theirs.Go(func() {
		for i := range n {
			began := time.Now()
			put(t, path, fmt.Sprintf("{theirs %02d ", i))
			time.Sleep(time.Duration(i) * 10 * time.Millisecond)
			put(t, path, "whole}\n")
			took[i] = time.Since(began)
		}
	})
	for i := range n * n {
		if err := f.Append(fmt.Appendf(nil, "{ours %03d}", i)); err != nil {
			t.Error(err)
		}
	}
	theirs.Wait()
	for i := range n {
		if line := fmt.Sprintf("\n{theirs %02d whole}\n", i); took[i] < tornPatience &&
			!strings.Contains("\n"+contents(t, path), line) {
			t.Errorf("%q was split, though its writer took only %v", line, took[i])
		}
	}
	if got := strings.Count("\n"+contents(t, path), "\n{ours "); got != n*n {
		t.Errorf("%d of our lines stand there, want %d", got, n*n)
	}
}

func put(t *testing.T, path, text string) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err == nil {
		_, err = f.WriteString(text)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		t.Error(err)
	}
}

// Text that got between the halves of another program's line, because they came between our check and our write, is
// moved to after that line.
func TestUnsplit(t *testing.T) {
	for _, c := range []struct{ before, behind, want string }{
		{"one\n{half", "other}\nthree\n", "one\n{halfother}\nours\nthree\n"},
		{"{half", "other}\n", "{halfother}\nours\n"},
		{"one\n{half", "", "one\n{half\nours\n"},
	} {
		path := filepath.Join(t.TempDir(), "mail.jsonl")
		torn(t, path, c.before+"ours\n"+c.behind)
		f := open(path)
		if err := f.unsplit(int64(len(c.before)), []byte("ours\n")); err != nil {
			t.Fatal(err)
		}
		if got := contents(t, path); got != c.want {
			t.Errorf("%q %q: the file says %q, want %q", c.before, c.behind, got, c.want)
		}
		f.Close()
	}
}

// The other half of a line that our text split is awaited: moved immediately, our text would end the first half.
func TestOtherHalfIsAwaited(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mail.jsonl")
	const half, ours = "{half", "ours\n"
	torn(t, path, half+ours)
	f := open(path)
	defer f.Close()
	file, _, err := f.open()
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	time.AfterFunc(20*time.Millisecond, func() { put(t, path, "other}\n") })
	awaitHalf(file, int64(len(half+ours)))
	if err := f.unsplit(int64(len(half)), []byte(ours)); err != nil {
		t.Fatal(err)
	}
	if got, want := contents(t, path), "{halfother}\n"+ours; got != want {
		t.Errorf("the file says %q, want %q", got, want)
	}
}

// Deleting while others append loses nothing, whenever they opened the file.
func TestRewriteBesideAppends(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mail.jsonl")
	var text strings.Builder
	const n = 300
	for i := range n {
		fmt.Fprintf(&text, "drop%d\n", i)
	}
	write(t, path, text.String())
	f := open(path)
	var theirs sync.WaitGroup
	theirs.Go(func() {
		for i := range n {
			put(t, path, fmt.Sprintf("theirs %d\n", i))
		}
	})
	late, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer late.Close()
	came := 0
	for i := range n / 10 {
		drop := fmt.Sprintf("drop%d", i)
		err := f.Rewrite(func(line []byte) []byte {
			if string(line) == drop {
				return nil
			}
			return line
		})
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			if _, err := late.WriteString("late\nlater "); err != nil {
				t.Fatal(err)
			}
		}
	}
	theirs.Wait()
	if lines, _, err := f.Read(); err != nil {
		t.Fatal(err)
	} else {
		came = len(lines)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	// Two programs that append to the replaced file may write on one line: they split it themselves.
	whole := strings.Replace(contents(t, path), "later theirs", "later \ntheirs", 1)
	all := strings.Split(whole, "\n")
	slices.Sort(all)
	for i := range n {
		if line := fmt.Sprintf("theirs %d", i); !slices.Contains(all, line) {
			t.Errorf("%q is lost", line)
		}
	}
	if !slices.Contains(all, "late") || !slices.Contains(all, "later ") ||
		len(slices.Compact(all)) != len(strings.Split(whole, "\n")) || came == 0 {
		t.Errorf("late lines are lost, or some are doubled: %q", all)
	}
}
