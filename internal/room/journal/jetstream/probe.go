package jetstream

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"pennypost/internal/base/pause"
)

const (
	// probeEvery is how often servers that do not answer are asked again.
	probeEvery = time.Second
	// askEvery is how often the servers are checked even if nothing is sent.
	askEvery = 2 * time.Second
	// doubtEvery is how often they are checked when one of them was not heard in time.
	doubtEvery = time.Second / 2
	// inspectEvery is how often servers are checked one by one if the list of machines is not on all of them.
	inspectEvery = 5 * time.Second
	// electedAfter is how long servers have to choose a leader before another server is tried, even if nothing is
	// sent.
	electedAfter = 10 * time.Second
	// longestProbe is the longest pause between two attempts to find a server that answers.
	longestProbe = 5 * time.Second
)

// ask checks, until the cluster is closed, whether the servers answer. That needs most of them; a connection needs
// only one.
func (c *Cluster) ask() {
	inspected, well := time.Now(), time.Now()
	for every := askEvery; pause.For(c.ctx, every); {
		if last := c.nc.LastError(); refuses(last) { // TLS errors are reported nowhere else
			c.noteAttempt(last)
		}
		if every = askEvery; !c.nc.IsConnected() {
			every, well = probeEvery, time.Now()
			continue
		}
		if c.answered() == nil {
			well = time.Now()
		} else if time.Since(well) > electedAfter {
			c.suspect()
		}
		if c.health.beyond() && time.Since(inspected) > inspectEvery {
			c.inspect(c.ctx)
			inspected = time.Now()
		}
		if c.health.doubtful() {
			every = doubtEvery
		}
	}
}

// answered asks the servers once, and notes the result.
func (c *Cluster) answered() error {
	err := c.look()
	c.mu.Lock()
	defer c.mu.Unlock()
	if !errors.Is(err, nats.ErrDisconnected) && !errors.Is(err, nats.ErrReconnectBufExceeded) {
		c.silent = err // those two say less than the reason for giving up
	}
	return err
}

var errNoLeader = errors.New("too few of them reach each other")

// look asks for the list of machines, for which the servers report who keeps it and which of those are heard: it is
// small, always there, and on as many servers as rooms are. Its leader may be the server that has stopped, so without
// an answer look asks once more, and asks the servers for something else, and for their descriptions.
func (c *Cluster) look() error {
	began := time.Now()
	err := c.askList()
	if err == nil || errors.Is(err, errNoLeader) || c.ctx.Err() != nil {
		return err
	}
	var asking sync.WaitGroup
	var again error
	var found []Server
	connected := ""
	asking.Go(func() { again = c.askList() })
	asking.Go(func() { found = ReadSettings(c.ctx, c.nc, c.cfg.URLs, c.cfg.Monitor) })
	asking.Go(func() { connected = c.mute() })
	ctx, cancel := context.WithTimeout(c.ctx, probeEvery)
	defer cancel()
	_, err = c.js.AccountInfo(ctx)
	asking.Wait()
	switch {
	case c.ctx.Err() != nil:
		return err
	case again == nil || errors.Is(again, errNoLeader):
		return again
	}
	c.health.inspected(found, began, connected)
	return err
}

// askList asks for the list of machines once. That there is none yet is not an error.
func (c *Cluster) askList() error {
	ctx, cancel := context.WithTimeout(c.ctx, probeEvery)
	defer cancel()
	before := time.Now()
	s, err := c.js.Stream(ctx, "KV_"+c.cfg.Prefix+"-machines")
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound):
		return nil // no machine has been noted yet
	case err != nil:
		return err
	}
	info := s.CachedInfo()
	c.clock.compare(info.TimeStamp, before, time.Now())
	if !c.health.saw(info.Cluster, c.nc.ConnectedServerName(), time.Now()) {
		return errNoLeader
	}
	return nil
}

// mute returns the connected server if it does not answer; else "".
func (c *Cluster) mute() string {
	name := c.nc.ConnectedServerName()
	ctx, cancel := context.WithTimeout(c.ctx, settingsPatience)
	defer cancel()
	if c.nc.FlushWithContext(ctx) == nil {
		return ""
	}
	return name
}

// inspect asks the servers one by one, and returns their descriptions of themselves.
func (c *Cluster) inspect(ctx context.Context) []Server {
	found := ReadSettings(ctx, c.nc, c.cfg.URLs, c.cfg.Monitor)
	if ctx.Err() == nil {
		c.health.inspected(found, time.Time{}, "")
	}
	return found
}

// suspect checks in the background whether the servers still answer, because something was not answered in time. A
// server that is cut off from the others keeps its connections, but can store nothing; then another one is tried.
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
			c.log.Warn("NATS server does not answer; trying another", "err", err)
			_ = c.nc.ForceReconnect()
			pause.For(c.ctx, wait)
		}
	})
}
