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

// Limits for directories and patterns, which are checked every LookEvery at 3.5 ms per thousand files
// (BenchmarkLook).
const (
	maxTree  = 2000 // files and directories in one claim; larger ones are not watched
	maxBelow = 4000 // in all claims
)

// tree is the state of a claimed directory, or of a pattern's directory, at the last look.
type tree struct {
	files map[string]stamp
	dirs  map[string]bool // true: its content is not anyone's work
	size  int             // number of files and directories
}

// walk returns the present state of a claim's files; the error is confined.ErrMany if there are too many. It does
// not follow links, and skips .git, nested trees and directories in .gitignore.
func (t *tree) walk(held mail.Target) (*tree, error) {
	now := &tree{files: make(map[string]stamp), dirs: make(map[string]bool)}
	for next := []string{held.Fixed()}; len(next) > 0; next = next[1:] {
		dir := next[0]
		list, err := confined.At(held.At).List(dir, maxTree-now.size)
		var other *confined.RefusedError // replaced by a link or a file
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

// fileIn returns a file in a claim as a target.
func fileIn(held mail.Target, name string) mail.Target {
	held.Form, held.Path = mail.FileForm, name
	return held
}

// passes reports whether a directory is skipped, as decided when it was first seen.
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

// maxDiffers is how many changed files are checked against .gitignore: when more change at the same time, the first
// are enough for a report.
const maxDiffers = 50

// differs returns the files written, created or removed since the last look, in order, without those that git
// ignores.
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
