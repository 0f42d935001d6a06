//go:build unix

package room

import (
	"os"

	"golang.org/x/sys/unix"
)

// readerGone reports whether no one can read the output to f any more: the other end of the pipe, or the terminal,
// was closed.
func readerGone(f *os.File) bool {
	fds := []unix.PollFd{{Fd: int32(f.Fd())}} // errors are always reported
	n, err := unix.Poll(fds, 0)
	return err == nil && n > 0 && fds[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0
}
