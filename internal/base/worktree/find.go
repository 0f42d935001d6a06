package worktree

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// MaxPath is the maximum length of a path, in bytes.
const MaxPath = 4096

// Place is the position of a path in a tree.
type Place struct {
	Root  string // identity of the top of the tree: device and inode in hex; on Windows volume and file
	At    string // the path of the top, without links, for people and for opening
	Path  string // from the top, with slashes, for comparison; "." is the top itself
	Shown string // Path for people, where it differs: as it was named
	Dir   bool   // it is a directory now

	kind  kind
	folds bool // the disk ignores the case of letters
}

// kind is what makes a directory the top of a tree.
type kind int

const (
	project kind = iota // it has .git
	session             // a session works in it
	own                 // the file is in it
)

// PathError says why a path has no place.
type PathError struct {
	Path string
	Why  string
}

func (e *PathError) Error() string {
	path := e.Path
	if len(path) > 200 {
		path = strings.ToValidUTF8(path[:200], "") + "…"
	}
	return fmt.Sprintf("%q: %s", path, e.Why)
}

// Find returns the place of a path. A relative one starts from dir, the session's directory, which is absolute.
// Neither the file nor the directories above it need exist. A link counts as its target. The error is a *PathError, or
// that of the file system.
func Find(path, dir string) (Place, error) { return find(path, dir, true, ignoresCase) }

// FindName is Find for moving, removing or replacing a path: if the path itself is a link, its place is that of the
// link.
func FindName(path, dir string) (Place, error) { return find(path, dir, false, ignoresCase) }

// FindFolding is Find for a disk that ignores the case of letters, for tests on other disks.
func FindFolding(path, dir string) (Place, error) {
	return find(path, dir, true, func(string, string) bool { return true })
}

// find is Find or FindName. ignores tells whether the disk ignores case at the top of a tree, given a name that exists
// there.
func find(path, dir string, follow bool, ignores func(top, name string) bool) (Place, error) {
	switch {
	case path == "":
		return Place{}, &PathError{path, "the path is empty"}
	case len(path) > MaxPath || len(dir) > MaxPath:
		return Place{}, &PathError{path, fmt.Sprintf("the path has more than %d bytes", MaxPath)}
	case strings.ContainsRune(path+dir, 0):
		return Place{}, &PathError{path, "the path contains a NUL byte"}
	case !filepath.IsAbs(path) && !filepath.IsAbs(dir):
		return Place{}, &PathError{path, "the path is relative, and the session's directory is unknown"}
	case !filepath.IsAbs(path):
		path = dir + "/" + path
	}
	real, err := resolve(path, follow)
	if err != nil {
		return Place{}, err
	}
	p := Place{Dir: real.info != nil && real.info.IsDir()}
	p.At, p.kind = top(real, dir)
	if p.Root, err = id(p.At); err != nil {
		return Place{}, err
	}
	p.Path = "."
	if real.path != p.At {
		p.Path = filepath.ToSlash(strings.TrimPrefix(real.path[len(p.At):], string(filepath.Separator)))
	}
	p.folds = ignores(p.At, p.witness(real))
	p.compare()
	return p, nil
}

// compare brings the path into a form that is equal for paths that the disk takes to be the same.
func (p *Place) compare() {
	named := p.Path
	if p.folds || runtime.GOOS == "darwin" { // its disks always ignore the Unicode form of a letter
		p.Path = norm.NFC.String(named)
	}
	if p.folds {
		p.Path = strings.ToLower(p.Path)
	}
	if p.Path != named {
		p.Shown = named
	}
}

// witness returns a name that exists at the top of the tree; "" if none is known.
func (p *Place) witness(real resolved) string {
	if p.kind == project {
		return ".git"
	}
	if names := strings.Split(p.Path, "/"); p.Path != "." && real.missing < len(names) {
		return names[0]
	}
	return ""
}

// ignoresCase finds out whether a disk ignores the case of letters, with a name in a directory, or otherwise with the
// directory's own name.
func ignoresCase(top, name string) bool {
	if swapped(name) == name {
		top, name = filepath.Dir(top), filepath.Base(top)
	}
	if swapped(name) == name {
		return runtime.GOOS == "windows" || runtime.GOOS == "darwin" // as their disks mostly do
	}
	one, err := os.Lstat(filepath.Join(top, name))
	if err != nil {
		return false
	}
	other, err := os.Lstat(filepath.Join(top, swapped(name)))
	return err == nil && os.SameFile(one, other)
}

// swapped returns a name with its letters in the other case.
func swapped(name string) string {
	if upper := strings.ToUpper(name); upper != name {
		return upper
	}
	return strings.ToLower(name)
}

// top returns the top of the tree that a file is in.
func top(real resolved, dir string) (string, kind) {
	near := real.path // the nearest existing directory
	for range real.missing {
		near = filepath.Dir(near)
	}
	if real.info != nil && !real.info.IsDir() {
		near = filepath.Dir(near)
	}
	for at := near; ; at = filepath.Dir(at) {
		if hasGit(at) {
			return at, project
		}
		if at == filepath.Dir(at) {
			break
		}
	}
	if filepath.IsAbs(dir) {
		home, err := resolve(dir, true)
		if err == nil && home.info != nil && home.info.IsDir() && under(real.path, home.path) {
			return home.path, session
		}
	}
	return near, own
}

// under reports whether a path is a directory's own or below it.
func under(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, join(dir, ""))
}

// hasGit reports whether a directory is the top of a working tree. Like Git it ignores a .git without HEAD: sandboxes
// leave empty ones.
func hasGit(dir string) bool {
	git := join(dir, ".git")
	info, err := os.Stat(git)
	if err != nil {
		return false
	}
	if info.IsDir() {
		_, err := os.Lstat(join(git, "HEAD"))
		return err == nil
	}
	return info.Mode().IsRegular()
}
