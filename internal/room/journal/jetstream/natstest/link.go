package natstest

import (
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"
)

// Link is a connection to a server that can lose data, and can be cut.
type Link struct {
	listener net.Listener
	to       string

	mu    sync.Mutex
	deaf  bool
	mute  bool
	loss  float64
	conns []net.Conn
}

// NewLink returns a link to an address. It is cut when the test ends.
func NewLink(t testing.TB, to string) *Link {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Link{listener: l, to: to}
	t.Cleanup(func() { l.Close(); p.Cut() })
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			go p.pass(in)
		}
	}()
	return p
}

func (p *Link) pass(in net.Conn) {
	defer in.Close()
	out, err := net.Dial("tcp", p.to)
	if err != nil {
		return
	}
	defer out.Close()
	p.mu.Lock()
	p.conns = append(p.conns, in, out)
	p.mu.Unlock()
	go func() {
		p.copy(out, in, &p.mute)
		out.Close()
	}()
	p.copy(in, out, &p.deaf)
}

// copy passes data on, unless it is to be lost.
func (p *Link) copy(to, from net.Conn, lost *bool) {
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		p.mu.Lock()
		lose, loss := *lost, p.loss
		p.mu.Unlock()
		if err != nil {
			return
		}
		for again := resentAfter; rand.Float64() < loss; again *= 2 {
			time.Sleep(again)
		}
		if !lose {
			_, _ = to.Write(buf[:n])
		}
	}
}

// URL returns the address of the link for clients.
func (p *Link) URL() string { return "nats://" + p.listener.Addr().String() }

// Lose starts or stops the loss of answers.
func (p *Link) Lose(answers bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.deaf = answers
}

// LoseRequests starts or stops the loss of the clients' data.
func (p *Link) LoseRequests(requests bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mute = requests
}

// resentAfter is TCP's shortest wait before it retransmits a lost packet.
const resentAfter = 200 * time.Millisecond

// LosePackets starts to lose a share of the packets, as TCP users see it: data stops until it was retransmitted.
func (p *Link) LosePackets(part float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.loss = part
}

// Cut closes the current connections, and stops all losses.
func (p *Link) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		c.Close()
	}
	p.conns, p.deaf, p.mute = nil, false, false
}
