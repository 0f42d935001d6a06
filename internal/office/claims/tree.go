package claims

import (
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"slices"

	"pennypost/internal/base/confined"
	"pennypost/internal/base/worktree"
	"pennypost/internal/mail"
)

// What is looked at of directories and patterns every LookEvery, at 3.5 ms for a thousand files (BenchmarkLook).
const (
	maxTree  = 2000 // files and directories of one claim; one that has more is not looked at
	maxBelow = 4000 // of all
)

// tree is what is below a claimed directory, or in the directory of a pattern, as it was when it was looked at.
type tree struct {
	files map[string]stamp
	dirs  map[string]bool // true: what is in it is nobody's work
	size  int             // how many files and directories were looked at
}

// walk returns what is there now of what is held; the error is confined.ErrMany if that is too much. Links are not
// followed, and of .git, of trees within the tree, and of directories that .gitignore names nothing is looked at.
func (t *tree) walk(held mail.Target) (*tree, error) {
	now := &tree{files: make(map[string]stamp), dirs: make(map[string]bool)}
	for next := []string{held.Fixed()}; len(next) > 0; next = next[1:] {
		dir := next[0]
		list, err := confined.At(held.At).List(dir, maxTree-now.size)
		var other *confined.RefusedError // a link, or a file, has taken its place
		if errors.Is(err, fs.ErrNotExist) || errors.As(err, &other) {
			continue
		} else if err != nil {
			return nil, err
		}
		if dir != "." && slices.ContainsFunc(list, func(i fs.FileInfo) bool { return i.Name() == ".git" }) {
			continue
		}
		now.size += len(list)
		for _, info := range list {
			name := path.Join(dir, info.Name())
			switch {
			case info.IsDir() && !t.passes(held.At, name, now):
				next = append(next, name)
			case !info.IsDir() && held.Overlaps(fileIn(held, name)):
				now.files[name] = stampFrom(info)
			}
		}
	}
	return now, nil
}

// fileIn returns a file as it is held.
func fileIn(held mail.Target, name string) mail.Target {
	held.Form, held.Path = mail.FileForm, name
	return held
}

// passes reports whether a directory is passed over, as it was found out when it was seen first.
func (t *tree) passes(at, dir string, now *tree) bool {
	over, known := t.dirs[dir]
	if !known {
		over = ignored(at, dir)
	}
	now.dirs[dir] = over
	return over
}

func ignored(at, name string) bool {
	p, err := worktree.Find(filepath.Join(at, filepath.FromSlash(name)), at)
	return err != nil || p.Ignored()
}

// maxDiffers is of how many files it is asked whether they are anybody's work: more change at once where the first
// tells of it.
const maxDiffers = 50

// differs returns the files that were written, made or removed since, in order, but for those that git ignores.
func (t *tree) differs(at string, now *tree) (paths []string) {
	for name, s := range now.files {
		if t.files[name] != s {
			paths = append(paths, name)
		}
	}
	for name := range t.files {
		if _, there := now.files[name]; !there {
			paths = append(paths, name)
		}
	}
	slices.Sort(paths)
	paths = paths[:min(len(paths), maxDiffers)]
	return slices.DeleteFunc(paths, func(name string) bool { return ignored(at, name) })
}
