package listen

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"pennypost/internal/office/gate"
)

// How the process divides its file descriptors. Rooms, bridges and temporary files need some even when all possible
// connections are open, or a full house would stop journals; and clients that fill the TCP port must not keep out
// the owner of the Unix socket.
const (
	minSpare = 32   // the minimum for files
	maxSpare = 4096 // the maximum; in between, a quarter
)

// maxConnections returns how many connections may be open at a time, over TCP and in all. 0: no limit.
func maxConnections() (tcp, all int) {
	files := openFiles()
	if files == 0 {
		return 0, 0
	}
	all = max(8, files-min(max(files/4, minSpare), maxSpare))
	return all * 3 / 4, all
}

// shedder is a listener that closes connections for which there are no file descriptors, instead of leaving them in
// the kernel's queue. The process then logs its trouble once.
type shedder struct {
	net.Listener
	connections *Connections
	log         *slog.Logger

	tcp, all int // limits of connections; 0: none

	mu      sync.Mutex
	reserve *os.File  // a descriptor with which to accept and close a connection when there is no other
	last    time.Time // when a connection was last shed
}

// Shed returns a listener whose connections are counted in c, and are shed when there are too many.
func (c *Connections) Shed(l net.Listener, log *slog.Logger) net.Listener {
	s := &shedder{Listener: l, connections: c, log: log}
	s.tcp, s.all = maxConnections()
	s.reserve, _ = os.Open(os.DevNull) // without it, connections wait
	return s
}

// calm is how long no connection must have been shed before shedding is logged again.
const calm = 10 * time.Second

// Accept implements net.Listener.
func (s *shedder) Accept() (net.Conn, error) {
	for {
		conn, err := s.Listener.Accept()
		switch {
		case err == nil && s.admits(conn):
			return conn, nil
		case err == nil:
			s.tell("too many connections")
			refuseConn(conn)
		case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
			s.tell("no file descriptors left")
			if !s.acceptWithReserve() {
				time.Sleep(50 * time.Millisecond) // one will be closed
			}
		default:
			return nil, err
		}
	}
}

func (s *shedder) admits(conn net.Conn) bool {
	tcp, all := s.connections.counts()
	local := gate.Local(conn)
	return s.all == 0 || all < s.all && (local || tcp < s.tcp)
}

// tell logs that connections are shed, once for each period of shedding.
func (s *shedder) tell(why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.last) > calm {
		_, all := s.connections.counts()
		s.log.Error("shedding new connections",
			"why", why, "connections", all, "files", openFiles(), "address", s.Addr())
	}
	s.last = time.Now()
}

// acceptWithReserve takes a connection from the queue, to close it.
func (s *shedder) acceptWithReserve() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reserve == nil {
		s.reserve, _ = os.Open(os.DevNull)
		return false
	}
	s.reserve.Close()
	if l, ok := s.Listener.(interface{ SetDeadline(time.Time) error }); ok {
		// the connection of another listener may have closed meanwhile
		_ = l.SetDeadline(time.Now().Add(10 * time.Millisecond))
		defer func() { _ = l.SetDeadline(time.Time{}) }()
	}
	conn, err := s.Listener.Accept()
	if err == nil {
		refuseConn(conn)
	}
	s.reserve, _ = os.Open(os.DevNull)
	return err == nil
}

// refuseConn closes a connection after an answer that can be written without waiting.
func refuseConn(conn net.Conn) {
	const body = "this post office has too many connections; try again in a moment\n"
	_ = conn.SetDeadline(time.Now().Add(time.Millisecond))
	_, _ = io.WriteString(conn, "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 1\r\n"+
		"Content-Type: text/plain; charset=utf-8\r\n\r\n"+body)
	conn.Close()
}

// Close implements net.Listener.
func (s *shedder) Close() error {
	s.mu.Lock()
	if s.reserve != nil {
		s.reserve.Close()
		s.reserve = nil
	}
	s.mu.Unlock()
	return s.Listener.Close()
}
