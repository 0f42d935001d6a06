package systemtest

import (
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// tooMuch fills a room with more than a small disk holds, even compressed, and returns its backup.
func tooMuch(t *testing.T, o *office) (file string) {
	t.Helper()
	r := rand.NewChaCha8([32]byte{})
	for i := range 20 {
		noise := make([]byte, 30_000)
		_, _ = r.Read(noise)
		o.must(t, "send", "--room", "shop", "--to", "user", "--body", hex.EncodeToString(noise)+fmt.Sprint(i))
	}
	file = filepath.Join(o.dir, "all.tar.gz")
	o.must(t, "backup", file)
	return file
}

// wantOnly checks the entries of a directory.
func wantOnly(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	check(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if fmt.Sprint(names) != fmt.Sprint(want) {
		t.Errorf("%s has %v, want %v", dir, names, want)
	}
}

// TestBackupOnFullDisk: a backup that does not fit leaves nothing behind, and does not change a file that it should
// replace.
func TestBackupOnFullDisk(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	tooMuch(t, o)
	dir := smallDisk(t)
	file := filepath.Join(dir, "b.tar.gz")
	for _, old := range []string{"", "an older backup"} {
		if old != "" {
			check(t, os.WriteFile(file, []byte(old), 0o600))
		}
		r := o.run("backup", file, "--force")
		if r.code != 1 || !strings.Contains(r.stderr, "no space left") ||
			!strings.Contains(r.stderr, "No part of it") {
			t.Errorf("backup: %+v, want that the disk is full and what was kept", r)
		}
		if old == "" {
			wantOnly(t, dir)
			continue
		}
		wantOnly(t, dir, "b.tar.gz")
		if text, err := os.ReadFile(file); err != nil || string(text) != old {
			t.Errorf("the older backup is %q, %v", text, err)
		}
	}
}

// TestRestoreOnFullDisk: a home that does not fit, or that fills the disk half-way, is not created at all, and an
// empty one stays as it was.
func TestRestoreOnFullDisk(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	file := tooMuch(t, o)
	o.must(t, "stop")
	for options, want := range map[string]string{
		"size=256k":           "on the disk",
		"size=4m,nr_inodes=6": "no space left",
	} {
		dir := t.TempDir()
		if err := mountSmall(dir, options); err != nil {
			t.Skip("no small disk here: ", err)
		}
		t.Cleanup(func() { check(t, unmount(dir)) })
		home := filepath.Join(dir, "h")
		check(t, os.Mkdir(home, 0o700))
		r := o.runWith("", []string{"PENNYPOST_HOME=" + home}, "restore", file)
		if r.code == 0 || !strings.Contains(r.stderr, want) || !strings.Contains(r.stderr, "Nothing was restored") {
			t.Errorf("restore on a disk of %s: %+v, want %q", options, r, want)
		}
		wantOnly(t, dir, "h")
		wantOnly(t, home)
	}
}

// TestBackupIsPrivate: whatever the umask, and whatever file it replaces, only the owner can read a backup; and the
// command says why that matters.
func TestBackupIsPrivate(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.must(t, "send", "--to", "user", "--body", "x")
	file := filepath.Join(o.dir, "b.tar.gz")
	check(t, os.WriteFile(file, nil, 0o644))
	check(t, os.Chmod(file, 0o644))
	out := o.must(t, "backup", file, "--force")
	if !strings.Contains(out, "0600") || !strings.Contains(out, "act as anyone") {
		t.Errorf("backup says %q", out)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the backup has mode %v, %v", info.Mode(), err)
	}
}

// TestRestoreWithBridge: next to the same team as before, a restored room knows the mail that it had brought there,
// although the format has no ids: no mail is there twice, and none of it returns as someone else's.
func TestRestoreWithBridge(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.mustServe(t, loopback)
	dir := filepath.Join(o.root, "teams", "shift")
	check(t, os.MkdirAll(dir, 0o700))
	check(t, os.WriteFile(filepath.Join(dir, "config.json"),
		[]byte(`{"name":"shift","leadAgentId":"boss@shift","members":[{"name":"boss"},{"name":"sink"}]}`), 0o600))
	o.must(t, "bridge", "add", "claudeteams", dir)
	for i := range 3 {
		o.must(t, "send", "--to", "sink", "--body", fmt.Sprint("number ", i))
	}
	o.must(t, "bridge", "sync", "claudeteams")
	inbox := filepath.Join(dir, "inboxes", "sink.json")
	state := func() (entries, messages int) {
		text, err := os.ReadFile(inbox)
		check(t, err)
		return strings.Count(string(text), "number "), strings.Count(o.must(t, "export"), `"number `)
	}
	entries, messages := state()
	if entries == 0 || messages != 3 {
		t.Fatalf("the test is wrong: %d entries, %d messages", entries, messages)
	}
	file := filepath.Join(o.dir, "all.tar.gz")
	o.must(t, "backup", file)
	o.must(t, "stop")
	o.home += "2"
	o.must(t, "restore", file)
	o.mustServe(t, loopback)
	o.must(t, "bridge", "sync", "claudeteams")
	if e, m := state(); e != entries || m != messages {
		t.Errorf("after the restore there are %d entries and %d messages, and there were %d and %d", e, m, entries,
			messages)
	}
}
