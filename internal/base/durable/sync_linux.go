package durable

import (
	"os"

	"golang.org/x/sys/unix"
)

// SyncData makes f's content and size durable, but not its times, which would cost a second write to the disk.
func SyncData(f *os.File) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = conn.Control(func(fd uintptr) {
		// Retry only an interrupted call. A failed one must not be retried: the kernel drops the error together with
		// the pages.
		for failed = unix.EINTR; failed == unix.EINTR; {
			failed = unix.Fdatasync(int(fd))
		}
	})
	if err == nil && failed != nil {
		err = os.NewSyscallError("fdatasync", failed)
	}
	return err
}
