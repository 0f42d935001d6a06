//go:build linux || darwin

package durable

import (
	"math"
	"syscall"
)

// Space returns how many bytes of a disk this user may still fill, and its size.
func Space(dir string) (free, total int64, err error) {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(dir, &fs); err != nil {
		return 0, 0, err
	}
	if fs.Blocks == 0 { // a file system that does not count, such as some in user space
		return math.MaxInt64, 0, nil
	}
	return int64(fs.Bavail) * int64(fs.Bsize), int64(fs.Blocks) * int64(fs.Bsize), nil
}
