package lines

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
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

// got reads and writes down what came: lines with "|" between them, with "again:" before them if all came again.
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
	f := Open(path, 0o600)
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

// A torn line of somebody else stays a line of its own.
func TestAppendBehindTorn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mail.jsonl")
	write(t, path, "one\n{\"torn")
	f := Open(path, 0o600)
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
	write(t, path, "keep\ndrop\n\n\xffgarbage\nchange\ntorn")
	f := Open(path, 0o600)
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

// What others wrote before a rewriting, and nobody has read yet, still comes.
func TestRewriteUnread(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mail.jsonl")
	write(t, path, "keep\ndrop\n")
	f := Open(path, 0o600)
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

// Several writers, each with a File of its own, lose nothing and double nothing; each sees what the others wrote.
func TestWriters(t *testing.T) {
	const writers, each = 8, 50
	path := filepath.Join(t.TempDir(), "mail.jsonl")
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			f := Open(path, 0o600)
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
