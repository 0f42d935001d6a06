//go:build !linux && !darwin

package gate

import (
	"net"
	"os"
)

// peerOf assumes that the peer is this user: on this system the permissions of the data directory keep others out.
func peerOf(_ *net.UnixConn, terminals []string) (*Peer, error) {
	return NewPeer(os.Getuid(), 0, terminals), nil
}
