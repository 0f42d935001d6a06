//go:build unix

package jsonl

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/room/journal"
)

// TestPipesAreNotWaitedFor replaces each file of a journal by a named pipe, before it is opened and while it is open.
// No call waits for the pipe's other end: all other mail is found, verify names the pipe if mail belongs in it, and
// the journal continues.
func TestPipesAreNotWaitedFor(t *testing.T) {
	for name, is := range map[string]struct {
		named bool // by verify
		lost  int  // archived notes that were in the file
	}{
		lastName: {}, rejectedName: {named: true}, "mailbox.foreign-7.jsonl": {named: true},
		"archive/2026-05.jsonl": {named: true, lost: 2}, "archive/2026-07.jsonl": {named: true},
		"index/2026-05.idx": {}, "index/2026-07.idx": {},
		mainName + tmpSuffix: {}, newName + tmpSuffix: {}, lastName + tmpSuffix: {},
	} {
		for _, open := range []bool{false, true} {
			t.Run(filepath.Base(name), func(t *testing.T) {
				dir := t.TempDir()
				promptly(t, func() {
					j := nineNotes(t, dir)
					if open {
						pipe(t, dir, name)
						useBesidePipe(t, j, name, is.named, is.lost)
						return
					}
					if err := j.Close(); err != nil {
						t.Error(err)
					}
					pipe(t, dir, name)
					j, err := Open(dir, Options{})
					if err != nil {
						t.Error(err)
						return
					}
					useBesidePipe(t, j, name, is.named, is.lost)
				})
			})
		}
	}
	for _, name := range []string{mainName, lockName} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			pipe(t, dir, name)
			promptly(t, func() {
				if j, err := Open(dir, Options{}); err == nil {
					t.Error("the journal was opened")
					j.Close()
				}
			})
		})
	}
}

// nineNotes returns a journal with nine notes: three kept and three in the archive, with its index.
func nineNotes(t *testing.T, dir string) *Journal {
	j, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 9 {
		if _, err := j.Append(t.Context(), note(i)); err != nil {
			t.Error(err)
		}
	}
	if err := j.Compact(t.Context(), noteFate); err != nil {
		t.Error(err)
	}
	return j
}

// promptly fails the test if f waits.
func promptly(t *testing.T, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatal("something waits for the other end of a pipe")
	}
}

func pipe(t *testing.T, dir, name string) {
	path := filepath.Join(dir, filepath.FromSlash(name))
	err := os.Remove(path)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		err = syscall.Mkfifo(path, 0o600)
	}
	if err != nil {
		t.Errorf("make a pipe: %v", err)
	}
}

// useBesidePipe uses a journal in every way, and closes it.
func useBesidePipe(t *testing.T, j *Journal, name string, named bool, lost int) {
	must := func(what string, err error) {
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	_, err := j.Append(t.Context(), note(100))
	must("append", err)
	archived := 0
	for _, err := range j.Archived(t.Context(), 0, false) {
		must("archive", err)
		archived++
	}
	events, err := j.ArchivedOf(t.Context(), noteID(4))
	must("look up", err)
	if archived != 3-lost || len(events) != 1 {
		t.Errorf("the archive has %d notes and %d of the fourth, want %d and 1", archived, len(events), 3-lost)
	}
	v, err := j.Verify(t.Context())
	must("verify", err)
	if got := slices.ContainsFunc(v.Problems, func(p mail.Problem) bool { return p.File == name }); got != named {
		t.Errorf("verify names it: %v, want %v: %+v", got, named, v.Problems)
	}
	s, err := j.Snapshot(t.Context())
	must("snapshot", err)
	must("snapshot", s.Close())
	_, err = j.Repair(t.Context())
	must("repair", err)
	s, err = RawSnapshot(j.dir)
	if there, _ := os.Stat(j.path(name)); InSnapshot(name) && !there.Mode().IsRegular() && err == nil {
		t.Error("a snapshot of the files as they are does not say what it leaves out")
	}
	must("raw snapshot", s.Close())
	err = j.Compact(t.Context(), func(mail.Event) journal.Fate { return journal.Archive })
	if (err != nil) != (lost > 0) {
		t.Errorf("compact: %v, want an error: %v", err, lost > 0)
	}
	n, err := j.Erase(t.Context(), noteID(100), func(e mail.Event) bool {
		return e.Message != nil && e.Message.ID == noteID(100)
	})
	if must("erase", err); n != 1 {
		t.Errorf("%d lines were erased, want 1", n)
	}
	must("close", j.Close())
}
