//go:build unix

package durable

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestOnlyFiles checks that irregular files are neither opened nor waited for, and that regular files behind links are
// opened.
func TestOnlyFiles(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, err := range []error{syscall.Mkfifo(at("pipe"), 0o600), os.Symlink("pipe", at("to pipe")),
		os.Mkdir(at("dir"), 0o700), os.Symlink("/dev/null", at("null")), os.WriteFile(at("f"), []byte("x"), 0o600),
		os.Symlink("f", at("link"))} {
		if err != nil {
			t.Skip(err)
		}
	}
	for _, name := range []string{"pipe", "to pipe", "dir", "null"} {
		for what, call := range map[string]func() error{
			"ReadFile": func() error { _, err := ReadFile(at(name)); return err },
			"write":    func() error { _, err := OpenFile(at(name), os.O_WRONLY|os.O_CREATE, 0o600); return err },
			"TryLock":  func() error { _, err := TryLock(at(name)); return err },
		} {
			done := make(chan error, 1)
			go func() { done <- call() }()
			select {
			case err := <-done:
				if _, ok := errors.AsType[*IrregularError](err); !ok {
					t.Errorf("%s of %s: %v", what, name, err)
				}
			case <-time.After(10 * time.Second):
				t.Fatalf("%s of %s waits", what, name)
			}
		}
	}
	if text, err := ReadFile(at("link")); string(text) != "x" || err != nil {
		t.Errorf("behind a link: %q, %v", text, err)
	}
	if _, err := ReadFile(at("nothing")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("nothing: %v", err)
	}
}
