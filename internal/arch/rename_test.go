package arch

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestRenameModule gives a copy of the sources another module path and checks that they still fit together.
func TestRenameModule(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the module under another name: ./test")
	}
	for _, tool := range []string{"bash", "git", "perl", "gofmt"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("scripts/rename-module needs %s, which is not here", tool)
		}
	}
	dir := copySources(t)
	rename := filepath.Join(dir, "scripts", "rename-module")

	refused := func(path, says string) {
		t.Helper()
		out, err := run(dir, "bash", rename, path)
		if err == nil || !strings.Contains(out, says) || !strings.Contains(out, "nothing was changed") {
			t.Errorf("rename-module %q says %q and ends with %v, want a refusal that says %q", path, out, err, says)
		}
	}
	refused("no path", "no module path")
	refused("-x", "no module path")
	refused(module, "already")
	readme := filepath.Join(dir, "README.md")
	text, err := os.ReadFile(readme)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(readme, append(text, "more\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	refused("example.org/post/pennypost", "README.md")
	must(t, dir, "git", "checkout", "-q", "README.md")

	must(t, dir, "bash", rename, "example.org/post/pennypost")
	if got := strings.TrimSpace(must(t, dir, "go", "list", "-m")); got != "example.org/post/pennypost" {
		t.Errorf("the module is called %s", got)
	}
	// The second half matches a test that makes the go command build the module by name: "../.." does the same.
	old := `(^|[^.~/A-Za-z0-9_-])` + module + `/(internal|cmd)/|"go", "(build|list|run|test|vet)".*"` + module + `["/]`
	if left, _ := run(dir, "git", "grep", "-nE", old); left != "" {
		t.Errorf("the old path is still in\n%s", left)
	}
	must(t, dir, "go", "vet", "./internal/mail", "./internal/arch")
	must(t, dir, "go", "test", "-run", "TestImportDirection|TestProofIsNotLinked", "./internal/arch")
	must(t, dir, "git", "commit", "-qam", "renamed")
	must(t, dir, "bash", rename, module)
	if other := must(t, dir, "git", "diff", "--stat", "HEAD~1"); other != "" {
		t.Errorf("renamed back, these differ:\n%s", other)
	}
}

// copySources returns a Git working tree of its own with the tracked files in their present state.
func copySources(t *testing.T) string {
	t.Helper()
	root := filepath.Join("..", "..")
	list, err := exec.Command("git", "-C", root, "ls-files", "-z", "--cached", "--others",
		"--exclude-standard").Output()
	if err != nil {
		t.Skipf("these sources are no Git working tree: %v", err)
	}
	dir := t.TempDir()
	for name := range strings.SplitSeq(strings.TrimRight(string(list), "\x00"), "\x00") {
		if strings.HasSuffix(name, ".png") {
			continue // the pictures of the documentation are the largest part
		}
		if err := copyFile(filepath.Join(root, name), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	must(t, dir, "git", "init", "-q")
	must(t, dir, "git", "config", "user.name", "test")
	must(t, dir, "git", "config", "user.email", "test@example.org")
	must(t, dir, "git", "add", "--all")
	must(t, dir, "git", "commit", "-qm", "copy")
	return dir
}

func copyFile(from, to string) error {
	info, err := os.Stat(from)
	if os.IsNotExist(err) {
		return nil // deleted, and not committed yet
	}
	if err != nil {
		return err
	}
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	return os.WriteFile(to, text, info.Mode())
}

func must(t *testing.T, dir, program string, args ...string) string {
	t.Helper()
	out, err := run(dir, program, args...)
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", program, strings.Join(args, " "), err, out)
	}
	return out
}

// run returns a program's output. The Git environment of the process that started this test does not apply in dir.
func run(dir, program string, args ...string) (string, error) {
	cmd := exec.Command(program, args...)
	cmd.Dir = dir
	cmd.Env = []string{"GIT_CONFIG_GLOBAL=" + os.DevNull}
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "GIT_") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	out, err := cmd.CombinedOutput()
	return string(out), err
}
