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

// patience is how long a sender or a request waits for the servers before it fails because they do not answer.
const patience = 2 * time.Second

// Config says where the servers are and how rooms are kept there.
type Config struct {
	// URLs of servers, nats://HOST:PORT or tls://HOST:PORT. At least one.
	URLs []string
	// Replicas is the number of servers that keep each room, 3 by default.
	Replicas int
	// Credentials is the path of a credentials file, "" for none.
	Credentials string
	// CA is the path of a file with the certificates to trust; Cert and Key are the client's. "" for none.
	CA, Cert, Key string
	// TLS configures connections to servers that know this machine by its key; nil: as the addresses say.
	TLS *tls.Config
	// Prefix begins the names of streams and subjects, "pennypost" by default.
	Prefix string
	// Monitor are the addresses of the servers' monitoring, where Warnings reads their settings. Without them it
	// tries the usual port.
	Monitor []string
	// OwnStreams gives each new room a stream of its own, as before there were shards. It is for tests.
	OwnStreams bool
	// Copied returns another machine that has a copy of a room, "" if none says so. Nil: no machine is asked.
	Copied func(ctx context.Context, room string) mail.Machine
	// Erased is the file that lists the messages erased in the last minutes. "": the list ends with the process.
	Erased string
	// Machine is the name by which the servers know the connection.
	Machine mail.Machine
	// Signer is the key with which this machine signs the messages that it sends to rooms. Nil: it does not sign.
	Signer ed25519.PrivateKey
	// Knows reports whether a key belongs to a machine that the person has let in. Nil: none does.
	Knows func(key []byte) bool
	// Log receives lost and new connections to servers. Nil discards.
	Log *slog.Logger
}

// Cluster is a post office's connection to the NATS servers that keep rooms. Its methods may be called concurrently.
type Cluster struct {
	cfg Config
	log *slog.Logger
	nc  *nats.Conn // whose methods all wait up to patience while it connects
	js  jetstream.JetStream
	// publish and request are those of nc; everything that is stored is sent through them.
	publish func(*nats.Msg) error
	request func(context.Context, *nats.Msg) (*nats.Msg, error)

	clock   clock
	ctx     context.Context // ends with Close
	stop    context.CancelFunc
	probing atomic.Bool    // a goroutine checks whether the servers answer
	running sync.WaitGroup // that goroutine, and others
	health  watch

	lingering lingering
	roster    roster
	sweeping  atomic.Bool // a goroutine deletes the remains of a room in a shard

	mu          sync.Mutex
	trouble     error             // why the servers cannot be used; nil while they answer
	connections uint64            // counts connections and their losses
	changed     chan struct{}     // closed at the next connection or loss of connection
	server      string            // the current or last server
	mostPayload int64             // of that server; 0 before any was reached
	silent      error             // why they did not answer the last request
	listed      map[string]Listed // the rooms, as they were last listed

	handles    map[string]jetstream.Stream // of streams that were looked up; guarded by mu
	spreadAt   time.Time                   // when a shard last changed its leader; guarded by mu
	feeds      map[string]*feed            // of shards with open rooms; guarded by mu
	swept      map[string]bool             // subjects of shards with nothing left to delete; guarded by mu
	publishing sync.Mutex                  // held while a batch is published: batches must not interleave
}

// Connect returns without waiting for a server, and keeps trying until the Cluster is closed. An error means that the
// configuration is unusable.
func Connect(_ context.Context, cfg Config) (*Cluster, error) {
	cfg.Replicas = cmp.Or(cfg.Replicas, 3)
	cfg.Prefix = cmp.Or(cfg.Prefix, "pennypost")
	cfg.Log = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	if len(cfg.URLs) == 0 {
		return nil, mail.Errorf(mail.Invalid, "no NATS server is configured: [journal] urls = [\"nats://HOST:4222\"]")
	}
	c := &Cluster{cfg: cfg, log: cfg.Log, changed: make(chan struct{}), trouble: errNotYet,
		health: newWatch(), handles: make(map[string]jetstream.Stream), swept: make(map[string]bool),
		feeds: make(map[string]*feed)}
	if err := c.lingering.open(cfg.Erased); err != nil {
		c.log.Warn("list of recently erased messages not readable", "file", cfg.Erased, "err", err)
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

var errNotYet = errors.New("no server has answered yet")

func (c *Cluster) dial() (*nats.Conn, error) {
	opts := nats.Options{
		Servers: c.cfg.URLs, Name: "pennypost " + string(c.cfg.Machine),
		AllowReconnect: true, MaxReconnect: -1, ReconnectWait: 250 * time.Millisecond,
		ReconnectJitter: 100 * time.Millisecond, ReconnectJitterTLS: 100 * time.Millisecond,
		// Publishing without a connection fails immediately: the message is then known not to be sent.
		ReconnectBufSize: -1,
		Timeout:          patience, PingInterval: 2 * time.Second, MaxPingsOut: 2,
		RetryOnFailedConnect: true, IgnoreAuthErrorAbort: true, SubChanLen: nats.DefaultMaxChanLen,
		DrainTimeout: nats.DefaultDrainTimeout, FlusherTimeout: time.Second,
		ConnectedCB:       func(nc *nats.Conn) { c.noteConnection(nc, nil) },
		ReconnectedCB:     func(nc *nats.Conn) { c.noteConnection(nc, nil) },
		DisconnectedErrCB: func(nc *nats.Conn, err error) { c.noteConnection(nc, cmp.Or(err, nats.ErrDisconnected)) },
		ReconnectErrCB:    func(_ *nats.Conn, err error) { c.noteAttempt(err) },
		AsyncErrorCB: func(_ *nats.Conn, _ *nats.Subscription, err error) {
			c.log.Warn("error from the NATS servers", "err", err)
			if refuses(err) { // after the first attempt it is reported only here
				c.noteAttempt(err)
			}
		},
	}
	if err := c.identify(&opts); err != nil {
		return nil, err
	}
	return opts.Connect()
}

// identify makes a connection identify this machine.
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

// noteConnection wakes the callers that wait for a connection, or for its loss.
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
		c.suspect() // the servers may answer again
	}
	if err != nil {
		c.log.Warn("connection to the NATS servers lost", "err", err)
		return
	}
	c.log.Info("connected to a NATS server", "url", nc.ConnectedUrlRedacted())
}

// noteAttempt notes why an attempt to connect failed. A refusal is not replaced by the silence of another server: it
// says more.
func (c *Cluster) noteAttempt(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.trouble != nil && (!refuses(c.trouble) || refuses(err)) {
		c.trouble = err
	}
}

// refuses reports whether an error means that a server answers but refuses this machine, or that this machine does
// not trust the server.
func refuses(err error) bool {
	_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	_, alert := errors.AsType[tls.AlertError](err)
	return untrusted || alert || errors.Is(err, nats.ErrAuthorization) || errors.Is(err, nats.ErrAuthExpired) ||
		errors.Is(err, nats.ErrAuthRevoked) || errors.Is(err, nats.ErrAccountAuthExpired) ||
		errors.Is(err, nats.ErrSecureConnRequired) || errors.Is(err, nats.ErrSecureConnWanted)
}

// Refused reports whether the servers answer but refuse this machine.
func (c *Cluster) Refused() bool {
	_, _, err := c.connection()
	return refuses(err)
}

// away says, in words for the person, why the servers cannot be used and which part is at fault, as far as known.
func (c *Cluster) away(err error) string {
	if of, answered := errors.AsType[*failure](err); answered {
		return fmt.Sprintf("the NATS servers answer with the error %q", of)
	}
	if api, answered := errors.AsType[*jetstream.APIError](err); answered {
		return fmt.Sprintf("the NATS servers answer with the error %q", api.Description)
	}
	c.mu.Lock()
	server, connected := c.server, c.trouble == nil
	if errors.Is(err, nats.ErrDisconnected) { // by this machine, because the server was silent
		err = cmp.Or(c.silent, err)
	}
	c.mu.Unlock()
	switch {
	case refuses(err):
		return fmt.Sprintf("the NATS servers refuse this machine (%v): see [journal] in config.toml", err)
	case errors.Is(err, errShardGone):
		return "the room must be restored, see pennypost doctor: " + err.Error()
	case errors.Is(err, errUnchecked):
		return "this machine is still comparing its copy of the room with the NATS servers"
	case errors.Is(err, nats.ErrNoResponders):
		return fmt.Sprintf("no NATS server leads this at present (%v): most of them are down or cut off from each "+
			"other, or the stream is gone; see pennypost doctor", err)
	case errors.Is(err, errNoLeader):
		return fmt.Sprintf("the NATS servers cannot store anything: %v", err)
	case errors.Is(err, nats.ErrMaxPayload):
		return "this exceeds the maximum message size of the NATS servers (max_payload)"
	case silent(err) && connected:
		return fmt.Sprintf("the NATS server %s is connected but does not answer: it has stopped, the network is "+
			"down, or most of the others are down", server)
	case silent(err):
		return "no NATS server answers: they are stopped, or the network is down"
	}
	return fmt.Sprintf("the NATS servers cannot be reached (%v)", err)
}

// errSilent means that the servers did not answer a request.
var errSilent = errors.New("the NATS servers did not answer in time")

// silent reports whether an error means that no answer came.
func silent(err error) bool {
	late, ok := errors.AsType[net.Error](err)
	return ok && late.Timeout() || errors.Is(err, errSilent) || errors.Is(err, nats.ErrTimeout)
}

// Trouble returns nil while the servers answer, else the reason why they cannot be used, in words for the person.
func (c *Cluster) Trouble() error {
	c.mu.Lock()
	err := cmp.Or(c.trouble, c.silent)
	c.mu.Unlock()
	if err == nil {
		return nil
	}
	return &mail.Error{Code: mail.Unavailable, Err: err, Msg: c.away(err) + "; Pennypost keeps trying"}
}

// connection returns the number of the current connection, or why there is none, and a channel that closes when that
// changes.
func (c *Cluster) connection() (number uint64, changed <-chan struct{}, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.connections, c.changed, c.trouble
}

// Conn returns the connection, for purposes other than rooms: see Machines.
func (c *Cluster) Conn() *nats.Conn { return c.nc }

// Close ends the connection. The journals must be closed first.
func (c *Cluster) Close() error {
	c.stop()
	c.running.Wait()
	c.nc.Close()
	return nil
}

// Now returns the servers' time, as far as known: this machine's clock, corrected.
func (c *Cluster) Now() time.Time { return time.Now().Add(-c.clock.skew()) }

// Skew returns how far this machine's clock is ahead of the servers', 0 before any was asked.
func (c *Cluster) Skew() time.Duration { return c.clock.skew() }

// clock compares this machine's clock with the servers'.
type clock struct {
	mu     sync.Mutex
	offset time.Duration // how far this machine's clock is ahead of theirs
	slack  time.Duration // how wrong that may be
	at     time.Time     // when it was measured
}

// keepsFor is how long the best comparison is preferred to newer ones: clocks drift by less than a message's travel
// time in that time.
const keepsFor = 10 * time.Minute

// compare notes that the servers' clock read server at a moment between two of ours.
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

// skew returns 0 if the message's travel time alone may explain the offset.
func (k *clock) skew() time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.offset.Abs() <= k.slack {
		return 0
	}
	return k.offset
}
