package confined

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"pennypost/internal/base/process"
)

// Place is a directory that a person named, and which one that was. It can be written down. What is found at its path
// later is used only if it is the same directory, reached in the same way.
type Place struct {
	Path string `json:"path"`         // as it was named; links may be on the way
	Real string `json:"real"`         // what it led to then, without links
	Dev  uint64 `json:"dev,omitzero"` // its device and inode, as far as the system tells
	Ino  uint64 `json:"ino,omitzero"`
	Boot string `json:"boot,omitempty"` // which start of the machine that was; "": unknown
}

// MovedError says that another directory is where the one was that a person named, or that it is reached by links that
// were not there then. Nothing was read from it or written to it.
type MovedError struct {
	Path string
	Why  string
}

func (e *MovedError) Error() string {
	return fmt.Sprintf("%s is not the directory that was named: %s. Nothing is read from it or written to it", e.Path,
		e.Why)
}

// Find returns the place at a path, which is a directory now.
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

// Dir returns what lies below a place, the place itself for ".". None of the directories on the way to it may be a
// link.
func (p Place) Dir(below string) Dir {
	return Dir{path: filepath.Join(p.Path, below), place: &p, below: below}
}

// open opens the directory, if it is the one that was named. What is reached by links that lead to it is the same
// directory, and is refused too: somebody moved it, and may move it on.
func (p *Place) open() (*os.Root, error) {
	real, err := filepath.EvalSymlinks(p.Path)
	if err != nil {
		return nil, err
	}
	if real != p.Real {
		return nil, &MovedError{p.Path, "links on the way to it lead to " + real + ", and it was " + p.Real}
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
		err = &MovedError{p.Path, "another one has taken its place"}
	}
	if err != nil {
		root.Close()
		return nil, err
	}
	return root, nil
}

// is reports whether a directory is the one that was named. Some devices get their numbers when they are mounted, so
// that after another start of the machine the inode has to do.
func (p *Place) is(info fs.FileInfo) bool {
	dev, ino := idOf(info)
	return p.Ino == ino && (p.Dev == dev || p.Boot == "" || p.Boot != process.Boot())
}

// Check says why the directory cannot be used, as fs.ErrNotExist, a *MovedError or a *RefusedError.
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
