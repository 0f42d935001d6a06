package listen

import (
	"net"
	"net/http"
	"sync"
	"time"

	"pennypost/internal/office/gate"
)

// Connections counts the connections that are open. A watcher, a waiting agent and an MCP session on stdio each hold
// one.
type Connections struct {
	mu    sync.Mutex
	n     int
	local int       // of n, over the Unix socket
	Since time.Time // when n last became zero
}

// Note is the server's ConnState callback.
func (c *Connections) Note(conn net.Conn, state http.ConnState) {
	if state == http.StateActive || state == http.StateIdle {
		return // these states come with every request
	}
	local := gate.Local(conn)
	c.mu.Lock()
	defer c.mu.Unlock()
	switch state {
	case http.StateNew:
		c.n++
		if local {
			c.local++
		}
	case http.StateClosed, http.StateHijacked:
		if local {
			c.local--
		}
		if c.n--; c.n == 0 {
			c.Since = time.Now()
		}
	}
}

// Size returns the number of open connections.
func (c *Connections) Size() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}

// counts returns how many connections there are over TCP, and in all.
func (c *Connections) counts() (tcp, all int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n - c.local, c.n
}

// Alone returns how long there has been no connection.
func (c *Connections) Alone() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n > 0 {
		return 0
	}
	return time.Since(c.Since)
}
