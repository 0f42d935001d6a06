package systemtest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pennypost/internal/mail"
)

// mountImage mounts a new disk at dir, which can be made read-only while it is in use, as a kernel does after an
// error.
func mountImage(t *testing.T, dir string) (image string) {
	t.Helper()
	image = filepath.Join(t.TempDir(), "disk")
	err := os.WriteFile(image, nil, 0o600)
	if err == nil {
		err = os.Truncate(image, 32<<20)
	}
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mkfs.ext4", "-q", image).CombinedOutput(); err != nil {
		t.Skipf("mkfs.ext4: %v %s", err, out)
	}
	if out, err := exec.Command("mount", "-o", "loop,errors=remount-ro", image, dir).CombinedOutput(); err != nil {
		t.Skipf("mount: %v %s", err, out)
	}
	t.Cleanup(func() { _ = unmount(dir) })
	return image
}

// TestReadOnlyRemount makes the disk of a running post office read-only. Reads are answered, sends are refused and
// leave no trace; the post office ends when told to, and all acknowledged mail is there when the disk is mounted
// again.
func TestReadOnlyRemount(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	if err := os.Mkdir(o.home, 0o700); err != nil {
		t.Fatal(err)
	}
	image := mountImage(t, o.home)
	d := o.mustServe(t)
	o.must(t, "agents", "register", "ann")
	for i := range 3 {
		o.must(t, "send", "--to", "ann", "--body", fmt.Sprint("before ", i))
	}
	if out, err := exec.Command("mount", "-o", "remount,abort", o.home).CombinedOutput(); err != nil {
		t.Skipf("the disk cannot be made read-only: %v %s", err, out)
	}
	for i := range 3 {
		r := o.run("send", "--to", "ann", "--body", fmt.Sprint("refused ", i))
		if r.code < 1 || !strings.Contains(r.stderr, "read-only") {
			t.Errorf("a send to a disk that is read-only: %+v", r)
		}
	}
	has := func(before, after int) {
		t.Helper()
		got := o.must(t, "inbox", "--as", "ann")
		if strings.Count(got, "before") != before || strings.Count(got, "after") != after ||
			strings.Contains(got, "refused") {
			t.Errorf("ann has\n%s", got)
		}
	}
	has(3, 0)
	for _, args := range [][]string{{"history"}, {"rooms"}, {"status"}, {"agents"}, {"inbox", "--all-rooms"}} {
		o.must(t, args...)
	}
	if r := o.run("doctor"); r.code == -1 {
		t.Errorf("doctor: %+v", r)
	}
	if r := o.run("send", "--room", "new", "--to", "user", "--body", "x"); r.code < 1 {
		t.Errorf("a send that would make a room: %+v", r)
	}
	if err := d.terminate(); err != nil && !strings.Contains(err.Error(), "exit status") {
		t.Error(err) // its status may say what it could not write
	}
	if err := errors.Join(unmount(o.home), exec.Command("mount", "-o", "loop", image, o.home).Run()); err != nil {
		t.Fatal(err)
	}
	d = o.mustServe(t)
	o.must(t, "send", "--to", "ann", "--body", "after")
	if found := ask[mail.Verification](t, o, "verify"); len(found.Problems) > 0 {
		t.Errorf("verify: %+v", found)
	}
	has(3, 1)
	if err := d.terminate(); err != nil {
		t.Error(err)
	}
}
