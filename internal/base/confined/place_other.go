//go:build !unix

package confined

import "io/fs"

// idOf knows nothing: that no link leads there has to do.
func idOf(fs.FileInfo) (dev, ino uint64) { return 0, 0 }
