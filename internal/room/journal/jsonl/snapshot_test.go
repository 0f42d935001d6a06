package jsonl

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"pennypost/internal/mail"
	"pennypost/internal/room/journal"
)

// write writes a snapshot to a directory, as a backup and a restore do.
func (s *Snapshot) write(t *testing.T, dir string) {
	t.Helper()
	for _, f := range s.Files {
		if !InSnapshot(f.Name) {
			t.Errorf("a snapshot has a file %q", f.Name)
		}
		text, err := io.ReadAll(f)
		if err != nil || int64(len(text)) != f.Size() {
			t.Fatalf("%s: %d bytes of %d, %v", f.Name, len(text), f.Size(), err)
		}
		path := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// wantWhole opens a copy and wants every sequence number from 1 to last in it once, in the journal or the archive.
func wantWhole(t *testing.T, dir string, last mail.Seq) {
	t.Helper()
	j := openDir(t, dir, Options{})
	if j.Last() != last {
		t.Errorf("the copy ends with %d, want %d", j.Last(), last)
	}
	v, err := j.Verify(t.Context())
	if err != nil || len(v.Problems) > 0 {
		t.Errorf("verify: %v, %v", v.Problems, err)
	}
	var got []mail.Seq
	c := j.Follow(0)
	defer c.Close()
	for len(got) == 0 || got[len(got)-1] < last {
		events, err := c.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			got = append(got, e.Seq)
		}
	}
	for e, err := range j.Archived(t.Context(), 0, false) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, e.Seq)
	}
	slices.Sort(got)
	for i, seq := range got {
		if seq != mail.Seq(i+1) {
			t.Fatalf("place %d of the copy is %d", i+1, seq)
		}
	}
	if len(got) != int(last) {
		t.Errorf("the copy has %d events, want %d", len(got), last)
	}
}

// While senders send and compactions archive everything, each snapshot is the whole room at one moment, with every
// event once, even if it is read much later.
func TestSnapshotWhileCompacting(t *testing.T) {
	j := openDir(t, t.TempDir(), Options{})
	if _, err := j.Append(t.Context(), mail.Event{At: 1, Message: &mail.Message{ID: "msg_0"}}); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	done := make(chan struct{})
	for range 4 {
		wg.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-done:
					return
				default:
				}
				if _, err := j.Append(t.Context(), mail.Event{At: 1778421600123,
					Message: &mail.Message{ID: "msg_x", Body: "hello"}}); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			if err := j.Compact(t.Context(), func(mail.Event) journal.Fate { return journal.Archive }); err != nil {
				t.Error(err)
				return
			}
		}
	})
	var taken []*Snapshot
	for range 25 {
		before := j.Last()
		s, err := j.Snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if s.Seq < before || s.Seq > j.Last() {
			t.Errorf("a snapshot ends with %d; the journal was at %d before", s.Seq, before)
		}
		taken = append(taken, s)
	}
	close(done)
	wg.Wait()
	for _, s := range taken {
		dir := t.TempDir()
		s.write(t, dir)
		wantWhole(t, dir, s.Seq)
	}
}

func TestInSnapshot(t *testing.T) {
	for name, want := range map[string]bool{
		"mailbox.jsonl": true, "mailbox.rejected.jsonl": true, "mailbox.foreign-12.jsonl": true,
		"archive/2026-05.jsonl": true,
		"mailbox.last":          false, "LOCK": false, "mailbox.jsonl.tmp": false, "archive/2026-05.jsonl.tmp": false,
		"archive/../mailbox.jsonl": false, "./mailbox.jsonl": false, "archive//2026-05.jsonl": false, "": false,
		"archive": false, "mailbox.foreign-x.jsonl": false, "mailbox.foreign-.jsonl": false,
		"a/archive/2026-05.jsonl":     false,
		"mailbox.foreign-/../1.jsonl": false, "archive/.": false,
	} {
		if got := InSnapshot(name); got != want {
			t.Errorf("InSnapshot(%q) = %v, want %v", name, got, want)
		}
	}
}

// A raw snapshot has every file as it is, whatever its content. It leaves out irregular files, and says so.
func TestRawSnapshot(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	files := map[string]string{
		mainName: "garbage\n{", rejectedName: "x\n", "mailbox.foreign-3.jsonl": "y", "archive/2026-05.jsonl": "z\n",
	}
	if err := os.MkdirAll(filepath.Join(from, archiveName, "2026-06.jsonl"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(from, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, other := range []string{lockName, lastName, mainName + tmpSuffix} {
		if err := os.WriteFile(filepath.Join(from, other), []byte("1"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, err := RawSnapshot(from)
	if err == nil || !strings.Contains(err.Error(), "2026-06.jsonl is a directory") {
		t.Errorf("RawSnapshot = %v, want it to name what is no file", err)
	}
	defer s.Close()
	if s.Files[0].Name != mainName {
		t.Errorf("the first file is %s: what is archived meanwhile would be in none", s.Files[0].Name)
	}
	s.write(t, to)
	if len(s.Files) != len(files) {
		t.Errorf("%d files, want %d", len(s.Files), len(files))
	}
	for name, text := range files {
		if got, err := os.ReadFile(filepath.Join(to, name)); err != nil || string(got) != text {
			t.Errorf("%s is %q, %v, want %q", name, got, err, text)
		}
	}
	s, err = RawSnapshot(filepath.Join(from, "nothing"))
	if len(s.Files) > 0 || !isNotExist(err) {
		t.Errorf("RawSnapshot of nothing = %v, %v", s.Files, err)
	}
}
