//go:build unix

package amq

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestLinksAndPipes checks that nothing outside the root is read, and that a pipe without a writer does not block.
func TestLinksAndPipes(t *testing.T) {
	good := file("m1", "a", `["b"]`, "", "one")
	dir := root(t, map[string]string{"b/inbox/new/m1.md": good, "c/inbox/new/x.md": "x"})
	secret := filepath.Join(t.TempDir(), "m2.md")
	if err := os.WriteFile(secret, []byte(file("m2", "a", `["b"]`, "", "two")), 0o600); err != nil {
		t.Fatal(err)
	}
	agents := filepath.Join(dir, "agents")
	for link, to := range map[string]string{"b/inbox/new/m2.md": secret, "d": filepath.Dir(secret),
		"b/inbox/cur": filepath.Dir(secret)} {
		if err := os.Symlink(to, filepath.Join(agents, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(agents, "b/inbox/new/m3.md"), 0o600); err != nil {
		t.Fatal(err)
	}
	q, items := open(t, dir)
	if len(items) != 1 || items[0].ID != "m1" {
		t.Errorf("imported %+v", items)
	}
	said := ""
	for _, s := range q.Skipped {
		said += s.File + ": " + s.Why + "\n"
	}
	for _, want := range []string{"b/inbox/new/m2.md: ", "a symbolic link", "b/inbox/new/m3.md: ", "a named pipe",
		"b/inbox/cur: ", "agents/d"} {
		if !strings.Contains(said, want) {
			t.Errorf("nothing says %q:\n%s", want, said)
		}
	}
}
