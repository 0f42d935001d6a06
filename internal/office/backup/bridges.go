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

// Kept is a file with a bridge's record of its foreign files, open for reading. Without it a restored bridge would
// send mail again that is already there, in formats without ids.
type Kept struct {
	name string // relative to the room's directory, with slashes
	size int64  // bytes to back up
	*os.File
}

// cursor is the file in which a bridge records its position. In a backup it is empty, because a restored home may be
// next to other foreign files: the bridge goes through the whole room again, and skips mail that it finds there. At
// the next start the file shows that the room has a bridge.
const cursor = "cursor"

// OpenKept opens those files of a room, in the room's directory dir. Call it before copying the room: a bridge that is
// behind its room catches up. The caller must close the files, including those returned with an error.
func OpenKept(dir string) (kept []Kept, err error) {
	names, err := fs.Glob(os.DirFS(dir), keptPattern)
	errs := []error{err}
	for _, name := range names {
		if !isKept(name) {
			continue
		}
		info, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil || !info.Mode().IsRegular() {
			continue // just replaced by the bridge, or not ours
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
