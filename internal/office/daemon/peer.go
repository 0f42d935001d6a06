package daemon

import (
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"pennypost/internal/base/process"
)

// peer is the process at the far end of a Unix socket, as the kernel told it when the process connected.
type peer struct {
	uid int
	pid int // 0: not known, as for a process outside our process-id namespace
	// far says that it runs on another machine, whose relay has found out what is above it, and whether inside of an
	// agent's client.
	far, inside bool

	once  sync.Once
	agent string // the variable that betrays an agent client; set by once

	climb sync.Once
	above []string // it and the programs above it, as package process names them; set by climb

	look   sync.Once
	client bool // of within; set by look
}

// programs returns the peer and the programs above it, the nearest first, as they were when it was first asked for. A
// peer that has started others and ended since is not found: see docs/security.md.
func (p *peer) programs() []string {
	p.climb.Do(func() { p.above = process.Above(p.pid) })
	return p.above
}

// inClient reports whether the peer, or a program above it, was started by an agent's client. PENNYPOST_AGENT is no
// sign of that: the person sets it, or a door that starts the agent.
func (p *peer) inClient() bool {
	if p.far {
		return p.inside
	}
	return slices.ContainsFunc(p.programs(), func(program string) bool {
		number, _, _ := strings.Cut(program, ".")
		pid, err := strconv.Atoi(number)
		return err == nil && searchProcess(pid, false, "PENNYPOST_AGENT") != ""
	})
}

// within is inClient, asked once.
func (p *peer) within() bool {
	p.look.Do(func() { p.client = p.inClient() })
	return p.client
}

// agentVariable looks for an agent client in the peer's environment and, with tree, in that of its ancestors, once.
func (p *peer) agentVariable(tree bool) string {
	p.once.Do(func() { p.agent = searchProcess(p.pid, tree, "") })
	return p.agent
}

// peerListener accepts connections of this process's own user only, and remembers who they are.
type peerListener struct {
	*net.UnixListener
	log *slog.Logger
}

// peerConn is a connection with its peer.
type peerConn struct {
	net.Conn
	peer *peer
}

// Accept implements net.Listener.
func (l peerListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.AcceptUnix()
		if err != nil {
			return nil, err
		}
		p, err := peerOf(conn)
		if err == nil && p.uid != os.Getuid() {
			err = fmt.Errorf("user id %d", p.uid)
		}
		if err == nil {
			return &peerConn{conn, p}, nil
		}
		l.log.Warn("connection of a stranger refused", "err", err)
		conn.Close()
	}
}
