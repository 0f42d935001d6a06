package gate

import (
	"context"
	"encoding/hex"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"pennypost/internal/base/process"
)

// tcpKey is the context key of the *tcpPeer of a TCP connection.
type tcpKey struct{}

// tcpPeer is the process of this machine at the other end of a TCP connection, looked up when needed.
type tcpPeer struct {
	conn      net.Conn
	terminals []string // as in Options
	once      sync.Once
	peer      *Peer // nil: not known; set by once
}

// tcpPeerOf returns the process at the other end of the TCP connection of ctx, if it is this user's on this machine
// and the system tells. It is used to check a credential of the user, which does not count below an agent.
func tcpPeerOf(ctx context.Context) *Peer {
	t, _ := ctx.Value(tcpKey{}).(*tcpPeer)
	if t == nil {
		return nil
	}
	t.once.Do(func() {
		if c, ok := t.conn.(*net.UnixConn); ok { // the socket for tokens
			if p, err := peerOf(c, t.terminals); err == nil && p.uid == os.Getuid() {
				t.peer = p
			}
			return
		}
		from, ours := addrPort(t.conn.RemoteAddr()), addrPort(t.conn.LocalAddr())
		if !from.Addr().IsLoopback() {
			return
		}
		if inode := socketOf(from, ours); inode != "" {
			if pid := holderOf(inode); pid != 0 {
				t.peer = NewPeer(os.Getuid(), pid, t.terminals)
			}
		}
	})
	return t.peer
}

func addrPort(a net.Addr) netip.AddrPort {
	ap, _ := netip.ParseAddrPort(a.String())
	return netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port())
}

// socketOf returns the inode of the socket connected from one address to another, as proc(5) lists it (/proc/net/tcp);
// "" if there is none.
func socketOf(from, to netip.AddrPort) string {
	file := "/proc/net/tcp"
	if from.Addr().Is6() {
		file = "/proc/net/tcp6"
	}
	for _, file := range []string{file, "/proc/net/tcp6"} {
		text, err := os.ReadFile(file)
		if err != nil {
			return ""
		}
		for line := range strings.Lines(string(text)) {
			f := strings.Fields(line)
			if len(f) > 9 && procAddr(f[1]) == from && procAddr(f[2]) == to && f[9] != "0" {
				return f[9]
			}
		}
	}
	return ""
}

// procAddr parses an address of /proc/net/tcp: its words are in the machine's byte order, which is little endian
// wherever this runs, followed by the port.
func procAddr(s string) netip.AddrPort {
	host, port, _ := strings.Cut(s, ":")
	b, err := hex.DecodeString(host)
	n, portErr := strconv.ParseUint(port, 16, 16)
	if err != nil || portErr != nil || len(b)%4 != 0 {
		return netip.AddrPort{}
	}
	for word := range slices.Chunk(b, 4) {
		slices.Reverse(word)
	}
	ip, _ := netip.AddrFromSlice(b)
	return netip.AddrPortFrom(ip.Unmap(), uint16(n))
}

// holderOf returns the process that opened a socket, 0 if none is found. Those of other users are not visible.
func holderOf(inode string) int {
	for _, pid := range processes() {
		if pid != os.Getpid() && process.Holds(pid, inode) {
			return openerOf(pid, inode)
		}
	}
	return 0
}

// openerOf returns, given a process that has a socket, the topmost process above it that has it too. A new process has
// its parent's files until it runs a program of its own, whose environment then does not reveal the opener.
func openerOf(pid int, inode string) int {
	for _, above := range process.Tree(pid) {
		if above.PID == os.Getpid() || above.PID != pid && !process.Holds(above.PID, inode) {
			break
		}
		pid = above.PID
	}
	return pid
}
