package daemon

import (
	"net"
	"net/http"
	"sync"
	"time"

	"pennypost/internal/config"
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

// leaveWhenAlone stops the post office when nobody has been connected for as long as the configuration says.
func (d *daemon) leaveWhenAlone() {
	limit := d.opts.Config.IdleExit
	if limit == 0 {
		limit = config.DefaultIdleExit
	}
	if limit < 0 {
		return
	}
	for {
		left := time.Duration(limit) - d.connections.alone()
		if left <= 0 && (d.office.bridges() > 0 || !d.office.quiet()) {
			// somebody has to notice what others write there, and who is to be woken
			left = min(time.Minute, max(time.Duration(limit), 100*time.Millisecond))
		}
		if left <= 0 {
			d.log.Info("nobody was here for a while", "idle", time.Duration(limit))
			d.stop()
			return
		}
		select {
		case <-d.closing.Done():
			return
		case <-time.After(left):
		}
	}
}
