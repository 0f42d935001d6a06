package jetstream

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"pennypost/internal/mail"
)

// Tried is the result of a test message.
type Tried struct {
	Wrote, Read time.Duration
	Through     string // the server over which it was read
}

// Try writes a test message to the servers, in a table of its own outside all rooms, and reads it over another
// server, if there is one.
func (c *Cluster) Try(ctx context.Context) (t Tried, err error) {
	if err := c.Trouble(); err != nil {
		return t, err
	}
	began := time.Now()
	kv, err := bucket(ctx, c.js, true, jetstream.KeyValueConfig{Bucket: c.cfg.Prefix + "-tries", History: 1,
		Replicas: c.cfg.Replicas, Description: "test messages of pennypost doctor"})
	if err != nil {
		return t, untried("made", err)
	}
	key, text := word(c.cfg.Machine), rand.Text()
	if _, err := kv.PutString(ctx, key, text); err != nil {
		return t, untried("written", err)
	}
	t.Wrote = time.Since(began)
	other, err := c.another()
	if err != nil {
		return t, untried("read through another server", err)
	}
	defer other.Close()
	t.Through, began = other.ConnectedServerName(), time.Now()
	js, err := jetstream.New(other)
	if err == nil {
		kv, err = js.KeyValue(ctx, c.cfg.Prefix+"-tries")
	}
	for err == nil {
		var entry jetstream.KeyValueEntry
		if entry, err = kv.Get(ctx, key); err == nil && string(entry.Value()) == text {
			t.Read = time.Since(began)
			return t, nil
		} // any server may answer, even one that does not have it yet
	}
	return t, untried("read through "+t.Through, err)
}

func untried(what string, err error) error {
	return &mail.Error{Code: mail.Unavailable, Err: err,
		Msg: fmt.Sprintf("a test message could not be %s: %v", what, err)}
}

// another connects to a server other than the connected one, or to that if no other answers.
func (c *Cluster) another() (*nats.Conn, error) {
	here := strings.TrimSuffix(c.nc.ConnectedUrl(), "/")
	urls := slices.DeleteFunc(slices.Clone(c.cfg.URLs), func(u string) bool {
		return strings.TrimSuffix(u, "/") == here
	})
	opts := nats.GetDefaultOptions()
	opts.Name, opts.Timeout = "pennypost "+string(c.cfg.Machine)+", a test", settingsPatience
	opts.AllowReconnect, opts.IgnoreDiscoveredServers = false, true
	opts.Servers = append(urls, c.cfg.URLs...)
	opts.NoRandomize = true
	if err := c.identify(&opts); err != nil {
		return nil, err
	}
	return opts.Connect()
}
