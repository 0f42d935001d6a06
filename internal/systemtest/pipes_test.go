//go:build unix

package systemtest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"pennypost/internal/mail"
)

// pipe replaces a file of the office's data directory with a named pipe.
func (o *office) pipe(t *testing.T, name string) {
	t.Helper()
	path := filepath.Join(o.home, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	_ = os.Remove(path)
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip(err)
	}
}

// TestPipesInHome replaces one file after the other of a running post office with a named pipe. Nothing waits for
// its other end: mail continues in that room and in others, verify names the pipe, and the post office ends when
// told to and starts again.
func TestPipesInHome(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.env = []string{"PENNYPOST_ROOM=lab"}
	if err := os.MkdirAll(o.home, 0o700); err != nil {
		t.Fatal(err)
	}
	config := "[room.retention]\ncount = 2\n"
	if err := os.WriteFile(filepath.Join(o.home, "config.toml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	d := o.mustServe(t)
	o.must(t, "agents", "register", "ann")
	o.must(t, "agents", "register", "ann", "--room", "other")
	const room = "rooms/lab"
	for i, name := range []string{"mailbox.last", "mailbox.rejected.jsonl", "mailbox.foreign-1.jsonl",
		"archive/2020-01.jsonl", "index/2020-01.idx"} {
		for range 4 {
			o.must(t, "send", "--to", "ann", "--body", name)
		}
		o.pipe(t, filepath.Join(room, name))
		o.must(t, "archive")
		o.must(t, "history", "--archive")
		o.must(t, "send", "--to", "ann", "--body", "on")
		o.must(t, "send", "--to", "ann", "--room", "other", "--body", "on")
		o.must(t, "inbox", "--all-rooms")
		r := o.run("verify", "--json")
		v := decode[mail.Verification](t, r.stdout)
		named := slices.ContainsFunc(v.Problems, func(p mail.Problem) bool { return p.File == name })
		if want := i > 0 && i < 4; named != want {
			t.Errorf("verify names %s: %v, want %v: %+v", name, named, want, v.Problems)
		}
	}
	for _, name := range []string{"sessions.json", "doors.json", "joined.json", "rooms/third/mailbox.jsonl",
		"rooms/fourth/journal.toml", "rooms/fifth/archive", "rooms/sixth"} {
		o.pipe(t, name)
	}
	if r := o.run("send", "--room", "third", "--to", "user", "--body", "x"); r.code < 1 ||
		!strings.Contains(r.stderr, "named pipe") {
		t.Errorf("a send to a room whose journal is a pipe: %+v", r)
	}
	o.must(t, "rooms")
	o.must(t, "inbox", "--all-rooms")
	o.must(t, "send", "--to", "ann", "--room", "other", "--body", "on")
	if err := d.terminate(); err != nil {
		t.Fatal(err)
	}
}

// TestStartBesidePipes holds that a post office that finds a named pipe in place of one of its files starts, or says
// immediately why it does not.
func TestStartBesidePipes(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.env = []string{"PENNYPOST_ROOM=lab"}
	d := o.mustServe(t)
	o.must(t, "agents", "register", "ann")
	if err := d.terminate(); err != nil {
		t.Fatal(err)
	}
	const room = "rooms/lab"
	for _, name := range []string{"config.toml", "token", "host", "machine", "pennypost.lock", "start.lock",
		"remote.toml", "sessions.json", "doors.json", "scripts.json", "passphrase.json", "notify.json", "joined.json",
		"pennypost.sock",
		room + "/LOCK", room + "/journal.toml", room + "/mailbox.jsonl", room + "/bridges"} {
		kept := filepath.Join(o.home, name)
		_ = os.Rename(kept, kept+".kept")
		o.pipe(t, name)
		d, err := o.serve()
		switch {
		case err == nil:
			o.run("send", "--to", "ann", "--body", "x") // this may be refused
			err = d.terminate()
		case !strings.Contains(err.Error(), "silent"):
			err = nil // it said why
		}
		if err != nil {
			t.Errorf("with a pipe for %s: %v", name, err)
		}
		_ = os.Remove(kept)
		_ = os.Rename(kept+".kept", kept)
	}
	d = o.mustServe(t)
	o.must(t, "send", "--to", "ann", "--body", "on")
	if err := d.terminate(); err != nil {
		t.Error(err)
	}
}
