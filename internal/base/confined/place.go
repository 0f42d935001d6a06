package confined

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"pennypost/internal/base/process"
)

// Place is a directory that a person named, with its identity. It can be stored. The directory found at its path later
// is used only if it is the same one, reached in the same way.
type Place struct {
	Path string `json:"path"`         // as it was named; may contain links
	Real string `json:"real"`         // the directory it led to then, without links
	Dev  uint64 `json:"dev,omitzero"` // its device and inode, as far as the system tells
	Ino  uint64 `json:"ino,omitzero"`
	Boot string `json:"boot,omitempty"` // the boot of the machine at that time; "": unknown
}

// MovedError says that another directory is at the path that a person named, or that it is reached through links that
// were not there before. Nothing was read from it or written to it.
type MovedError struct {
	Path string
	Why  string
}

func (e *MovedError) Error() string {
	return fmt.Sprintf("%s is no longer the same directory: %s. It is not used", e.Path,
		e.Why)
}

// Find returns the place at a path, which must be a directory now.
func Find(path string) (Place, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return Place{}, err
	}
	root, err := openDir(real)
	if err != nil {
		return Place{}, err
	}
	defer root.Close()
	info, err := root.Stat(".")
	if err != nil {
		return Place{}, err
	}
	p := Place{Path: path, Real: real, Boot: process.Boot()}
	p.Dev, p.Ino = idOf(info)
	return p, nil
}

// Dir returns a directory below a place, the place itself for ".". None of the directories in between may be a link.
func (p Place) Dir(below string) Dir {
	return Dir{path: filepath.Join(p.Path, below), place: &p, below: below}
}

// open opens the directory, if it is the one that was named. It refuses even the same directory if new links lead to
// it: someone moved it, and may move it again.
func (p *Place) open() (*os.Root, error) {
	real, err := filepath.EvalSymlinks(p.Path)
	if err != nil {
		return nil, err
	}
	if real != p.Real {
		return nil, &MovedError{p.Path, "its links lead to " + real + ", but led to " + p.Real}
	}
	root, err := openDir(real)
	if err != nil {
		if info, _ := os.Lstat(real); info != nil && !info.IsDir() {
			err = refuse(p.Path, info.Mode())
		}
		return nil, err
	}
	info, err := root.Stat(".")
	if err == nil && !p.is(info) {
		err = &MovedError{p.Path, "another directory has replaced it"}
	}
	if err != nil {
		root.Close()
		return nil, err
	}
	return root, nil
}

// is reports whether a directory is the one that was named. Some devices get their number when they are mounted, so
// after another boot only the inode counts.
func (p *Place) is(info fs.FileInfo) bool {
	dev, ino := idOf(info)
	return p.Ino == ino && (p.Dev == dev || p.Boot == "" || p.Boot != process.Boot())
}

// Check returns why the directory cannot be used, as fs.ErrNotExist, a *MovedError or a *RefusedError.
func (d Dir) Check() error {
	info, err := d.Lstat(".")
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return refuse(d.path, info.Mode())
	}
	return nil
}
