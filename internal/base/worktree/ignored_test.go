package worktree

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const rules = "# made\n*.o\n!keep.o\n/build/\ndocs/*.html\n**/gen/*.go\na/**/z\nlogs/**\n" +
	"\\#x\n\\!y\nsp\\ \ntrail  \n[!a-c].k\nq?.t\n!/logs\nbad[\nnode_modules/\r\ndeep/\n!deep/er\ns/**\n"

// TestIgnored checks each rule, and that Git agrees.
func TestIgnored(t *testing.T) {
	shop := filepath.Join(made(t, "shop/.gitignore: "+rules, "shop/lib/.gitignore: !*.o\nlocal\n/top\n",
		"shop/ln/.gitignore -> ../lib/.gitignore"), "shop")
	run := exec.Command("git", "init", "-q", shop)
	run.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	git := run.Run() == nil
	if !git {
		t.Log("no git: nothing to compare with")
		if err := os.MkdirAll(filepath.Join(shop, ".git", "HEAD"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		path string
		want bool
	}{
		{"a.go", false}, {"a.o", true}, {"x/y/a.o", true}, {"keep.o", false}, {"x/keep.o", false}, {"build/a", true},
		{"build/x/y", true}, {"build", false}, {"x/build/a", false}, {"docs/a.html", true}, {"docs/x/a.html", false},
		{"x/docs/a.html", false}, {"gen/a.go", true}, {"x/y/gen/a.go", true}, {"gen/x/a.go", false}, {"a/z", true},
		{"a/b/c/z", true}, {"a/b/c/y", false}, {"logs/a", true}, {"logs/x/a", true}, {"#x", true}, {"!y", true},
		{"sp ", true}, {"sp", false}, {"trail", true}, {"d.k", true}, {"b.k", false}, {"q1.t", true}, {"q.t", false},
		{"bad[", false}, {"node_modules/x/y.js", true}, {"lib/a.o", false}, {"lib/x/a.o", false}, {"lib/local", true},
		{"lib/x/local", true}, {"lib/top", true}, {"lib/x/top", false}, {"top", false}, {"ln/local", false},
		{"deep/er", true}, {"# made", false}, {"s/x", true}, {"x/s/y", false}, {".gitignore", false},
	} {
		if got := found(t, tt.path, shop).Ignored(); got != tt.want {
			t.Errorf("%s is ignored: %t, want %t", tt.path, got, tt.want)
		}
		if !git {
			continue
		}
		run := exec.Command("git", "-C", shop, "check-ignore", "-q", "--", tt.path)
		if got := run.Run() == nil; got != tt.want {
			t.Errorf("to Git, %s is ignored: %t, want %t", tt.path, got, tt.want)
		}
	}
	for path, want := range map[string]bool{".git/config": true, ".git": true, "lib": false, ".": false} {
		if got := found(t, path, shop).Ignored(); got != want {
			t.Errorf("%s is ignored: %t, want %t", path, got, want)
		}
	}
}

// TestIgnoreFiles checks that the current .gitignore is read, and only if it is a file and not too large.
func TestIgnoreFiles(t *testing.T) {
	shop := filepath.Join(made(t, "shop/.git/HEAD", "shop/.gitignore: a\n", "shop/d/.gitignore/",
		"shop/big/.gitignore: "+strings.Repeat("c\n", maxIgnore/2+1)), "shop")
	for path, want := range map[string]bool{"a": true, "b": false, "d/b": false, "big/c": false} {
		if got := found(t, path, shop).Ignored(); got != want {
			t.Errorf("%s is ignored: %t, want %t", path, got, want)
		}
	}
	if err := os.WriteFile(filepath.Join(shop, ".gitignore"), []byte("b\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if found(t, "a", shop).Ignored() || !found(t, "b", shop).Ignored() {
		t.Error("the rules are those of before")
	}
	if err := os.Remove(filepath.Join(shop, ".gitignore")); err != nil {
		t.Fatal(err)
	}
	pipe := exec.Command("mkfifo", filepath.Join(shop, ".gitignore"))
	if pipe.Run() == nil && found(t, "a", shop).Ignored() {
		t.Error("a pipe has rules")
	}
}

// TestTemporary checks that temporary files are no one's work, except in a session's own project, wherever it is.
func TestTemporary(t *testing.T) {
	dir := made(t, "real/x/a", "real/repo/.git/HEAD", "real/desk/", "home/a", "realm/a", "temp -> real")
	for _, tt := range []struct {
		path, dir string
		want      bool
	}{
		{"temp/x/a", "home", true}, {"temp/new", "home", true}, {"temp/new/a", "temp", true}, {"real/b", "home", true},
		{"temp/desk/a", "temp/desk", false}, {"temp/x/a", "temp/desk", true}, {"temp/desk/a", "home", true},
		{"home/a", "temp", false}, {"realm/a", "home", false},
	} {
		p := found(t, filepath.Join(dir, tt.path), filepath.Join(dir, tt.dir))
		if got := p.below([]string{"", filepath.Join(dir, "none"), filepath.Join(dir, "temp")}); got != tt.want {
			t.Errorf("%s, for a session in %s, is temporary: %t", tt.path, tt.dir, !tt.want)
		}
	}
	if found(t, filepath.Join(dir, "temp/repo/a"), dir).Ignored() {
		t.Error("a repository is temporary")
	}
	t.Setenv("TMPDIR", "/t")
	t.Setenv("XDG_RUNTIME_DIR", "/r")
	for _, want := range []string{"/t", "/r", "/tmp", "/dev"} {
		if !slices.Contains(temporary(), want) {
			t.Errorf("%s is not temporary", want)
		}
	}
	if p, err := Find("/dev/shm/pennypost-new", ""); err == nil && !p.Ignored() {
		t.Error("/dev is not temporary")
	}
}
