//go:build linux || darwin

package setup

import "syscall"

// freeSpace returns the bytes that this user can still write below a directory.
func freeSpace(dir string) (int64, bool) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return 0, false
	}
	return int64(st.Bavail) * int64(st.Bsize), true
}
