//go:build unix

package confined

import (
	"io/fs"
	"syscall"
)

func idOf(info fs.FileInfo) (dev, ino uint64) {
	st := info.Sys().(*syscall.Stat_t)
	return uint64(st.Dev), st.Ino
}
