package natsd

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"pennypost/internal/base/selfsigned"
	"pennypost/internal/config"
	"pennypost/internal/mail"
)

// Accounts on the servers.
const (
	system  = "SYS"     // removes servers, and lists those that are up
	rooms   = "ROOMS"   // the post offices'
	members = "MEMBERS" // has the list of machines; joining machines ask here
)

// Prefixes of the secrets of connections that are not a machine's post office. They are tokens, not names, for the
// reason at user.
const (
	inside = "inside." // this process, followed by the account
	joiner = "joiner." // a machine with a code
)

// settings of the server. All others have the server's defaults. sync_interval makes an acknowledgement mean that
// most servers have the message on their disks.
const settings = `
server_name: %q
listen: %q
client_advertise: %q
jetstream { store_dir: %q, sync_interval: always }
cluster {
  name: %q
  listen: %q
  advertise: %q
  ping_interval: "2s"
}
accounts {
  SYS: { exports: [ { service: "$SYS.REQ.SERVER.PING.VARZ", response: stream, accounts: [ROOMS] } ] }
  ROOMS: { jetstream: enabled, imports: [ { service: { account: SYS, subject: "$SYS.REQ.SERVER.PING.VARZ" } } ] }
  MEMBERS: { jetstream: enabled }
}
system_account: SYS
`

// denied are the requests to the servers that the machines' post offices must not make. They may create streams,
// because rooms need them; see docs/security.md.
var denied = []string{
	"$JS.API.STREAM.UPDATE.>", "$JS.API.STREAM.DELETE.>", "$JS.API.STREAM.PURGE.>", "$JS.API.STREAM.SNAPSHOT.>",
	"$JS.API.STREAM.RESTORE.>", "$JS.API.STREAM.PEER.>", "$JS.API.STREAM.CANCEL_MOVE.>", "$JS.API.CONSUMER.PEER.>",
	"$JS.API.META.>", "$JS.API.SERVER.>", "$JS.API.ACCOUNT.>", "$SYS.REQ.ACCOUNT.>", "$SYS.REQ.USER.>",
}

// node is the server in this process, and this process's connections to it.
type node struct {
	log    *slog.Logger
	server *server.Server
	opts   *server.Options // of the server; reload changes them
	secret string          // of this process, for its own connections
	cert   tls.Certificate
	known  func(selfsigned.Pin) bool
	codes  *codes // clients with a code's secret may ask to join

	fatal chan string // the error after which the server could not continue

	system, rooms, members *nats.Conn
}

// place is the addresses of a member's server.
type place struct{ client, routes string }

// listening returns where to listen for a public address: there, if it is this machine's, otherwise on all networks.
func listening(address string) (place, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return place{}, err
	}
	if ip := net.ParseIP(host); ip == nil || !ours(ip) {
		host = ""
	}
	at := net.JoinHostPort(host, port)
	return place{client: at, routes: config.RoutesOf(at)}, nil
}

func ours(ip net.IP) bool {
	l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: ip})
	if err != nil {
		return false
	}
	l.Close()
	return true
}

// free returns an error if an address is already in use.
func (p place) free() error {
	for _, at := range []string{p.client, p.routes} {
		l, err := net.Listen("tcp", at)
		if err != nil {
			return &mail.Error{Code: mail.Conflict, Err: err, Msg: fmt.Sprintf("the server cannot listen at %s "+
				"(%v). It needs two ports: this one for post offices, and one 2000 above it for the other "+
				"servers. Nothing was done. Choose another one: --address HOST:PORT", at, err)}
		}
		l.Close()
	}
	return nil
}

// start runs the server of a member.
func (n *node) start(home config.Home, c *config.Cluster) error {
	me := c.Member(c.Machine)
	at, err := listening(me.Address)
	if err != nil {
		return err
	}
	n.secret, n.fatal = rand.Text(), make(chan string, 1)
	opts, err := n.options(home, c, at)
	if err != nil {
		return err
	}
	n.opts = opts
	if n.server, err = server.NewServer(opts); err != nil {
		return err
	}
	n.server.SetLoggerV2(&natsLog{n.log, n.fatal}, false, false, false)
	n.server.Start()
	if !n.server.ReadyForConnections(10 * time.Second) {
		n.server.Shutdown()
		select {
		case why := <-n.fatal:
			return mail.Errorf(mail.Unavailable, "the NATS server does not start: %s", why)
		default:
			return mail.Errorf(mail.Unavailable, "the NATS server does not start; see its log: %s", home.ServerLog())
		}
	}
	for _, c := range []struct {
		into    **nats.Conn
		account string
	}{{&n.system, system}, {&n.rooms, rooms}, {&n.members, members}} {
		if *c.into, err = nats.Connect("", nats.InProcessServer(n.server), nats.Token(inside+c.account+"."+n.secret),
			nats.MaxReconnects(-1), nats.Name("pennypost-nats")); err != nil {
			n.stop()
			return fmt.Errorf("connect to this machine's server: %w", err)
		}
	}
	return nil
}

func (n *node) stop() {
	for _, c := range []*nats.Conn{n.system, n.rooms, n.members} {
		if c != nil {
			c.Close()
		}
	}
	if n.server != nil {
		n.server.Shutdown()
		n.server.WaitForShutdown()
	}
}

// options returns the server's options for the known state of the cluster.
func (n *node) options(home config.Home, c *config.Cluster, at place) (*server.Options, error) {
	me := c.Member(c.Machine)
	opts := &server.Options{NoSigs: true}
	if err := opts.ProcessConfigString(fmt.Sprintf(settings, me.Machine, at.client, me.Address, home.Servers(),
		"pennypost-"+c.ID, at.routes, me.Routes())); err != nil {
		return nil, err
	}
	opts.TLSConfig = selfsigned.Peers(n.cert, func(pin selfsigned.Pin) bool {
		return n.known(pin) || n.codes.any() // then Check decides: a client with a code is not known yet
	})
	opts.TLSTimeout, opts.Cluster.TLSTimeout = 5, 5
	opts.Cluster.TLSConfig = selfsigned.Peers(n.cert, n.known)
	opts.CustomClientAuthentication = n
	name(opts, c)
	return opts, nil
}

// name puts the members into the options of a server.
func name(opts *server.Options, c *config.Cluster) {
	opts.Cluster.TLSPinnedCerts, opts.Routes = make(server.PinnedCertSet), nil
	for i := range c.Members {
		m := &c.Members[i]
		sum := sha256.Sum256(m.Key)
		opts.Cluster.TLSPinnedCerts[hex.EncodeToString(sum[:])] = struct{}{}
		opts.Routes = append(opts.Routes, &url.URL{Scheme: "nats", Host: m.Routes()})
	}
}

// reload makes the server close the connections of former members, and look for new members. It calls Check again for
// post offices, and compares the keys of servers.
func (n *node) reload(c *config.Cluster) error {
	opts := n.opts.Clone() // unchanged options, so that no member's connection ends
	name(opts, c)
	err := n.server.ReloadOptions(opts)
	if err == nil {
		n.opts = opts
	}
	return err
}

// Check implements server.Authentication: it identifies a connection, and sets its rights.
func (n *node) Check(c server.ClientAuthentication) bool {
	opts, state := c.GetOpts(), c.GetTLSConnectionState()
	if state == nil { // an in-process connection
		for _, account := range []string{system, rooms, members} {
			if opts.Token == inside+account+"."+n.secret {
				c.RegisterUser(n.user(account, nil))
				return true
			}
		}
		return false
	}
	if len(state.PeerCertificates) == 0 {
		return false
	}
	pin := selfsigned.PinOf(state.PeerCertificates[0])
	// It keeps this role even if the machine becomes a member meanwhile: it has not been answered yet.
	if secret, ok := strings.CutPrefix(opts.Token, joiner); ok && n.codes.has(secret) {
		c.RegisterUser(n.user(members, &server.Permissions{
			Publish:   &server.SubjectPermission{Allow: []string{n.joinSubject() + pin.String()}},
			Subscribe: &server.SubjectPermission{Allow: []string{joinedSubject + pin.String() + ".>"}}}))
		return true
	}
	if n.known(pin) {
		c.RegisterUser(n.user(rooms, &server.Permissions{
			Publish: &server.SubjectPermission{Deny: denied}}))
		return true
	}
	return false
}

// user returns a user of an account. It has no name: on every reload, the server closes connections of named users
// that are not in its configuration.
func (n *node) user(account string, may *server.Permissions) *server.User {
	acc, err := n.server.LookupAccount(account)
	if err != nil {
		n.log.Error("account missing", "account", account, "err", err)
	}
	return &server.User{Account: acc, Permissions: may}
}

// natsLog passes the server's log on.
type natsLog struct {
	log   *slog.Logger
	fatal chan<- string
}

func (l *natsLog) Noticef(format string, v ...any) { l.log.Debug(fmt.Sprintf(format, v...)) }
func (l *natsLog) Warnf(format string, v ...any) {
	// Keys are checked without the certificate chains that it misses, and a first server waits for the second.
	if !strings.HasPrefix(format, "TLS certificate chain") && !strings.HasPrefix(format, "Waiting for routing") {
		l.log.Warn(fmt.Sprintf(format, v...))
	}
}
func (l *natsLog) Errorf(format string, v ...any) { l.log.Error(fmt.Sprintf(format, v...)) }
func (l *natsLog) Debugf(string, ...any)          {}
func (l *natsLog) Tracef(string, ...any)          {}
func (l *natsLog) Fatalf(format string, v ...any) {
	l.Errorf(format, v...)
	select {
	case l.fatal <- fmt.Sprintf(format, v...):
	default:
	}
}
