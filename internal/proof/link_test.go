//go:build linux

package proof

import (
	"errors"
	"net"
	"sync"
	"testing"
	"time"
)

// direction is one of the two directions of a link.
type direction int

// The directions.
const (
	forth direction = iota // from who dialled
	back                   // to who dialled
)

// weather is how a link treats its traffic. The zero value leaves it alone.
type weather struct {
	// held says in which directions nothing gets through. No one is told: connections stay open, as with dropped
	// packets, and writes wait once the buffers are full.
	held [2]bool
	// refused resets every connection, and each new one immediately.
	refused bool
	delay   time.Duration // of each direction
	rate    int           // bytes a second in each direction; 0: no limit
}

// link is a TCP path from one process to another, which a test can cut and slow down.
type link struct {
	listener net.Listener
	target   string
	running  sync.WaitGroup

	mu      sync.Mutex
	now     weather
	changed chan struct{} // closed when now has changed
	ended   bool
	conns   map[net.Conn]bool
}

// newLink returns a link to an address. Clients dial the link's own address instead.
func newLink(target string) (*link, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	l := &link{listener: listener, target: target, changed: make(chan struct{}), conns: make(map[net.Conn]bool)}
	l.running.Go(l.accept)
	return l, nil
}

func (l *link) addr() string { return l.listener.Addr().String() }

// set changes the weather. If that refuses connections, or broken is true, set resets all of them: so end connections
// whose packets were lost for too long.
func (l *link) set(w weather, broken bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if w.refused || broken {
		l.reset()
	}
	l.now = w
	close(l.changed)
	l.changed = make(chan struct{})
}

// reset ends all connections so that both ends see that they broke.
func (l *link) reset() {
	for c := range l.conns {
		_ = c.(*net.TCPConn).SetLinger(0)
		c.Close()
	}
	clear(l.conns)
}

// close ends the link and all its connections.
func (l *link) close() {
	l.listener.Close()
	l.set(weather{refused: true}, true)
	l.mu.Lock()
	l.ended = true
	l.mu.Unlock()
	l.running.Wait()
}

// keep adds a connection that the link resets, unless the weather refuses it.
func (l *link) keep(c net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended || l.now.refused {
		_ = c.(*net.TCPConn).SetLinger(0)
		c.Close()
		return false
	}
	l.conns[c] = true
	return true
}

func (l *link) drop(c net.Conn) {
	c.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.conns, c)
}

func (l *link) accept() {
	for {
		c, err := l.listener.Accept()
		if err != nil {
			return
		}
		if l.keep(c) {
			l.running.Go(func() { l.carry(c) })
		}
	}
}

// carry carries a connection to the target. A handshake needs both directions.
func (l *link) carry(near net.Conn) {
	defer l.drop(near)
	if !l.pass(forth) || !l.pass(back) || !l.alive(near) {
		return
	}
	far, err := net.DialTimeout("tcp", l.target, time.Second)
	if err != nil || !l.keep(far) {
		return
	}
	defer l.drop(far)
	var both sync.WaitGroup
	both.Go(func() { l.pump(forth, near, far) })
	both.Go(func() { l.pump(back, far, near) })
	both.Wait()
}

func (l *link) alive(c net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.conns[c]
}

// pass waits until a direction is open, and reports whether the link still runs.
func (l *link) pass(d direction) bool {
	for {
		l.mu.Lock()
		held, ended, changed := l.now.held[d], l.ended || l.now.refused, l.changed
		l.mu.Unlock()
		if ended || !held {
			return !ended
		}
		<-changed
	}
}

// parcel is the result of one read, and its arrival time.
type parcel struct {
	data []byte
	due  time.Time
}

// pump carries one direction of a connection, in order, and ends both ends with either.
func (l *link) pump(d direction, from, to net.Conn) {
	way := make(chan parcel, 64)
	go func() {
		defer close(way)
		for {
			buf := make([]byte, 16<<10)
			n, err := from.Read(buf)
			if n > 0 {
				way <- parcel{buf[:n], l.arrival()}
			}
			if err != nil {
				return
			}
		}
	}()
	defer func() {
		from.Close()
		to.Close()
		for range way { // the reader has ended, or will at its next read
		}
	}()
	for p := range way {
		time.Sleep(time.Until(p.due))
		if !l.pass(d) {
			return
		}
		if _, err := to.Write(p.data); err != nil {
			return
		}
		l.throttle(len(p.data))
	}
}

// arrival returns when bytes sent now arrive.
func (l *link) arrival() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Now().Add(l.now.delay)
}

// throttle takes as long as the link needs for n bytes.
func (l *link) throttle(n int) {
	l.mu.Lock()
	rate := l.now.rate
	l.mu.Unlock()
	if rate > 0 {
		time.Sleep(time.Duration(n) * time.Second / time.Duration(rate))
	}
}

// TestLink holds that a link carries, holds one direction and releases its bytes later, refuses, and delays.
func TestLink(t *testing.T) {
	echo, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer echo.Close()
	heard := make(chan string, 10)
	go func() {
		for {
			c, err := echo.Accept()
			if err != nil {
				return
			}
			go func() {
				for buf := make([]byte, 100); ; {
					n, err := c.Read(buf)
					if err != nil {
						return
					}
					heard <- string(buf[:n])
					_, _ = c.Write(buf[:n])
				}
			}()
		}
	}()
	l, err := newLink(echo.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	c, err := net.Dial("tcp", l.addr())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	// say sends a word, and reports how long the echo took, or that there was none.
	say := func(word string, within time.Duration) (time.Duration, error) {
		began := time.Now()
		_, _ = c.Write([]byte(word))
		_ = c.SetReadDeadline(began.Add(within))
		_, err := c.Read(make([]byte, 100))
		return time.Since(began), err
	}
	if _, err := say("1", 5*time.Second); err != nil || <-heard != "1" {
		t.Fatalf("a link in peace: %v", err)
	}
	l.set(weather{held: [2]bool{back: true}}, false)
	var late net.Error
	if _, err := say("2", 100*time.Millisecond); !errors.As(err, &late) || !late.Timeout() || <-heard != "2" {
		t.Errorf("a link cut on the way back: %v, want what is sent to arrive and nothing to come back", err)
	}
	l.set(weather{held: [2]bool{forth: true}}, false)
	if _, err := say("", 5*time.Second); err != nil {
		t.Errorf("what was held did not come afterwards: %v", err)
	}
	if _, err := say("3", 100*time.Millisecond); err == nil || len(heard) > 0 {
		t.Errorf("a link cut on the way forth carries: %v", err)
	}
	l.set(weather{delay: 50 * time.Millisecond}, false)
	<-heard
	if _, err := say("", 5*time.Second); err != nil { // the echo of 3
		t.Error(err)
	}
	if took, err := say("4", 5*time.Second); err != nil || took < 100*time.Millisecond {
		t.Errorf("a slow link took %v there and back, want 100ms: %v", took, err)
	}
	l.set(weather{refused: true}, false)
	if _, err := say("5", 5*time.Second); err == nil || errors.As(err, &late) && late.Timeout() {
		t.Errorf("a link that refuses: %v, want a reset", err)
	}
}
