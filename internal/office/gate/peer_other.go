//go:build !linux && !darwin

package gate

import (
	"net"
	"os"
)

// peerOf believes that the peer is this user: here the permissions of the data directory are what keeps others out.
func peerOf(_ *net.UnixConn, terminals []string) (*Peer, error) {
	return NewPeer(os.Getuid(), 0, terminals), nil
}
