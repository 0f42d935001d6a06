//go:build unix

package dialecttest_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/office/dialect"
	"pennypost/internal/office/dialect/agenties"
	"pennypost/internal/office/dialect/claudeteams"
	"pennypost/internal/office/dialect/haak"
	"pennypost/internal/office/dialect/openalice"
)

// swap replaces a bridged directory, or one above it, and returns a function that undoes it.
type swap struct {
	name string
	put  func(b *box, v *victims) (undo func() error, err error)
	// anew means that the mailbox's owner may remove it and make it again as another directory
	anew bool
}

// instead moves a path away and lets put create something there.
func instead(path string, put func(aside string) error) (undo func() error, err error) {
	aside := path + ".aside"
	if err := os.Rename(path, aside); err != nil {
		return nil, err
	}
	return func() error { return errors.Join(os.RemoveAll(path), os.Rename(aside, path)) }, put(aside)
}

func swaps() []swap {
	return []swap{
		{name: "link to a directory outside", put: func(b *box, v *victims) (func() error, error) {
			return instead(b.Dir, func(string) error { return os.Symlink(v.outside, b.Dir) })
		}},
		{name: "link to where it is now", put: func(b *box, _ *victims) (func() error, error) {
			return instead(b.Dir, func(aside string) error { return os.Symlink(aside, b.Dir) })
		}},
		{name: "link above it to a directory outside", put: func(b *box, v *victims) (func() error, error) {
			up, theirs := filepath.Dir(b.Dir), filepath.Join(b.t.TempDir(), "theirs")
			return instead(up, func(string) error {
				return errors.Join(os.Mkdir(theirs, 0o700), os.Symlink(v.outside, filepath.Join(theirs, team)),
					os.Symlink(theirs, up))
			})
		}},
		{name: "link above it to a directory like it", put: func(b *box, v *victims) (func() error, error) {
			up, theirs := filepath.Dir(b.Dir), filepath.Join(b.t.TempDir(), "theirs")
			return instead(up, func(string) error {
				return errors.Join(os.Mkdir(theirs, 0o700), os.Rename(v.outside, filepath.Join(theirs, team)),
					os.Symlink(filepath.Join(theirs, team), v.outside), os.Symlink(theirs, up))
			})
		}},
		{name: "link above it to where it is now", put: func(b *box, _ *victims) (func() error, error) {
			up := filepath.Dir(b.Dir)
			return instead(up, func(aside string) error { return os.Symlink(aside, up) })
		}},
		{name: "another directory", anew: true, put: func(b *box, v *victims) (func() error, error) {
			back := func() error { return os.Rename(b.Dir, v.outside) }
			undo, err := instead(b.Dir, func(string) error { return os.Rename(v.outside, b.Dir) })
			return func() error { return errors.Join(back(), undo()) }, err
		}},
		{name: "pipe", put: func(b *box, _ *victims) (func() error, error) {
			return instead(b.Dir, func(string) error { return syscall.Mkfifo(b.Dir, 0o600) })
		}},
	}
}

// TestDirectoryReplaced: if something replaces a bridged directory or one above it, while the bridge runs or not,
// nothing is written there; the person is told once; and when the directory is back the bridge continues.
func TestDirectoryReplaced(t *testing.T) {
	for _, d := range []dialect.Dialect{agenties.Dialect(), haak.Dialect(), openalice.Dialect(),
		claudeteams.Dialect()} {
		for _, s := range swaps() {
			for _, restart := range []bool{false, true} {
				if s.anew && d.Vanishes {
					continue
				}
				t.Run(d.Name+" "+s.name, func(t *testing.T) {
					t.Parallel()
					replaced(t, d, s, restart)
				})
			}
		}
	}
}

func replaced(t *testing.T, d dialect.Dialect, s swap, restart bool) {
	b := newBox(t, d)
	v := newVictims(t, t.TempDir())
	if restart {
		b.Stop()
	}
	undo, err := s.put(b, v)
	if err != nil {
		t.Fatal(err)
	}
	if restart {
		b.Start()
	}
	b.use("meanwhile")
	if restart {
		b.Stop()
		b.Start()
		b.use("meanwhile, again")
	}
	if st := b.Sync(); st.Failing == "" || st.Behind == 0 {
		t.Errorf("the bridge says %+v", st)
	}
	notices, err := b.As(mail.User).History(t.Context(), mail.HistoryQuery{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	told := 0
	for _, it := range notices.Messages {
		if it.From == mail.FromSystem && strings.Contains(it.Body, "pennypost bridge remove") {
			told++
		}
	}
	if told != 1 {
		t.Errorf("the person was told %d times, want once", told)
	}
	b.Stop()
	if s.anew {
		v.outside = b.Dir
	}
	v.check(t)
	if s.anew {
		v.outside = filepath.Join(t.TempDir(), "back")
	}
	if err := undo(); err != nil {
		t.Fatal(err)
	}
	b.Start()
	var st mail.BridgeStatus
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); {
		if st = b.Sync(); st.Failing == "" && st.Behind == 0 {
			break
		}
	}
	if st.Failing != "" || st.Behind != 0 || !strings.Contains(b.text(), `"meanwhile`) {
		t.Errorf("afterwards the bridge says %+v, and the files\n%s", st, b.text())
	}
	v.check(t)
}
