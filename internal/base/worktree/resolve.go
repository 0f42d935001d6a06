package worktree

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// maxLinks is how many links a path may contain, as in Linux.
const maxLinks = 40

// resolved is a path without links.
type resolved struct {
	path    string
	info    fs.FileInfo // nil: it does not exist
	missing int         // how many of the last names do not exist
}

// resolve follows the links of an absolute path, as far as they exist; with follow, also a link that is the path
// itself. Missing names are taken as future directories and a file.
func resolve(path string, follow bool) (resolved, error) {
	w := walk{path: path, follow: follow}
	w.at, w.rest = topOf(path)
	for len(w.rest) > 0 {
		name := w.rest[0]
		w.rest = w.rest[1:]
		var err error
		switch name {
		case "", ".":
		case "..":
			err = w.up()
		default:
			err = w.down(name)
		}
		if err != nil {
			return resolved{}, err
		}
	}
	return described(path, w.at)
}

// walk is a position on a path.
type walk struct {
	path   string // the original path
	follow bool   // follow the last name too
	at     resolved
	rest   []string // the names that follow
	links  int      // links followed
}

func (w *walk) up() error {
	up := filepath.Dir(w.at.path)
	if up == w.at.path {
		return &PathError{w.path, "the path leads above the root directory"}
	}
	w.at = resolved{path: up, missing: max(w.at.missing-1, 0)}
	return nil
}

func (w *walk) down(name string) error {
	next := join(w.at.path, name)
	if w.at.missing > 0 {
		w.at.path, w.at.missing = next, w.at.missing+1
		return nil
	}
	if w.at.info != nil && !w.at.info.IsDir() {
		return &PathError{w.path, w.at.path + " is not a directory"}
	}
	info, err := os.Lstat(next)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		w.at = resolved{path: next, missing: 1}
	case err != nil:
		return err
	case info.Mode()&fs.ModeSymlink != 0 && (w.follow || len(w.rest) > 0):
		return w.lead(next)
	default:
		w.at = resolved{path: next, info: info}
	}
	return nil
}

// lead puts the target of a link before the names that follow.
func (w *walk) lead(link string) error {
	if w.links++; w.links > maxLinks {
		return &PathError{w.path, "its links form a loop, or are too many"}
	}
	target, err := os.Readlink(link)
	if err != nil {
		return err
	}
	names := split(target)
	if filepath.IsAbs(target) {
		w.at, names = topOf(target)
	}
	w.rest = append(names, w.rest...)
	return nil
}

// described fills in at.info if it is not known yet, and refuses file types that no editor writes.
func described(path string, at resolved) (resolved, error) {
	if at.info == nil && at.missing == 0 {
		info, err := os.Lstat(at.path)
		if err != nil {
			return at, err
		}
		at.info = info
	}
	if at.info != nil && !at.info.IsDir() && !at.info.Mode().IsRegular() && at.info.Mode()&fs.ModeSymlink == 0 {
		return at, &PathError{path, "it is neither a file nor a directory (" + at.info.Mode().String() + ")"}
	}
	return at, nil
}

// topOf returns the root of the file system of an absolute path, and the names below it.
func topOf(path string) (at resolved, names []string) {
	volume := filepath.VolumeName(path)
	return resolved{path: volume + string(filepath.Separator)}, split(path[len(volume):])
}

func split(path string) []string { return strings.Split(filepath.ToSlash(path), "/") }

func join(dir, name string) string {
	if os.IsPathSeparator(dir[len(dir)-1]) {
		return dir + name
	}
	return dir + string(filepath.Separator) + name
}
