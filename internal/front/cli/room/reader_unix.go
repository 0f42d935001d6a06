//go:build unix

package room

import (
	"os"

	"golang.org/x/sys/unix"
)

// readerGone reports whether nobody can read any more what is written to f: the other end of a pipe, or its terminal,
// was closed.
func readerGone(f *os.File) bool {
	fds := []unix.PollFd{{Fd: int32(f.Fd())}} // which tells of errors without being asked
	n, err := unix.Poll(fds, 0)
	return err == nil && n > 0 && fds[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0
}
