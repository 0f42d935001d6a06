package versions

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"pennypost/internal/base/durable"
)

func TestMain(m *testing.M) {
	if runtime.GOOS == "windows" {
		fmt.Println("links need rights there that not everybody has, so programs are not updated")
		return
	}
	os.Exit(m.Run())
}

// programs makes the programs of a version in a directory.
func programs(t *testing.T, dir, version string) string {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, p := range Programs {
		if err := os.WriteFile(filepath.Join(dir, p), []byte(version), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// runs returns the version of the programs, and fails the test if they differ or are missing.
func runs(t *testing.T, dir string) string {
	t.Helper()
	var of [len(Programs)]string
	for i, p := range Programs {
		text, err := os.ReadFile(filepath.Join(dir, p))
		if err != nil {
			t.Fatalf("%s is gone: %v", p, err)
		}
		of[i] = string(text)
	}
	if of[0] != of[1] || of[0] != of[2] {
		t.Fatalf("the programs are of the versions %q", of)
	}
	return of[0]
}

func open(t *testing.T, dir string) *Store {
	t.Helper()
	s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// put replaces one version by another. At a step, counted from 1, it fails, or is killed, so that it does no cleanup
// after the error.
func put(t *testing.T, dir, now, next string, at int, kill bool) (err error) {
	t.Helper()
	s := open(t, dir)
	n := 0
	s.step = func() error {
		if n++; n == at && kill {
			panic(errStep)
		} else if n == at {
			return errStep
		}
		return nil
	}
	defer func() {
		if recover() != nil {
			err = s.lock.Unlock() // as the system does
			err = errors.Join(errStep, err)
		}
	}()
	err = s.Put(now, next, programs(t, filepath.Join(s.part, "new"), next))
	return errors.Join(err, s.Close())
}

var errStep = errors.New("a step")

// TestPut replaces the programs of an archive by two versions in turn, goes back, and forward again.
func TestPut(t *testing.T) {
	dir := programs(t, t.TempDir(), "v1")
	for _, v := range [][2]string{{"v1", "v2"}, {"v2", "v3"}} {
		if err := put(t, dir, v[0], v[1], 0, false); err != nil || runs(t, dir) != v[1] {
			t.Fatalf("Put(%s) = %v, and %s runs", v[1], err, runs(t, dir))
		}
	}
	if _, err := os.Stat(filepath.Join(dir, storeName, "v1")); err == nil {
		t.Error("more than the version before is kept")
	}
	for _, want := range []string{"v2", "v3"} {
		s := open(t, dir)
		if got, err := s.Back(); err != nil || got != want || runs(t, dir) != want {
			t.Errorf("Back = %s, %v, and %s runs; want %s", got, err, runs(t, dir), want)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	behind := filepath.Join(dir, storeName, "v1", "pennypostd")
	if got, want := Stable(behind), filepath.Join(dir, "pennypostd"); got != want {
		t.Errorf("Stable(%s) = %s, want %s", behind, got, want)
	}
	for _, path := range []string{filepath.Join(dir, "pennypostd"), filepath.Join(dir, "x", "v1", "pennypostd"),
		filepath.Join(dir, storeName, "v1", "nothing")} {
		if got := Stable(path); got != path {
			t.Errorf("Stable(%s) = %s", path, got)
		}
	}
}

// TestOfFewerPrograms checks that a version that lacks the newest program is replaced by one that has it, and comes
// back.
func TestOfFewerPrograms(t *testing.T) {
	dir := programs(t, t.TempDir(), "v1")
	newest := filepath.Join(dir, Programs[len(Programs)-1])
	if err := os.Remove(newest); err != nil {
		t.Fatal(err)
	}
	if err := put(t, dir, "v1", "v2", 0, false); err != nil || runs(t, dir) != "v2" {
		t.Fatalf("Put(v2) = %v, and %s runs", err, runs(t, dir))
	}
	s := open(t, dir)
	if got, err := s.Back(); err != nil || got != "v1" {
		t.Errorf("Back = %s, %v", got, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, Programs[0])); err != nil || string(text) != "v1" {
		t.Errorf("%s is %q, %v", Programs[0], text, err)
	}
	if _, err := os.Stat(newest); err == nil {
		t.Error("the newest program runs in a version that has none")
	}
}

// TestKilled checks that after a kill before any step the programs are of one version, and the next attempt succeeds.
// If a step fails, there are no leftovers.
func TestKilled(t *testing.T) {
	for name, before := range map[string][]string{"plain": {"v1"}, "one": {"v1", "v2"}, "two": {"v1", "v2", "v3"}} {
		for _, kill := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/%v", name, kill), func(t *testing.T) {
				step := 1
				for attempt(t, before, step, kill) {
					step++
				}
				if step < 6 {
					t.Errorf("%d steps", step)
				}
			})
		}
	}
}

// attempt makes a step fail, and returns whether there was such a step.
func attempt(t *testing.T, before []string, step int, kill bool) bool {
	dir := programs(t, t.TempDir(), "v1")
	for i := 1; i < len(before); i++ {
		if err := put(t, dir, before[i-1], before[i], 0, false); err != nil {
			t.Fatal(err)
		}
	}
	now := before[len(before)-1]
	had := names(t, dir)
	err := put(t, dir, now, "v9", step, kill)
	if err == nil {
		return false
	}
	if !errors.Is(err, errStep) {
		t.Fatal(err)
	}
	switch got := runs(t, dir); {
	case got != now && got != "v9":
		t.Errorf("after step %d, %s runs", step, got)
	case got == "v9":
	case !kill && len(before) > 1 && names(t, dir) != had:
		t.Errorf("step %d fails and leaves %s, want %s", step, names(t, dir), had)
	default:
		if err := put(t, dir, now, "v9", 0, false); err != nil || runs(t, dir) != "v9" {
			t.Errorf("after step %d: %v, and %s runs", step, err, runs(t, dir))
		}
		if left := names(t, dir); strings.Contains(left, partName) {
			t.Errorf("after step %d is left %s", step, left)
		}
	}
	s := open(t, dir)
	if got, err := s.Back(); err != nil || got != now || runs(t, dir) != now {
		t.Errorf("after step %d Back = %s, %v; want %s", step, got, err, now)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	return true
}

// names returns the names in the store, and the targets of its links.
func names(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(dir, storeName))
	if err != nil {
		return ""
	}
	var all []string
	for _, e := range entries {
		to, _ := os.Readlink(filepath.Join(dir, storeName, e.Name()))
		all = append(all, e.Name()+to)
	}
	return strings.Join(all, " ")
}

// TestFails checks that a failed Put leaves the existing versions, including the previous one.
func TestFails(t *testing.T) {
	dir := programs(t, t.TempDir(), "v1")
	for _, v := range [][2]string{{"v1", "v2"}, {"v2", "v3"}} {
		if err := put(t, dir, v[0], v[1], 0, false); err != nil {
			t.Fatal(err)
		}
	}
	s := open(t, dir)
	if err := s.Put("v3", "v4", filepath.Join(s.part, "nothing")); err == nil || runs(t, dir) != "v3" {
		t.Errorf("Put = %v, and %s runs", err, runs(t, dir))
	}
	if _, err := Open(dir); err == nil {
		t.Error("two open it at once")
	} else if _, locked := errors.AsType[*durable.LockedError](err); !locked {
		t.Error(err)
	}
	if got, err := s.Back(); err != nil || got != "v2" {
		t.Errorf("Back = %s, %v", got, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	plain := programs(t, t.TempDir(), "v1")
	s = open(t, plain)
	if _, err := s.Back(); !errors.Is(err, ErrNone) {
		t.Errorf("Back of an archive = %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(plain); err != nil || len(left) != len(Programs) {
		t.Errorf("looking leaves %v, %v", left, err)
	}
}
