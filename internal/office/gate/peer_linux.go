package gate

import (
	"net"
	"os"
	"syscall"
)

// peerOf asks the kernel for the peer (unix(7), SO_PEERCRED).
func peerOf(conn *net.UnixConn, terminals []string) (*Peer, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil, err
	}
	var cred *syscall.Ucred
	var credErr error
	err = raw.Control(func(fd uintptr) {
		cred, credErr = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	})
	if err != nil {
		return nil, err
	}
	if credErr != nil {
		return nil, os.NewSyscallError("getsockopt", credErr)
	}
	return NewPeer(int(cred.Uid), int(cred.Pid), terminals), nil
}
