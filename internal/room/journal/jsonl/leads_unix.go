//go:build unix

package jsonl

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// Leads makes one call and fewer allocations than os.Stat: it runs before every answer.
func (osDisk) Leads(path string, to file) (size int64, leads bool) {
	var there unix.Stat_t
	if err := unix.Fstatat(unix.AT_FDCWD, path, &there, 0); err != nil {
		return 0, false
	}
	open := to.(osFile).info.Sys().(*syscall.Stat_t)
	return there.Size, there.Ino == open.Ino && there.Dev == open.Dev
}
