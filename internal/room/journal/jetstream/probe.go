package jetstream

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go"

	"pennypost/internal/base/pause"
)

// probeEvery is how often servers that do not answer are asked again.
const probeEvery = time.Second

// askEvery is how often the servers are asked whether they answer, though nothing is sent.
const askEvery = 5 * time.Second

// ask notes, until the cluster is closed, whether the servers answer. Most of them have to be there for that; a
// connection needs only one.
func (c *Cluster) ask() {
	asked := time.Now()
	for pause.For(c.ctx, probeEvery) {
		if last := c.nc.LastError(); refuses(last) { // of TLS, nothing else tells
			c.noteAttempt(last)
		}
		if time.Since(asked) >= askEvery && c.nc.IsConnected() {
			asked = time.Now()
			_ = c.answered()
		}
	}
}

// answered asks the servers once, and notes what came of it.
func (c *Cluster) answered() error {
	ctx, cancel := context.WithTimeout(c.ctx, probeEvery)
	defer cancel()
	_, err := c.js.AccountInfo(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	if !errors.Is(err, nats.ErrDisconnected) { // which says less than why it was given up
		c.silent = err
	}
	return err
}

// suspect has somebody find out whether the servers still answer: something was not answered in time. A server that is
// cut off from the others keeps its connections, and can store nothing; then another one is tried.
func (c *Cluster) suspect() {
	if !c.probing.CompareAndSwap(false, true) {
		return
	}
	c.running.Go(func() {
		defer c.probing.Store(false)
		for c.ctx.Err() == nil && c.nc.IsConnected() {
			err := c.answered()
			if err == nil || c.ctx.Err() != nil {
				return
			}
			c.log.Warn("the NATS server does not answer; another is tried", "err", err)
			_ = c.nc.ForceReconnect()
			pause.For(c.ctx, probeEvery)
		}
	})
}
