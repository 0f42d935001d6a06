package worktree

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// made makes files below a new directory: "d/" is a directory, "l -> x" a link, "f: text" a file that holds text.
func made(t testing.TB, names ...string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		name, text, _ := strings.Cut(name, ": ")
		name, target, link := strings.Cut(name, " -> ")
		path := filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(path), 0o700)
		switch {
		case err != nil:
		case strings.HasSuffix(name, "/"):
			err = os.MkdirAll(path, 0o700)
		case link:
			err = os.Symlink(strings.ReplaceAll(target, "DIR", dir), path)
		default:
			err = os.WriteFile(path, []byte(text), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func found(t testing.TB, path, dir string) Place {
	t.Helper()
	p, err := Find(path, dir)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestFind(t *testing.T) {
	dir := made(t, "shop/.git/HEAD", "shop/src/a.go", "shop/link -> src", "shop/gone -> src/new.go",
		"shop/out -> ../wt/b.go", "shop/abs -> DIR/wt", "shop/sub/.git: gitdir: ../.git/modules/sub", "shop/sub/c.go",
		"wt/.git: gitdir: ../shop/.git/worktrees/wt", "wt/src/a.go", "wt/b.go", "to -> shop", "empty/e",
		"shop/hollow/.git/",
		"desk/notes", "desk/d/")
	for _, tt := range []struct {
		path, dir, at, want string
		is                  bool // a directory
	}{
		{path: "src/a.go", dir: "shop", at: "shop", want: "src/a.go"},
		{path: "a.go", dir: "shop/src", at: "shop", want: "src/a.go"},
		{path: "DIR/shop/src/a.go", dir: "wt", at: "shop", want: "src/a.go"},
		{path: "src/../src/./a.go", dir: "shop", at: "shop", want: "src/a.go"},
		{path: "src/a.go", dir: "wt", at: "wt", want: "src/a.go"},
		{path: "../wt/src/a.go", dir: "shop", at: "wt", want: "src/a.go"},
		{path: "link/a.go", dir: "shop", at: "shop", want: "src/a.go"},
		{path: "link/../src/a.go", dir: "shop", at: "shop", want: "src/a.go"},
		{path: "link/new/x.go", dir: "shop", at: "shop", want: "src/new/x.go"},
		{path: "gone", dir: "shop", at: "shop", want: "src/new.go"},
		{path: "out", dir: "shop", at: "wt", want: "b.go"},
		{path: "abs/src/new.go", dir: "shop", at: "wt", want: "src/new.go"},
		{path: "src/a.go", dir: "to", at: "shop", want: "src/a.go"},
		{path: "sub/c.go", dir: "shop", at: "shop/sub", want: "c.go"},
		{path: "sub", dir: "shop", at: "shop/sub", want: ".", is: true},
		{path: "src", dir: "shop", at: "shop", want: "src", is: true},
		{path: ".", dir: "shop", at: "shop", want: ".", is: true},
		{path: "..", dir: "shop/src", at: "shop", want: ".", is: true},
		{path: "new/../src", dir: "shop", at: "shop", want: "src", is: true},
		{path: "new/deep/..", dir: "shop", at: "shop", want: "new"},
		{path: "new/deep/x", dir: "shop", at: "shop", want: "new/deep/x"},
		{path: "hollow/e", dir: "shop", at: "shop", want: "hollow/e"},
		{path: ".git/config", dir: "shop", at: "shop", want: ".git/config"},
		{path: "e", dir: "empty", at: "empty", want: "e"},
		{path: "d/new/x", dir: "desk", at: "desk", want: "d/new/x"},
		{path: "../desk/d/new/x", dir: "empty", at: "desk/d", want: "new/x"},
		{path: "DIR/desk/notes", dir: "", at: "desk", want: "notes"},
		{path: "DIR/desk/d", dir: "", at: "desk/d", want: ".", is: true},
	} {
		if tt.dir != "" {
			tt.dir = filepath.Join(dir, tt.dir)
		}
		at := filepath.Join(dir, tt.at)
		root, err := id(at)
		if err != nil {
			t.Fatal(err)
		}
		got := found(t, strings.ReplaceAll(tt.path, "DIR", dir), tt.dir)
		want := Place{Root: root, At: at, Path: tt.want, Dir: tt.is}
		if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Place{})); diff != "" {
			t.Errorf("Find(%q, %q) (-want +got):\n%s", tt.path, tt.dir, diff)
		}
	}
}

func TestFindRefuses(t *testing.T) {
	dir := made(t, "shop/.git/HEAD", "shop/f", "shop/a -> b", "shop/b -> a", "shop/self -> self/x")
	shop := filepath.Join(dir, "shop")
	for _, tt := range []struct{ path, dir, want string }{
		{"", shop, "empty"},
		{"f", "", "is unknown"},
		{"f", "shop", "is unknown"},
		{"f\x00", shop, "NUL"},
		{"f", shop + "\x00", "NUL"},
		{strings.Repeat("a/", 1<<19), shop, "more than 4096 bytes"},
		{strings.Repeat("../", 1000) + "etc", shop, "above the root"},
		{"a", shop, "loop"},
		{"self/y", shop, "loop"},
		{"f/x", shop, "not a directory"},
		{"/dev/null", shop, "neither a file nor a directory"},
	} {
		_, err := Find(tt.path, tt.dir)
		var refused *PathError
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), tt.want) || len(err.Error()) > 400 {
			t.Errorf("Find(%.40q, %q): %v, want %q", tt.path, tt.dir, err, tt.want)
		}
	}
	if _, err := Find(strings.Repeat("a", 300), shop); err == nil {
		t.Error("a name of 300 bytes has a place")
	}
}

// TestRenamed checks that a tree is the same after it was moved, and one in its place is another.
func TestRenamed(t *testing.T) {
	dir := made(t, "shop/.git/HEAD", "shop/a.go", "other/.git/HEAD")
	shop := filepath.Join(dir, "shop")
	before := found(t, "a.go", shop)
	if err := os.Rename(shop, filepath.Join(dir, "store")); err != nil {
		t.Fatal(err)
	}
	after := found(t, "a.go", filepath.Join(dir, "store"))
	if after.Root != before.Root || after.Path != before.Path || after.At == before.At {
		t.Errorf("after moving: %+v, before: %+v", after, before)
	}
	if err := os.Rename(filepath.Join(dir, "other"), shop); err != nil {
		t.Fatal(err)
	}
	if p := found(t, "a.go", shop); p.Root == before.Root {
		t.Errorf("another tree is %s too", p.Root)
	}
}

// TestGitWorktrees checks worktrees that Git itself makes.
func TestGitWorktrees(t *testing.T) {
	dir := made(t)
	run := exec.Command("sh", "-ec", `git init -q shop; cd shop; git -c user.name=a -c user.email=a@b commit -q \
		--allow-empty -m x; git worktree add -q ../wt`)
	run.Dir = dir
	run.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	if out, err := run.CombinedOutput(); err != nil {
		t.Skipf("git: %v\n%s", err, out)
	}
	one, two := found(t, "a", filepath.Join(dir, "shop")), found(t, "a", filepath.Join(dir, "wt"))
	if one.Root == two.Root || one.kind != project || two.kind != project {
		t.Errorf("the worktrees are %+v and %+v", one, two)
	}
}

// TestMount checks that a tree has the same identity by all paths on which it is mounted.
func TestMount(t *testing.T) {
	if shop := os.Getenv("WORKTREE_MOUNT"); shop != "" { // in the namespace
		one, two := found(t, "src/a.go", shop), found(t, "src/a.go", filepath.Join(filepath.Dir(shop), "mnt"))
		if one.Root != two.Root || one.Path != two.Path || one.At == two.At {
			t.Errorf("the mounts are %+v and %+v", one, two)
		}
		return
	}
	if out, err := exec.Command("unshare", "-rm", "true").CombinedOutput(); err != nil {
		t.Skipf("no mounts may be made here: %v\n%s", err, out)
	}
	dir := made(t, "shop/.git/HEAD", "shop/src/a.go", "mnt/")
	run := exec.Command("unshare", "-rm", "sh", "-ec", `mount --bind shop mnt; exec "$0" -test.run='^TestMount$'`,
		os.Args[0])
	run.Dir = dir
	run.Env = append(os.Environ(), "WORKTREE_MOUNT="+filepath.Join(dir, "shop"))
	if out, err := run.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestCase checks that names in another case, or with decomposed letters, are the same where the disk ignores that.
func TestCase(t *testing.T) {
	shop := filepath.Join(made(t, "shop/.git/HEAD", "shop/Src/a.go", "shop/.gitignore: *.O\n"), "shop")
	yes := func(string, string) bool { return true }
	for _, name := range []string{"Src/Ä.go", "src/ä.GO", "src/a\u0308.go"} {
		p, err := find(name, shop, true, yes)
		if err != nil || p.Path != "src/ä.go" || p.Shown != name {
			t.Errorf("find(%q) = %+v, %v", name, p, err)
		}
	}
	if p, err := find("SRC/x.o", shop, true, yes); err != nil || !p.Ignored() {
		t.Errorf("SRC/x.o is not ignored: %+v, %v", p, err)
	}
	one, two := found(t, "Src/b", shop), found(t, "src/b", shop)
	if ignoresCase(shop, ".git") != (one.Path == two.Path) {
		t.Errorf("the paths are %q and %q", one.Path, two.Path)
	}
}

// TestIgnoresCase checks the detection of disks that ignore case: there, both names are one file.
func TestIgnoresCase(t *testing.T) {
	dir := made(t, "one/a", "two/a", "two/A -> a", "Three/1")
	if ignoresCase(filepath.Join(dir, "one"), "a") {
		t.Skip("the disk does ignore case")
	}
	if err := os.Link(filepath.Join(dir, "one", "a"), filepath.Join(dir, "one", "A")); err != nil {
		t.Skip(err)
	}
	if err := os.Symlink("Three", filepath.Join(dir, "THREE")); err != nil {
		t.Skip(err)
	}
	for _, tt := range []struct {
		top, name string
		want      bool
	}{{"one", "a", true}, {"two", "a", false}, {"Three", "1", false}, {"Three", "none", false}, {"one", "", false}} {
		if got := ignoresCase(filepath.Join(dir, tt.top), tt.name); got != tt.want {
			t.Errorf("ignoresCase(%q, %q) = %t", tt.top, tt.name, got)
		}
	}
}

func FuzzFind(f *testing.F) {
	dir := made(f, "shop/.git/HEAD", "shop/src/a.go", "shop/l -> src", "shop/m -> ../shop/l", "shop/x -> x",
		"shop/.gitignore: *.o\n/src/*\n!a.go\n**/x/\n")
	for _, s := range []string{"src/a.go", "l/../m/new", "../..", "x", "/", "l//./", "m/a.go/b", "Src/\u0308"} {
		f.Add(s)
	}
	shop := filepath.Join(dir, "shop")
	f.Fuzz(func(t *testing.T, path string) {
		p, err := Find(path, shop)
		if err != nil {
			return
		}
		p.Ignored()
		if p.Path == "" || p.Path != "." && !filepath.IsLocal(p.Path) {
			t.Errorf("Find(%q) = %+v", path, p)
		}
		if again, err := Find(filepath.Join(p.At, p.Path), shop); err != nil || again != p {
			t.Errorf("Find(%q) = %+v, and once more %+v, %v", path, p, again, err)
		}
	})
}

func BenchmarkFind(b *testing.B) {
	shop := filepath.Join(made(b, "shop/.git/HEAD", "shop/a/b/c/d/e/f.go", "shop/.gitignore: "+
		strings.Repeat("*.o\n/build/\n# x\nnode_modules/\n**/gen/*.go\n", 10)), "shop")
	path := filepath.Join(shop, "a", "b", "c", "d", "e", "f.go")
	for _, bb := range []struct{ name, path string }{{"there", path}, {"new", path + "x"}} {
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Find(bb.path, shop); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("ignored", func(b *testing.B) {
		p := found(b, path, shop)
		b.ReportAllocs()
		for b.Loop() {
			if p.Ignored() {
				b.Fatal("ignored")
			}
		}
	})
}

// TestFindName checks that moving or removing a link does not affect its target. Links on the way are followed.
func TestFindName(t *testing.T) {
	dir := made(t, "shop/.git/HEAD", "shop/src/a.go", "shop/link -> src", "shop/src/b -> a.go", "shop/gone -> nowhere",
		"shop/d -> link", "to -> shop")
	for path, want := range map[string]string{"src/a.go": "src/a.go", "src/b": "src/b", "link": "link",
		"link/": "src", "link/b": "src/b", "d": "d", "d/b": "src/b", "gone": "gone", "../to/link": "link",
		"link/.": "src", "new": "new"} {
		p, err := FindName(path, filepath.Join(dir, "shop"))
		if err != nil || p.Path != want {
			t.Errorf("FindName(%q) = %+v, %v, want %q", path, p, err, want)
		}
	}
}
