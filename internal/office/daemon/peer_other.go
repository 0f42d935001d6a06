//go:build !linux && !darwin

package daemon

import (
	"net"
	"os"
)

// peerOf believes that the peer is this user: here the permissions of the data directory are what keeps others out.
func peerOf(*net.UnixConn) (*peer, error) { return &peer{uid: os.Getuid()}, nil }

// searchProcess finds nothing. The command line looks at its own environment.
func searchProcess(int, bool, string) string { return "" }
