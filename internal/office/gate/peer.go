package gate

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync"

	"pennypost/internal/base/process"
	"pennypost/internal/config"
	"pennypost/internal/mail"
)

// Peer is the process at the other end of a local connection, or of one that the relay of another machine vouches for.
type Peer struct {
	uid int
	pid int // 0: not known, as for a process outside our process-id namespace
	// far says that it runs on another machine, whose relay has found the programs above it, and inside that these
	// include an agent's client.
	far, inside bool
	terminals   []string // additional programs that a person uses

	climb sync.Once
	tree  []process.Process // it and the processes above it; set by climb
	above []string          // the programs in tree below this process, as package process names them; set by climb
	// threads are, for a far peer, for each of above the session in whose shell it started the one before.
	threads []string

	look   sync.Once
	stands standing // set by look
}

// NewPeer returns a process of this machine, as the kernel reported it when the process connected. terminals are as in
// Options.
func NewPeer(uid, pid int, terminals []string) *Peer {
	return &Peer{uid: uid, pid: pid, terminals: terminals}
}

// FarPeer returns a process of another machine. Its relay reports the programs above it, the nearest first, the
// sessions in whose shells these started each other, and whether it runs inside an agent's client.
func FarPeer(programs, threads []string, inside bool) *Peer {
	p := &Peer{far: true, inside: inside, threads: threads}
	p.climb.Do(func() { p.above = programs })
	return p
}

// Programs returns the peer and the programs above it, the nearest first, as of the first call. A peer that started
// others and has ended since is not found: see docs/security.md.
func (p *Peer) Programs() []string {
	p.climb.Do(func() {
		p.tree = process.Tree(p.pid)
		for _, one := range p.tree {
			if one.PID == 1 || one.PID == os.Getpid() {
				break
			}
			p.above = append(p.above, one.Key)
		}
	})
	return p.above
}

// Apart reports whether the peer has other process ids than this process sees, as in a container.
func (p *Peer) Apart() bool { return p.far || process.Apart(p.pid) }

// InClient reports whether the peer, or a program above it, is an agent's client or was started by one.
// PENNYPOST_AGENT is no evidence: the person sets it, or a door that starts the agent.
func (p *Peer) InClient() bool {
	if p.far {
		return p.inside
	}
	p.Programs()
	for i := range p.tree {
		one := &p.tree[i]
		if config.AgentProgram(one.Names()) != "" {
			return true
		}
		for _, v := range process.Environ(one.PID) {
			if _, found := config.AgentClient([]string{v}); found && !strings.HasPrefix(v, "PENNYPOST_AGENT=") {
				return true
			}
		}
	}
	return false
}

// thread returns the session in whose shell a program above the peer has started it, according to the variables that
// the program gave to the shell: those of the peer itself prove nothing. "": not known.
func (p *Peer) thread(program string) string {
	for i, one := range p.Programs() {
		if p.far && process.Is(program, one) && i < len(p.threads) {
			return p.threads[i]
		}
	}
	for i := 1; i < len(p.tree); i++ {
		if !process.Is(program, p.tree[i].Key) {
			continue
		}
		environ := process.Environ(p.tree[i-1].PID)
		id, _ := config.ShellSession(func(name string) string {
			for _, v := range environ {
				if value, ok := strings.CutPrefix(v, name+"="); ok {
					return value
				}
			}
			return ""
		})
		return id
	}
	return ""
}

// itself reports whether the peer is the post office: code in its own process is no agent.
func (p *Peer) itself() bool { return !p.far && p.pid == os.Getpid() }

// standing returns the peer's standing.
func (p *Peer) standing() *standing {
	p.look.Do(func() {
		p.Programs()
		p.stands = stand(p.pid, p.tree, p.terminals)
	})
	return &p.stands
}

// doubtful reports whether the peer may be an agent's process: it runs in a client, or is known neither as the
// person's, who may speak as any agent, nor as the post office's own, which starts commands from the person's
// configuration. known is as in standing.session.
func (p *Peer) doubtful(known func(programs []string) mail.Name) bool {
	if p.InClient() || p.far {
		return p.InClient()
	}
	s := p.standing()
	return !s.untold && !s.ours && (s.away != "" || len(s.through) > 0 && s.session(known) != "")
}

// peerKey is the context key of the *Peer of a Unix socket connection.
type peerKey struct{}

// WithPeer returns the context of a connection over the Unix socket.
func WithPeer(ctx context.Context, p *Peer) context.Context {
	return context.WithValue(ctx, peerKey{}, p)
}

// PeerOf returns the process at the other end of the connection of ctx; nil: it did not come over the Unix socket.
func PeerOf(ctx context.Context) *Peer {
	p, _ := ctx.Value(peerKey{}).(*Peer)
	return p
}

// Listener accepts connections of this process's own user only, and records their peers.
type Listener struct {
	*net.UnixListener
	Log       *slog.Logger
	Terminals []string // as in Options
}

// conn is a connection with its peer.
type conn struct {
	net.Conn
	peer *Peer
}

// Accept implements net.Listener.
func (l Listener) Accept() (net.Conn, error) {
	for {
		c, err := l.AcceptUnix()
		if err != nil {
			return nil, err
		}
		p, err := peerOf(c, l.Terminals)
		if err == nil && p.uid != os.Getuid() {
			err = fmt.Errorf("user id %d", p.uid)
		}
		if err == nil {
			return &conn{c, p}, nil
		}
		l.Log.Warn("connection of another user refused", "err", err)
		c.Close()
	}
}

// Local reports whether Accept returned a connection.
func Local(c net.Conn) bool {
	_, ok := c.(*conn)
	return ok
}

// ConnContext adds the peer of a connection to the context of its requests.
func (g *Gate) ConnContext(ctx context.Context, c net.Conn) context.Context {
	switch c := c.(type) {
	case *conn:
		return WithPeer(ctx, c.peer)
	default:
		return context.WithValue(ctx, tcpKey{}, &tcpPeer{conn: c, terminals: g.opts.Terminals})
	}
}
