package durable

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func names(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestWriteFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	for _, text := range []string{"one", "", "three"} {
		if err := WriteFile(path, []byte(text), 0o640); err != nil {
			t.Fatalf("WriteFile(%q): %v", text, err)
		}
		if got := read(t, path); got != text {
			t.Errorf("the file says %q, want %q", got, text)
		}
	}
	if got := names(t, filepath.Dir(path)); len(got) != 1 {
		t.Errorf("the directory has %v, want only the file", got)
	}
	if err := WriteFile(filepath.Join(path, "below"), nil, 0o600); err == nil {
		t.Error("WriteFile below a file succeeded")
	}
}

func TestWriteFileKeepsMode(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no permission bits")
	}
	path := filepath.Join(t.TempDir(), "file")
	mode := func() os.FileMode {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return info.Mode().Perm()
	}
	if err := WriteFile(path, nil, 0o604); err != nil || mode() != 0o604 {
		t.Errorf("a new file: %v, mode %v, want 0604", err, mode())
	}
	if err := os.Chmod(path, 0o400); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(path, nil, 0o644); err != nil || mode() != 0o400 {
		t.Errorf("an old file: %v, mode %v, want 0400", err, mode())
	}
}

func TestReplaceThatFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	err := Replace(path, 0o600, func(w io.Writer) error {
		_, _ = io.WriteString(w, "half")
		return broken
	})
	if !errors.Is(err, broken) || read(t, path) != "old" {
		t.Errorf("Replace = %v, and the file says %q", err, read(t, path))
	}
	if got := names(t, filepath.Dir(path)); len(got) != 1 {
		t.Errorf("the directory has %v, want only the file", got)
	}
}

func TestReplaceBehindLink(t *testing.T) {
	dir := t.TempDir()
	target, link := filepath.Join(dir, "dotfiles", "target"), filepath.Join(dir, "link")
	if err := MkdirAll(filepath.Dir(target), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(target, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, link); err != nil {
		t.Skip(err)
	}
	if err := WriteFile(link, []byte("new"), 0o600); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v", err)
	}
	if got := read(t, target); got != "new" {
		t.Errorf("the file behind the link says %q, want %q", got, "new")
	}
}

func TestMkdirAll(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a", "b", "c")
	for range 2 {
		if err := MkdirAll(path, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		t.Errorf("%s: %v", path, err)
	}
	if err := WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{filepath.Join(dir, "file"), filepath.Join(dir, "file", "below")} {
		if err := MkdirAll(path, 0o700); err == nil {
			t.Errorf("MkdirAll(%s) succeeded, and there is a file", path)
		}
	}
}

func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "LOCK")
	lock, err := TryLock(path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = TryLock(path)
	var locked *LockedError
	if !errors.As(err, &locked) || locked.Path != path {
		t.Fatalf("locking twice: %v", err)
	}
	if runtime.GOOS != "windows" && locked.PID != os.Getpid() {
		t.Errorf("the holder is said to be process %d, want %d", locked.PID, os.Getpid())
	}
	if err := lock.Unlock(); err != nil {
		t.Fatal(err)
	}
	if got := read(t, path); got != "" {
		t.Errorf("after Unlock the file says %q", got)
	}
	again, err := TryLock(path)
	if err != nil {
		t.Fatalf("locking after Unlock: %v", err)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
	if _, err := TryLock(filepath.Join(path, "below")); err == nil || errors.As(err, &locked) {
		t.Errorf("a lock that cannot be made: %v", err)
	}
}

// A lock whose file was removed does not keep others out of a file of the same name.
func TestLockInPlace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "LOCK")
	lock, err := TryLock(path)
	if err != nil {
		t.Fatal(err)
	}
	if !lock.InPlace() {
		t.Error("a fresh lock is not in its place")
	}
	if err := os.Remove(path); err != nil {
		t.Skip(err) // Windows
	}
	if lock.InPlace() {
		t.Error("a lock whose file was removed is in its place")
	}
	other, err := TryLock(path)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if lock.InPlace() || !other.InPlace() {
		t.Errorf("of two locks of one name the first is in its place: %v, the second: %v", lock.InPlace(),
			other.InPlace())
	}
	if _ = lock.Close(); lock.InPlace() {
		t.Error("a lock that was given back is in its place")
	}
}

func TestReplaceUnsynced(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	for _, text := range []string{"one", "", "three"} {
		if err := ReplaceUnsynced(path, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if got := read(t, path); got != text {
			t.Errorf("the file is %q, want %q", got, text)
		}
	}
	if got := names(t, dir); len(got) != 1 {
		t.Errorf("left are %q", got)
	}
	if err := ReplaceUnsynced(filepath.Join(dir, "none", "a"), nil); err == nil {
		t.Error("a directory was made")
	}
}
