package natstest

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// Fault is what a Tap does to one request.
type Fault struct {
	// Stored passes the request to the server first.
	Stored bool
	// Cut ends all connections. Without Cut and Answer, the request gets no answer.
	Cut bool
	// Answer is sent to the client instead of the server's answer.
	Answer string
	// NoResponders answers that there is no one to take the request.
	NoResponders bool
}

func (f Fault) String() string {
	what := "lost"
	switch {
	case f.Cut:
		what = "cut"
	case f.NoResponders:
		what = "no responders"
	case f.Answer != "":
		what = "answered " + f.Answer
	}
	if f.Stored {
		return what + " after the server had it"
	}
	return what + " before"
}

// Tap is a connection to a server that recognises requests, counts them, and harms one.
type Tap struct {
	listener net.Listener
	to       string

	mu       sync.Mutex
	conns    map[*tapped]bool
	requests []string // their subjects, since Count
	at       int
	fault    Fault
}

// tapped is one connection.
type tapped struct {
	in, out net.Conn

	mu      sync.Mutex
	subs    map[string]string // ids of subscriptions by subject
	answers map[string]Fault  // faults of answers, by the subject to which they go
}

// NewTap returns a tap to an address. It is closed when the test ends.
func NewTap(t testing.TB, to string) *Tap {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Tap{listener: l, to: to, conns: make(map[*tapped]bool)}
	t.Cleanup(func() { l.Close(); p.cut() })
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

// URL returns the address of the tap for clients.
func (p *Tap) URL() string { return "nats://" + p.listener.Addr().String() }

// Count returns the subjects of the requests since the last call. From now on, the request number at (1 is the next)
// meets the fault; 0: none does.
func (p *Tap) Count(at int, fault Fault) (requests []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	requests, p.requests = p.requests, nil
	p.at, p.fault = at, fault
	return requests
}

func (p *Tap) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		c.in.Close()
		c.out.Close()
	}
}

func (p *Tap) pass(in net.Conn) {
	defer in.Close()
	out, err := net.Dial("tcp", p.to)
	if err != nil {
		return
	}
	defer out.Close()
	c := &tapped{in: in, out: out, subs: make(map[string]string), answers: make(map[string]Fault)}
	p.mu.Lock()
	p.conns[c] = true
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.conns, c)
	}()
	go func() {
		_ = each(out, func(words []string, op []byte) error { return p.fromServer(c, words, op) })
		in.Close()
	}()
	_ = each(in, func(words []string, op []byte) error { return p.fromClient(c, words, op) })
}

// each calls f for each operation of the NATS protocol: its words, and all of it with the payload.
func each(from io.Reader, f func(words []string, op []byte) error) error {
	r := bufio.NewReaderSize(from, 64<<10)
	for {
		line, err := r.ReadBytes('\n')
		if err != nil {
			return err
		}
		words := strings.Fields(string(line))
		if len(words) > 0 {
			switch strings.ToUpper(words[0]) {
			case "PUB", "HPUB", "MSG", "HMSG":
				size, err := strconv.Atoi(words[len(words)-1])
				if err != nil {
					return err
				}
				payload := make([]byte, size+2)
				if _, err := io.ReadFull(r, payload); err != nil {
					return err
				}
				line = append(line, payload...)
			}
		}
		if err := f(words, line); err != nil {
			return err
		}
	}
}

// fromClient passes an operation to the server, unless it is the request that meets a fault.
func (p *Tap) fromClient(c *tapped, words []string, op []byte) error {
	send := func() error { _, err := c.out.Write(op); return err }
	if len(words) < 3 {
		return send()
	}
	switch {
	case words[0] == "SUB":
		c.mu.Lock()
		c.subs[words[1]] = words[len(words)-1]
		c.mu.Unlock()
	case words[0] == "PUB" && len(words) == 4, words[0] == "HPUB" && len(words) == 5:
		fault, hit := p.request(words[1])
		switch {
		case !hit:
		case fault.Stored:
			c.mu.Lock()
			c.answers[words[2]] = fault
			c.mu.Unlock()
		case fault.Cut:
			p.cut()
			return net.ErrClosed
		default:
			return c.answer(words[2], fault)
		}
	}
	return send()
}

// request counts a request, and returns its fault.
func (p *Tap) request(subject string) (Fault, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests = append(p.requests, subject)
	return p.fault, p.at > 0 && len(p.requests) == p.at
}

// answer answers a request instead of the server, if the fault says so.
func (c *tapped) answer(inbox string, fault Fault) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	id := c.subs[inbox]
	if i := strings.LastIndexByte(inbox, '.'); id == "" && i > 0 {
		id = c.subs[inbox[:i]+".*"]
	}
	var b bytes.Buffer
	switch {
	case id == "":
	case fault.NoResponders:
		const status = "NATS/1.0 503\r\n\r\n"
		fmt.Fprintf(&b, "HMSG %s %s %d %d\r\n%s\r\n", inbox, id, len(status), len(status), status)
	case fault.Answer != "":
		fmt.Fprintf(&b, "MSG %s %s %d\r\n%s\r\n", inbox, id, len(fault.Answer), fault.Answer)
	}
	_, err := c.in.Write(b.Bytes())
	return err
}

// fromServer passes an operation to the client, unless it answers the request that meets a fault.
func (p *Tap) fromServer(c *tapped, words []string, op []byte) error {
	if len(words) > 1 && (words[0] == "MSG" || words[0] == "HMSG") {
		c.mu.Lock()
		fault, hit := c.answers[words[1]]
		delete(c.answers, words[1])
		c.mu.Unlock()
		switch {
		case hit && fault.Cut:
			p.cut()
			return net.ErrClosed
		case hit:
			return c.answer(words[1], fault)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	_, err := c.in.Write(op)
	return err
}
