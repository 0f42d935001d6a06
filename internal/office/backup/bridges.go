package backup

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"pennypost/internal/base/durable"
)

// Kept is a file in which a bridge of a room keeps what it knows of the foreign files, open for reading. Without it a
// restored bridge would bring there again what is there, where a format has no ids.
type Kept struct {
	name string // relative to the room's directory, with slashes
	size int64  // of what is backed up
	*os.File
}

// cursor is where a bridge notes how far the files are. In a backup it is empty, because the files beside a restored
// home may be other ones: the bridge goes through all that the room has again, and leaves out what it finds there. The
// file says at the next start that the room has a bridge.
const cursor = "cursor"

// OpenKept opens those files of a room, in whose directory they are. To be called before the room is copied: a bridge
// that is behind its room makes up for that. The caller closes them, also those that come with an error.
func OpenKept(dir string) (kept []Kept, err error) {
	names, err := fs.Glob(os.DirFS(dir), keptPattern)
	errs := []error{err}
	for _, name := range names {
		if !isKept(name) {
			continue
		}
		info, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil || !info.Mode().IsRegular() {
			continue // the bridge has just replaced it, or it is a stranger's
		}
		f, err := durable.Open(filepath.Join(dir, filepath.FromSlash(name)))
		if err == nil {
			size := info.Size()
			if path.Base(name) == cursor {
				size = 0
			}
			kept = append(kept, Kept{name, size, f})
		}
		errs = append(errs, err)
	}
	return kept, errors.Join(errs...)
}

const keptPattern = "bridges/*/[a-z]*"

// isKept reports whether a bridge may keep a file of this name.
func isKept(name string) bool {
	matched, err := path.Match(keptPattern, name)
	return matched && err == nil && path.Clean(name) == name && !strings.HasSuffix(name, ".tmp") &&
		!strings.ContainsAny(name, `\:`)
}
