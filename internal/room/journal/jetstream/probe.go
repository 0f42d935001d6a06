package jetstream

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"pennypost/internal/base/pause"
)

const (
	// probeEvery is how often servers that do not answer are asked again.
	probeEvery = time.Second
	// askEvery is how often the servers are asked whether they answer, though nothing is sent.
	askEvery = 2 * time.Second
	// doubtEvery is how often they are asked when one of them was not heard in time.
	doubtEvery = time.Second / 2
	// inspectEvery is how often servers are looked at one by one where the list of machines is not on all of them.
	inspectEvery = 5 * time.Second
	// longestProbe is between two attempts to find a server that answers, when there has been none for long.
	longestProbe = 5 * time.Second
)

// ask notes, until the cluster is closed, whether the servers answer. Most of them have to be there for that; a
// connection needs only one.
func (c *Cluster) ask() {
	inspected := time.Now()
	for every := askEvery; pause.For(c.ctx, every); {
		if every = askEvery; !c.nc.IsConnected() {
			continue
		}
		if c.answered() != nil {
			c.suspect()
		}
		if c.health.beyond() && time.Since(inspected) > inspectEvery {
			c.inspect(c.ctx, time.Time{})
			inspected = time.Now()
		}
		if c.health.doubtful() {
			every = doubtEvery
		}
	}
}

// answered asks the servers once, and notes what came of it.
func (c *Cluster) answered() error {
	err := c.look()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.silent = err
	return err
}

var errNoLeader = errors.New("too few of them hear each other")

// look asks for the list of machines, of which the servers say who keeps it and which of those are heard: it is small,
// always there, and on as many servers as rooms are. Its leader may be the server that has stopped, so if nobody
// answers the servers are looked at one by one, and are asked for something else.
func (c *Cluster) look() error {
	ctx, cancel := context.WithTimeout(c.ctx, probeEvery)
	defer cancel()
	before := time.Now()
	s, err := c.js.Stream(ctx, "KV_"+c.cfg.Prefix+"-machines")
	switch {
	case err == nil:
		info := s.CachedInfo()
		c.clock.compare(info.TimeStamp, before, time.Now())
		if c.health.saw(info.Cluster, c.nc.ConnectedServerName(), time.Now()) {
			return nil
		}
		return errNoLeader
	case errors.Is(err, jetstream.ErrStreamNotFound):
		return nil // no machine has been noted yet
	case c.ctx.Err() != nil:
		return err
	}
	var inspecting sync.WaitGroup
	inspecting.Go(func() { c.inspect(c.ctx, before) })
	defer inspecting.Wait()
	account, stop := context.WithTimeout(c.ctx, probeEvery)
	defer stop()
	_, err = c.js.AccountInfo(account)
	return err
}

// inspect looks at the servers one by one, and returns what they say of themselves. since is from when on those that
// should have answered did not; the zero time: they did.
func (c *Cluster) inspect(ctx context.Context, since time.Time) []Server {
	var connected string // the server that does not answer, though there is a connection
	var asking sync.WaitGroup
	if !since.IsZero() {
		asking.Go(func() {
			name := c.nc.ConnectedServerName()
			ctx, cancel := context.WithTimeout(ctx, settingsPatience)
			defer cancel()
			if c.nc.FlushWithContext(ctx) != nil {
				connected = name
			}
		})
	}
	found := ReadSettings(ctx, c.nc, c.cfg.URLs, c.cfg.Monitor)
	asking.Wait()
	if ctx.Err() == nil {
		c.health.inspected(found, since, connected)
	}
	return found
}

// suspect has somebody find out whether the servers still answer: something was not answered in time. A server that is
// cut off from the others keeps its connections, and can store nothing; then another one is tried.
func (c *Cluster) suspect() {
	if !c.probing.CompareAndSwap(false, true) {
		return
	}
	c.running.Go(func() {
		defer c.probing.Store(false)
		for wait := probeEvery; c.ctx.Err() == nil && c.nc.IsConnected(); wait = min(2*wait, longestProbe) {
			err := c.answered()
			if err == nil || c.ctx.Err() != nil {
				return
			}
			c.log.Warn("the NATS server does not answer; another is tried", "err", err)
			_ = c.nc.ForceReconnect()
			pause.For(c.ctx, wait)
		}
	})
}
