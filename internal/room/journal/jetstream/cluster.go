package jetstream

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"pennypost/internal/mail"
)

// patience is how long somebody who sends or asks waits for the servers before being told that they do not answer.
const patience = 2 * time.Second

// Config says where the servers are and how rooms are kept there.
type Config struct {
	// URLs of servers, nats://HOST:PORT or tls://HOST:PORT. At least one.
	URLs []string
	// Replicas is on how many servers each room is, 3 by default.
	Replicas int
	// Credentials is the path of a credentials file, "" for none.
	Credentials string
	// CA is the path of a file with the certificates to trust; Cert and Key are those of the client. "" for none.
	CA, Cert, Key string
	// TLS is how to connect to servers that know this machine by its key; nil: as the addresses say.
	TLS *tls.Config
	// Prefix begins the names of streams and subjects, "pennypost" by default.
	Prefix string
	// Monitor are the addresses of the servers' monitoring, where Warnings looks at their settings. Without them it
	// looks at the usual port.
	Monitor []string
	// OwnStreams gives each new room a stream of its own, as they had before there were shards. It is for tests.
	OwnStreams bool
	// Copied returns another machine that has a copy of a room, "" if none says so. Nil: none is asked.
	Copied func(ctx context.Context, room string) mail.Machine
	// Erased is the file that lists what was erased in the last minutes. "": the list ends with the process.
	Erased string
	// Machine is the name by which the servers know the connection.
	Machine mail.Machine
	// Signer is the key of this machine, with which it signs what it sends to rooms. Nil: it does not.
	Signer ed25519.PrivateKey
	// Knows reports whether a key is that of a machine that the person has let in. Nil: none is.
	Knows func(key []byte) bool
	// Log hears of lost and found servers. Nil discards.
	Log *slog.Logger
}

// Cluster is the connection of a post office to NATS servers on which rooms are kept. Its methods may be called
// concurrently.
type Cluster struct {
	cfg Config
	log *slog.Logger
	nc  *nats.Conn // all of whose methods wait while it connects, for up to patience
	js  jetstream.JetStream
	// publish and request are those of nc; by them everything is sent that is stored.
	publish func(*nats.Msg) error
	request func(context.Context, *nats.Msg) (*nats.Msg, error)

	clock   clock
	ctx     context.Context // ends with Close
	stop    context.CancelFunc
	probing atomic.Bool    // somebody finds out whether the servers answer
	running sync.WaitGroup // whoever does
	health  watch

	lingering lingering
	roster    roster
	sweeping  atomic.Bool // somebody deletes what a room has left in a shard

	mu          sync.Mutex
	trouble     error             // why the servers cannot be used; nil while they answer
	connections uint64            // counts them, and their losses
	changed     chan struct{}     // closed at the next connection or loss of one
	server      string            // the one that it is, or was, connected to
	mostPayload int64             // that this takes; 0 before any was reached
	silent      error             // why they did not answer when they were last asked
	listed      map[string]Listed // the rooms, as they were last listed

	handles    map[string]jetstream.Stream // those that were looked for; guarded by mu
	spreadAt   time.Time                   // when the leader of a shard was last changed; guarded by mu
	feeds      map[string]*feed            // of shards in which rooms are open; guarded by mu
	swept      map[string]bool             // subjects of shards at which nothing is left to be deleted; guarded by mu
	publishing sync.Mutex                  // held while a batch is published: messages of two do not interleave
}

// Connect returns without waiting for a server, and keeps trying for as long as the Cluster is open. An error means
// that the configuration cannot be used.
func Connect(_ context.Context, cfg Config) (*Cluster, error) {
	cfg.Replicas = cmp.Or(cfg.Replicas, 3)
	cfg.Prefix = cmp.Or(cfg.Prefix, "pennypost")
	cfg.Log = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	if len(cfg.URLs) == 0 {
		return nil, mail.Errorf(mail.Invalid, "no NATS server is named: [journal] urls = [\"nats://HOST:4222\"]")
	}
	c := &Cluster{cfg: cfg, log: cfg.Log, changed: make(chan struct{}), trouble: errNotYet,
		health: newWatch(), handles: make(map[string]jetstream.Stream), swept: make(map[string]bool),
		feeds: make(map[string]*feed)}
	if err := c.lingering.open(cfg.Erased); err != nil {
		c.log.Warn("the list of lately erased messages cannot be read", "file", cfg.Erased, "err", err)
	}
	c.ctx, c.stop = context.WithCancel(context.Background())
	nc, err := c.dial()
	if err != nil {
		return nil, fmt.Errorf("connect to the NATS servers: %w", err)
	}
	c.nc, c.publish, c.request = nc, nc.PublishMsg, nc.RequestMsgWithContext
	if c.js, err = jetstream.New(nc); err != nil {
		nc.Close()
		return nil, err
	}
	if nc.IsConnected() {
		c.noteConnection(nc, nil)
	}
	c.running.Go(c.ask)
	return c, nil
}

var errNotYet = errors.New("none has answered yet")

func (c *Cluster) dial() (*nats.Conn, error) {
	opts := nats.Options{
		Servers: c.cfg.URLs, Name: "pennypost " + string(c.cfg.Machine),
		AllowReconnect: true, MaxReconnect: -1, ReconnectWait: 250 * time.Millisecond,
		ReconnectJitter: 100 * time.Millisecond, ReconnectJitterTLS: 100 * time.Millisecond,
		// What is published without a connection fails at once: then it is known that it was not sent.
		ReconnectBufSize: -1,
		Timeout:          patience, PingInterval: 2 * time.Second, MaxPingsOut: 2,
		RetryOnFailedConnect: true, IgnoreAuthErrorAbort: true, SubChanLen: nats.DefaultMaxChanLen,
		DrainTimeout: nats.DefaultDrainTimeout, FlusherTimeout: time.Second,
		ConnectedCB:       func(nc *nats.Conn) { c.noteConnection(nc, nil) },
		ReconnectedCB:     func(nc *nats.Conn) { c.noteConnection(nc, nil) },
		DisconnectedErrCB: func(nc *nats.Conn, err error) { c.noteConnection(nc, cmp.Or(err, nats.ErrDisconnected)) },
		ReconnectErrCB:    func(_ *nats.Conn, err error) { c.noteAttempt(err) },
		AsyncErrorCB: func(_ *nats.Conn, _ *nats.Subscription, err error) {
			c.log.Warn("the NATS servers report an error", "err", err)
			if refuses(err) { // after the first attempt it is said here only
				c.noteAttempt(err)
			}
		},
	}
	if err := c.identify(&opts); err != nil {
		return nil, err
	}
	return opts.Connect()
}

// identify has a connection say who this machine is.
func (c *Cluster) identify(opts *nats.Options) error {
	options := []nats.Option{}
	if c.cfg.Credentials != "" {
		options = append(options, nats.UserCredentials(c.cfg.Credentials))
	}
	if c.cfg.CA != "" {
		options = append(options, nats.RootCAs(c.cfg.CA))
	}
	if c.cfg.TLS != nil {
		options = append(options, nats.Secure(c.cfg.TLS))
	}
	if c.cfg.Cert != "" {
		options = append(options, nats.ClientCert(c.cfg.Cert, c.cfg.Key))
	}
	for _, o := range options {
		if err := o(opts); err != nil {
			return err
		}
	}
	return nil
}

// noteConnection wakes whoever waits for a connection, or for its loss.
func (c *Cluster) noteConnection(nc *nats.Conn, err error) {
	var server string
	var most int64
	if err == nil {
		server, most = nc.ConnectedAddr(), nc.MaxPayload()
	}
	c.mu.Lock()
	if err == nil && c.trouble == nil { // Connect has noted it
		c.mu.Unlock()
		return
	}
	if c.trouble = err; err == nil {
		c.server, c.mostPayload = server, most
	}
	c.connections++
	close(c.changed)
	c.changed = make(chan struct{})
	silent := c.silent
	c.mu.Unlock()
	if err == nil && silent != nil {
		c.suspect() // no more, perhaps
	}
	if err != nil {
		c.log.Warn("the connection to the NATS servers is lost", "err", err)
		return
	}
	c.log.Info("connected to a NATS server", "url", nc.ConnectedUrlRedacted())
}

// noteAttempt notes why it was not possible to connect. That a server does not let this machine in is kept when
// another one does not answer: it says more.
func (c *Cluster) noteAttempt(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.trouble != nil && (!refuses(c.trouble) || refuses(err)) {
		c.trouble = err
	}
}

// refuses reports whether an error is a server's that answers, and does not let this machine in, or one that this
// machine does not trust.
func refuses(err error) bool {
	_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	_, alert := errors.AsType[tls.AlertError](err)
	return untrusted || alert || errors.Is(err, nats.ErrAuthorization) || errors.Is(err, nats.ErrAuthExpired) ||
		errors.Is(err, nats.ErrAuthRevoked) || errors.Is(err, nats.ErrAccountAuthExpired) ||
		errors.Is(err, nats.ErrSecureConnRequired) || errors.Is(err, nats.ErrSecureConnWanted)
}

// Refused reports whether the servers answer, and do not let this machine in.
func (c *Cluster) Refused() bool {
	_, _, err := c.connection()
	return refuses(err)
}

// away says, in words for the person, why servers cannot be used: which part is at fault, as far as that is known.
func (c *Cluster) away(err error) string {
	if of, answered := errors.AsType[*failure](err); answered {
		return fmt.Sprintf("the NATS servers answer %q", of)
	}
	if api, answered := errors.AsType[*jetstream.APIError](err); answered {
		return fmt.Sprintf("the NATS servers answer %q", api.Description)
	}
	c.mu.Lock()
	server, connected := c.server, c.trouble == nil
	if errors.Is(err, nats.ErrDisconnected) { // by this machine, because nothing came any more
		err = cmp.Or(c.silent, err)
	}
	c.mu.Unlock()
	switch {
	case refuses(err):
		return fmt.Sprintf("the NATS servers do not let this machine in (%v): see [journal] in config.toml", err)
	case errors.Is(err, errShardGone):
		return "the room has to be restored, and pennypost doctor says how: " + err.Error()
	case errors.Is(err, errUnchecked):
		return "this machine is comparing its copy of the room with the NATS servers, which comes first"
	case errors.Is(err, nats.ErrNoResponders):
		return fmt.Sprintf("no NATS server leads this at present (%v): most of them are away or cut off from each "+
			"other, or the stream is gone; pennypost doctor says which", err)
	case errors.Is(err, errNoLeader):
		return fmt.Sprintf("the NATS servers can store nothing: %v", err)
	case errors.Is(err, nats.ErrMaxPayload):
		return "this is larger than what the NATS servers take in one message (max_payload)"
	case silent(err) && connected:
		return fmt.Sprintf("the NATS server %s is connected and does not answer: it is stopped, the way to it is "+
			"cut, or most of the others are away", server)
	case silent(err):
		return "no NATS server answers: they are stopped, or the way to them is cut"
	}
	return fmt.Sprintf("the NATS servers cannot be reached (%v)", err)
}

// errSilent means that the servers were asked, and nothing came.
var errSilent = errors.New("no answer came in time")

// silent reports whether an error is that no answer came.
func silent(err error) bool {
	late, ok := errors.AsType[net.Error](err)
	return ok && late.Timeout() || errors.Is(err, errSilent) || errors.Is(err, nats.ErrTimeout)
}

// Trouble returns nil while the servers answer, else why they cannot be used, in words for the person.
func (c *Cluster) Trouble() error {
	c.mu.Lock()
	err := cmp.Or(c.trouble, c.silent)
	c.mu.Unlock()
	if err == nil {
		return nil
	}
	return &mail.Error{Code: mail.Unavailable, Err: err, Msg: c.away(err) + "; Pennypost keeps trying"}
}

// connection returns the number of the connection that there is, or why there is none, and a channel that closes when
// that changes.
func (c *Cluster) connection() (number uint64, changed <-chan struct{}, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.connections, c.changed, c.trouble
}

// Conn returns the connection, for what is no room: see Machines.
func (c *Cluster) Conn() *nats.Conn { return c.nc }

// Close ends the connection. The journals must be closed before.
func (c *Cluster) Close() error {
	c.stop()
	c.running.Wait()
	c.nc.Close()
	return nil
}

// Now returns the servers' time, as far as it is known: what this machine's clock says, corrected.
func (c *Cluster) Now() time.Time { return time.Now().Add(-c.clock.skew()) }

// Skew returns by how much this machine's clock is ahead of the servers', 0 before any was asked.
func (c *Cluster) Skew() time.Duration { return c.clock.skew() }

// clock compares this machine's clock with that of the servers.
type clock struct {
	mu     sync.Mutex
	offset time.Duration // of this machine's clock, ahead of theirs
	slack  time.Duration // by how much that may be wrong
	at     time.Time     // when it was found
}

// keepsFor is how long the best comparison is preferred to newer ones: clocks drift by less than the way of a message
// in that time.
const keepsFor = 10 * time.Minute

// compare notes that the servers' clock said server at a moment between two of ours.
func (k *clock) compare(server, before, after time.Time) {
	if server.IsZero() {
		return
	}
	slack := after.Sub(before) / 2
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.at.IsZero() || slack <= k.slack || time.Since(k.at) > keepsFor {
		k.offset, k.slack, k.at = before.Add(slack).Sub(server), slack, after
	}
}

// skew leaves out what may be the way of the message alone.
func (k *clock) skew() time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.offset.Abs() <= k.slack {
		return 0
	}
	return k.offset
}
