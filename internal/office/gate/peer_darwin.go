package gate

import (
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// peerOf asks the kernel for the peer (unix(4), LOCAL_PEERCRED and LOCAL_PEERPID).
func peerOf(conn *net.UnixConn, terminals []string) (*Peer, error) {
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
	return NewPeer(int(cred.Uid), pid, terminals), nil
}
