package daemon

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pennypost/internal/office/gate"
	"pennypost/internal/office/invite"
	"pennypost/internal/office/listen"
)

// pipeListener accepts connections within the process, which synctest's time covers.
type pipeListener struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

func (l *pipeListener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8765} }

// No door keeps a connection whose request trickles in, whoever sends it.
func TestSlowRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		l := &pipeListener{conns: make(chan net.Conn), done: make(chan struct{})}
		d := newDaemon(
			ctx,
			Options{Config: testConfig(t), Log: slog.New(slog.DiscardHandler)},
			"pp-operator.0123456789abcdef",
			"pp-test.localhost",
			listen.Listeners{TCP: l},
			new(invite.List),
			new(gate.Scripts),
		)
		h, closeHandler, err := d.handler()
		if err != nil {
			t.Fatal(err)
		}
		server := d.server(h)
		served := make(chan error)
		go func() { served <- server.Serve(l) }()
		var all sync.WaitGroup
		for _, head := range []string{
			"POST /api/v1/rooms/lab/messages", "GET /api/v1/rooms/lab/events", "DELETE /api/v1/rooms/lab", "POST /mcp",
			"GET /mcp", "POST /mcp/ann",
			"POST /dialect/agenties/mcp", "POST /api/inbox/seed", "DELETE /api/inbox/x", "POST /", "POST /send",
			"POST /login", "GET /login", "POST /nowhere",
			"POST /healthz", "GET /metrics",
		} {
			for _, framing := range []string{"Content-Length: 1000", "Transfer-Encoding: chunked", "never"} {
				all.Go(func() {
					if took := trickle(t, l, head, framing); took > 15*time.Second {
						t.Errorf("%s with %s: open for %v", head, framing, took)
					}
				})
			}
		}
		all.Wait()
		cancel()
		server.Close()
		<-served
		closeHandler()
		d.pages.site.Close()
	})
}

// trickle sends a request at one byte a second, its head immediately unless framing is "never", and returns how long
// the server tolerated it.
func trickle(t *testing.T, l *pipeListener, head, framing string) time.Duration {
	near, far := net.Pipe()
	l.conns <- far
	defer near.Close()
	began := time.Now()
	go io.Copy(io.Discard, near)
	if framing == "never" {
		fmt.Fprintf(near, "%s HTTP/1.1\r\n", head)
	} else {
		fmt.Fprintf(near, "%s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n%s\r\n\r\n", head,
			framing)
	}
	for time.Since(began) < 10*time.Minute {
		time.Sleep(time.Second)
		drop := "x"
		if framing == "Transfer-Encoding: chunked" {
			drop = "1\r\nx\r\n"
		}
		if _, err := io.WriteString(near, drop); err != nil {
			break
		}
	}
	return time.Since(began)
}
