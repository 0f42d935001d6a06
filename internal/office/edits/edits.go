package edits

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"pennypost/internal/base/jsonx"
)

const (
	// MaxCommand is the length, in bytes, above which a shell's command is not read.
	MaxCommand = 64 << 10
	// MaxPaths is how many paths a call is said to write. Commands that name more are rare, and each costs a lookup.
	MaxPaths = 256
	// maxPath is the length, in bytes, of a path that systems accept.
	maxPath = 4096
)

// Writes is what a call writes. Paths are absolute or relative to the session's directory, as the call names them: not
// cleaned, links not resolved.
type Writes struct {
	Paths []string // written, created, moved or removed. A directory stands for all that is in it
	Names []string // moved, removed or replaced: if such a path is a link, then that itself is, not where it leads
	All   []string // directories in whose whole working tree any file may change, as by git stash
	Shell bool     // the tool is a shell: what else the call writes cannot be known
	More  bool     // there were more than MaxPaths
}

// Of returns what a call of a tool writes. given is what the tool is given, dir the session's directory as an absolute
// path, and home what ~ stands for, or "" if that is not known. A tool that is not known writes nothing.
func Of(tool string, given jsonx.Value, dir, home string) Writes {
	use, known := tools[plain(tool)]
	if !known {
		return Writes{}
	}
	r := &reader{dir: dir, home: home}
	r.out.Shell = use == shell || use == foreign
	use.read(r, given)
	return r.out
}

// reader collects what one call writes.
type reader struct {
	dir, home string
	out       Writes

	at    where             // where the shell is
	vars  map[string]string // the variables that are known; copied before it is changed
	funcs []string          // the functions that there are
	depth int               // of shells in shells
	steps int               // how much was read
}

// where is the directory in which a shell is, "" for the session's own.
type where struct {
	dir  string
	lost bool // it is not known
}

// resolve returns the path that a word names at present.
func (r *reader) resolve(text string) (path string, known bool) {
	switch {
	case text == "" || len(text) > maxPath || strings.ContainsRune(text, 0):
		return "", false
	case isAbs(text):
		return text, true
	case r.at.lost:
		return "", false
	case r.at.dir == "":
		return text, true
	case text == ".":
		return r.at.dir, true
	}
	return strings.TrimSuffix(r.at.dir, "/") + "/" + text, true
}

func isAbs(path string) bool { return strings.HasPrefix(path, "/") || filepath.IsAbs(path) }

// write notes that the path that a word names is written.
func (r *reader) write(text string) {
	if path, known := r.resolve(text); known && !strings.HasPrefix(path, "/dev/") {
		r.note(&r.out.Paths, path)
	}
}

// rename notes that what a word names is moved, removed or replaced.
func (r *reader) rename(text string) {
	if path, known := r.resolve(text); known && !strings.HasPrefix(path, "/dev/") {
		r.note(&r.out.Names, path)
	}
}

// writeAll notes that anything in the working tree around a directory may change.
func (r *reader) writeAll(text string) {
	if path, known := r.resolve(text); known {
		r.note(&r.out.All, path)
	}
}

func (r *reader) note(list *[]string, path string) {
	switch {
	case slices.Contains(*list, path):
	case len(r.out.Paths)+len(r.out.Names)+len(r.out.All) == MaxPaths:
		r.out.More = true
	default:
		*list = append(*list, path)
	}
}

// look describes what is at the path that a word names now; nil if there is nothing or it is not known.
func (r *reader) look(text string) os.FileInfo {
	path, known := r.resolve(text)
	if !known || r.spent(lookSteps) {
		return nil
	}
	if !isAbs(path) {
		path = filepath.Join(r.dir, path)
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil
	}
	return info
}

func (r *reader) isDir(text string) bool {
	info := r.look(text)
	return info != nil && info.IsDir()
}
