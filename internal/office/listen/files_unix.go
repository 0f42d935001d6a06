//go:build unix

package listen

import "syscall"

// openFiles returns how many files this process may have open, 0 if there is no limit worth knowing.
func openFiles() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil || limit.Cur > 1<<20 {
		return 0
	}
	return int(limit.Cur)
}
