package edits

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"pennypost/internal/base/jsonx"
)

const (
	// MaxCommand is the maximum length, in bytes, of a shell command that is parsed.
	MaxCommand = 64 << 10
	// MaxPaths is the maximum number of paths returned for a call. Commands with more are rare, and each path costs
	// a lookup.
	MaxPaths = 256
	// maxPath is the maximum length, in bytes, of a path on supported systems.
	maxPath = 4096
)

// Writes are the writes of a call. Paths are as in the call, absolute or relative to the session's directory: not
// cleaned, links not resolved.
type Writes struct {
	Paths []string // written, created, moved or removed; a directory stands for its whole content
	Names []string // moved, removed or replaced: if such a path is a link, the link itself is affected, not its target
	All   []string // directories in whose whole working tree any file may change, as with git stash
	Shell bool     // the tool is a shell, whose other writes are unknown
	More  bool     // there were more than MaxPaths
}

// Of returns the writes of a tool call. given are the tool's arguments, dir is the session's directory as an
// absolute path, and home is the value of ~, or "" if unknown. An unknown tool writes nothing.
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

// reader collects the writes of one call.
type reader struct {
	dir, home string
	out       Writes

	at    where             // the shell's working directory
	vars  map[string]string // known variables; copied before a change
	funcs []string          // functions defined so far
	depth int               // nesting of shells
	steps int               // parsing steps so far
}

// where is a shell's working directory; "" is the session's.
type where struct {
	dir  string
	lost bool // the directory is unknown
}

// resolve returns the path that a word names now.
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

// write records a write to the path that a word names.
func (r *reader) write(text string) {
	if path, known := r.resolve(text); known && !strings.HasPrefix(path, "/dev/") {
		r.note(&r.out.Paths, path)
	}
}

// rename records that the path that a word names is moved, removed or replaced.
func (r *reader) rename(text string) {
	if path, known := r.resolve(text); known && !strings.HasPrefix(path, "/dev/") {
		r.note(&r.out.Names, path)
	}
}

// writeAll records that any file in the working tree around a directory may change.
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

// look returns the file info of the path that a word names, or nil if it is missing or unknown.
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
