//go:build unix

package natsd

import "golang.org/x/sys/unix"

// space returns how many bytes the disk of a directory has left.
func space(dir string) (left uint64, known bool) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, false
	}
	return st.Bavail * uint64(st.Bsize), true
}
