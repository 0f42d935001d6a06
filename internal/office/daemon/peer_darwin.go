package daemon

import (
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// peerOf asks the kernel who is at the far end (unix(4), LOCAL_PEERCRED and LOCAL_PEERPID).
func peerOf(conn *net.UnixConn) (*peer, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil, err
	}
	var cred *unix.Xucred
	var pid int
	var credErr error
	err = raw.Control(func(fd uintptr) {
		if cred, credErr = unix.GetsockoptXucred(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERCRED); credErr == nil {
			pid, _ = unix.GetsockoptInt(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERPID)
		}
	})
	if err != nil {
		return nil, err
	}
	if credErr != nil {
		return nil, os.NewSyscallError("getsockopt", credErr)
	}
	return &peer{uid: int(cred.Uid), pid: pid}, nil
}

// searchProcess finds nothing: macOS shows no process the environment of another. The command line looks at its own.
func searchProcess(int, bool, string) string { return "" }
