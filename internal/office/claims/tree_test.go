package claims

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"pennypost/internal/base/worktree"
	"pennypost/internal/mail"
	"pennypost/internal/policy"
)

// grove is a watched repository in which ann holds a claim.
type grove struct {
	*testing.T
	dir  string
	root worktree.Place
	room *desk
	w    *Watch
	now  time.Time
}

func newGrove(t *testing.T, form mail.Form, path string) *grove {
	t.Helper()
	g := &grove{T: t, dir: repository(t, t.TempDir()), room: &desk{}, now: time.Now()}
	for _, name := range []string{"src/a.go", "src/deep/b.go", "src/deep/c.txt", "src/build/x.o", "src/run.log",
		"main.go"} {
		write(t, filepath.Join(g.dir, name), "x")
	}
	var err error
	if g.root, err = worktree.Find(g.dir, g.dir); err != nil {
		t.Fatal(err)
	}
	g.room.held = []mail.Holding{{Agent: "ann", Claim: mail.Claim{Since: 5, Target: mail.Target{Root: g.root.Root,
		At: g.root.At, Path: path, Form: form}}}}
	g.w = &Watch{Room: func(mail.RoomName) Room { return g.room }}
	return g
}

// look runs a look and checks the reports.
func (g *grove) look(when string, want ...string) {
	g.Helper()
	g.now = g.now.Add(LookEvery)
	g.room.sent = nil
	g.w.Look(g.Context(), g.now)
	if !slices.Equal(g.room.sent, want) {
		g.Errorf("%s: told is %q, want %q", when, g.room.sent, want)
	}
}

func (g *grove) write(name string) {
	g.Helper()
	write(g.T, filepath.Join(g.dir, name), fmt.Sprint("y", time.Now().UnixNano()))
}

// TestHiddenWritesBelow: a file written, created or removed below a claimed directory is reported once for each
// writer, and ignored files or those outside never.
func TestHiddenWritesBelow(t *testing.T) {
	g := newGrove(t, mail.BelowForm, "src")
	g.w.Holds("shop", g.room.held)
	g.look("nothing happens")
	outside := t.TempDir()
	write(t, filepath.Join(outside, "z.go"), "x")
	if err := os.Symlink(outside, filepath.Join(g.dir, "src", "link")); err != nil {
		t.Fatal(err)
	}
	g.w.Began(seat{"shop", "ann"}, "t1", nil)
	g.look("ann's shell makes a link")
	g.w.Ended(seat{"shop", "ann"}, "t1", g.now)
	g.look("and has ended")
	write(t, filepath.Join(outside, "z.go"), "xx")
	for _, name := range []string{"src/build/x.o", "src/build/y.o", "src/run.log", "src/new.log", "main.go",
		".git/index"} {
		g.write(name)
	}
	repository(t, filepath.Join(g.dir, "src", "sub"))
	g.look("nobody's work changes, and what is not below")
	g.w.Began(seat{"shop", "bob"}, "t2", nil)
	g.write("src/deep/b.go")
	g.look("bob writes", "bob: You wrote src/deep/b.go, which ann holds",
		"ann: src/deep/b.go, which you hold, was written by bob")
	g.write("src/deep/new.go")
	g.look("bob goes on")
	g.w.Ended(seat{"shop", "bob"}, "t2", g.now)
	g.look("bob has ended")
	if err := os.RemoveAll(filepath.Join(g.dir, "src", "deep")); err != nil {
		t.Fatal(err)
	}
	g.look("somebody removes", "ann: src/deep/b.go, which you hold, was written by someone, perhaps the user")
	if n := g.w.files[fileKey{seat{"shop", "ann"}, g.root.Root, "src"}].tree.size; g.w.below != n {
		t.Errorf("%d files are counted, and there are %d", g.w.below, n)
	}
	g.room.held = nil
	g.look("nothing is held")
	if len(g.w.files) != 0 || g.w.below != 0 {
		t.Errorf("%d claims with %d files are looked at still", len(g.w.files), g.w.below)
	}
}

// TestHiddenWritesOfPattern: of a pattern, only matching files are checked.
func TestHiddenWritesOfPattern(t *testing.T) {
	g := newGrove(t, mail.GlobForm, "src/**/*.go")
	g.w.Holds("shop", g.room.held)
	g.write("src/deep/c.txt")
	g.look("another file changes")
	g.write("src/deep/b.go")
	g.look("one of it does", "ann: src/deep/b.go, which you hold, was written by someone, perhaps the user")
}

// TestHiddenWritesAfterRestart: a claim from before the post office started is watched, in its present state, once
// an agent uses a tool in that tree; claims in other trees or on other machines are not.
func TestHiddenWritesAfterRestart(t *testing.T) {
	g := newGrove(t, mail.FileForm, "src/a.go")
	g.w.Machine = "here"
	far, other := g.room.held[0], g.room.held[0]
	far.Path, far.Machine = "src/deep/b.go", "there"
	other.Path, other.Root = "src/deep/c.txt", "1-2"
	g.room.held[0].At = "/nowhere" // the claim's own path
	g.room.held = append(g.room.held, far, other)
	g.write("src/a.go")
	g.look("nobody works there")
	guard := &Guard{Watch: g.w, Rule: func(mail.RoomName) policy.ClaimRule { return policy.ClaimsWarn },
		Others: func(mail.RoomName, mail.Name) []string { return nil }}
	use := Use{Room: "shop", Agent: "bob", Tool: "Read", Given: []byte(`{}`), Dir: filepath.Join(g.dir, "src")}
	if _, err := guard.Write(t.Context(), g.room, use); err != nil {
		t.Fatal(err)
	}
	g.look("bob reads there")
	g.write("src/a.go")
	g.write("src/deep/b.go")
	g.write("src/deep/c.txt")
	g.look("it changes", "ann: src/a.go, which you hold, was written by someone, perhaps the user")
}

// TestLargeTrees: a directory with too many files is not watched, nor one that has grown too large.
func TestLargeTrees(t *testing.T) {
	g := newGrove(t, mail.BelowForm, "src")
	fill := func(dir string) {
		for i := range maxTree {
			write(t, filepath.Join(g.dir, "src", dir, fmt.Sprint(i, ".go")), "x")
		}
	}
	fill("build")
	g.w.Holds("shop", g.room.held)
	if len(g.w.files) != 1 {
		t.Error("files that git ignores count")
	}
	fill("many")
	g.look("it grew")
	if len(g.w.files) != 0 || g.w.below != 0 {
		t.Error("it is looked at still")
	}
	g.w.Holds("shop", g.room.held)
	if len(g.w.files) != 0 {
		t.Error("it is looked at again")
	}
}

// BenchmarkLook measures a look at a claimed directory with a thousand unchanged files in fifty directories.
func BenchmarkLook(b *testing.B) {
	dir := b.TempDir()
	for i := range 1000 {
		path := filepath.Join(dir, "src", fmt.Sprint("d", i%50), fmt.Sprint(i, ".go"))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			b.Fatal(err)
		}
	}
	held := mail.Target{Root: "1-2", At: dir, Path: "src", Form: mail.BelowForm}
	t, err := (&tree{}).walk(held)
	if err != nil || len(t.files) != 1000 {
		b.Fatal(len(t.files), err)
	}
	for b.Loop() {
		now, err := t.walk(held)
		if err != nil || len(t.differs(dir, now)) != 0 {
			b.Fatal(err)
		}
	}
}
