package daemon

import (
	"net"
	"net/http"
	"sync"
	"time"

	"pennypost/internal/office/gate"
)

// connections counts the connections that are open. A watcher, a waiting agent and an MCP session on stdio each hold
// one.
type connections struct {
	mu    sync.Mutex
	n     int
	local int       // of n, over the Unix socket
	since time.Time // when n was last zero for the first time
}

// note is the server's ConnState.
func (c *connections) note(conn net.Conn, state http.ConnState) {
	if state == http.StateActive || state == http.StateIdle {
		return // of every request
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
			c.since = time.Now()
		}
	}
}

func (c *connections) size() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}

// counts returns how many connections there are over TCP, and in all.
func (c *connections) counts() (tcp, all int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n - c.local, c.n
}

// alone returns how long nobody has been connected.
func (c *connections) alone() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n > 0 {
		return 0
	}
	return time.Since(c.since)
}
