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

// How the file descriptors of the process are divided. Rooms, bridges and temporary files need some when every
// connection that there may be is open, or a full house would stop journals; and whoever fills the TCP port must not
// keep out the owner of the Unix socket.
const (
	minSpare = 32   // for files at least
	maxSpare = 4096 // and at most; in between a quarter
)

// maxConnections returns how many connections may be open at a time, over TCP and in all. 0: any number.
func maxConnections() (tcp, all int) {
	files := openFiles()
	if files == 0 {
		return 0, 0
	}
	all = max(8, files-min(max(files/4, minSpare), maxSpare))
	return all * 3 / 4, all
}

// shedder is a listener that closes connections for which there are no file descriptors, instead of leaving them in
// the kernel's queue. The process is in trouble then, and says so once.
type shedder struct {
	net.Listener
	connections *Connections
	log         *slog.Logger

	tcp, all int // connections at most; 0: any number

	mu      sync.Mutex
	reserve *os.File  // a descriptor to accept with when there is none, and so to close
	last    time.Time // when a connection was last shed
}

// Shed returns a listener whose connections are among c, and are shed when there are too many.
func (c *Connections) Shed(l net.Listener, log *slog.Logger) net.Listener {
	s := &shedder{Listener: l, connections: c, log: log}
	s.tcp, s.all = maxConnections()
	s.reserve, _ = os.Open(os.DevNull) // without it, connections wait
	return s
}

// calm is how long nothing must have been shed for the next time to be told.
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
			s.tell("no file descriptors are left")
			if !s.acceptWithReserve() {
				time.Sleep(50 * time.Millisecond) // somebody will close one
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

// tell says that connections are shed, once for as long as that goes on.
func (s *shedder) tell(why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.last) > calm {
		_, all := s.connections.counts()
		s.log.Error("connections are shed; those that are open go on, and so do rooms",
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
		// another listener's connection may have gone meanwhile
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

// refuseConn closes a connection with as much of an answer as needs no waiting.
func refuseConn(conn net.Conn) {
	const body = "this post office has as many connections as it can; try again in a moment\n"
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
