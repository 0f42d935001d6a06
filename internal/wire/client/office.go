// Package client is a post office at the far end of a Unix socket or of a URL: mail.Office and mail.Service over the
// routes of package httpapi.
//
// Hooks and commands start it a thousand times an hour. So nothing happens before the first call, a call is one
// request, and a Unix socket needs no name lookup.
package client

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/wire"
)

// Options locate the post office: set Socket or URL.
type Options struct {
	Socket string // path of its Unix socket
	URL    string // its address, "http://127.0.0.1:8765" or with https
	Token  string // bearer token, for URL, or a credential for scripts; "" on a Unix socket: the process itself

	// Session is the client's id of the session in whose shell this process runs, for Socket; "": none that is known.
	Session string
	// Guessed says that only Session identifies the agents of this process.
	Guessed bool
	Use     string // wire.ShellUse in a shell of a session in which several agents may run

	TLS *tls.Config // for https; nil: the system's roots

	// Relay says that this process makes calls for many others, for days: it keeps connections as long as the post
	// office does, and notices within relayPatience that one is unreachable.
	Relay bool

	// Start, if set, is called when no one listens at Socket, and the call continues when it returns nil. Waits and
	// watches that lost their connection do not call it: they would start a post office that was just stopped.
	Start func(context.Context) error

	// Ready, if set, is called before a foreground request; if it returns an error, the request is not sent.
	Ready func(context.Context) error

	// Confirm, if set, is called when the person must confirm an act; the act is retried when it returns nil.
	Confirm func(context.Context, *Office) error

	// Link, if set, is called whenever the connection of a watch breaks (false) and when there is another (true). It
	// must not block.
	Link func(up bool)
}

// Office is a remote post office. All methods may be called concurrently.
type Office struct {
	base      *url.URL // Path and RawPath are empty
	where     string   // for messages: the dialled address
	socket    string   // "" over a URL
	token     string
	session   string
	guessed   bool
	use       string
	start     func(context.Context) error
	ready     func(context.Context) error
	confirm   func(context.Context, *Office) error
	link      func(up bool)
	quiet     time.Duration
	patience  time.Duration
	transport *http.Transport
	version   *atomic.Pointer[string]
}

var _ mail.Office = (*Office)(nil)

const (
	// dialTimeout bounds only the connecting; a socket answers immediately or not at all.
	dialTimeout = 10 * time.Second
	// relayDial is how long a relay waits for a connection, and relayPatience how long before it checks whether a
	// silent post office lives, and then for the answer: so callers of the relay learn within two seconds that no one
	// is there.
	relayDial     = 1500 * time.Millisecond
	relayPatience = 700 * time.Millisecond
	// relayKeep is how long a relay keeps an idle connection, which is less than a post office does.
	relayKeep = 2 * time.Minute
)

// New returns a post office. It does not connect before the first call.
func New(opts Options) (*Office, error) {
	o := &Office{token: opts.Token, session: opts.Session, guessed: opts.Guessed, use: opts.Use, start: opts.Start,
		ready: opts.Ready, confirm: opts.Confirm, link: opts.Link, quiet: quiet, patience: patience,
		version: new(atomic.Pointer[string])}
	if o.link == nil {
		o.link = func(bool) {}
	}
	o.transport = &http.Transport{
		TLSClientConfig:       opts.TLS,
		TLSHandshakeTimeout:   dialTimeout,
		DisableCompression:    true,
		MaxIdleConnsPerHost:   16,
		IdleConnTimeout:       30 * time.Second,
		ExpectContinueTimeout: time.Second,
	}
	dialer := &net.Dialer{Timeout: dialTimeout}
	if opts.Relay {
		o.quiet, o.patience = relayPatience, relayPatience
		o.transport.IdleConnTimeout = relayKeep
		o.transport.DialTLSContext = func(ctx context.Context, network, address string) (net.Conn, error) {
			ctx, cancel := context.WithTimeout(ctx, relayDial)
			defer cancel()
			conn, err := (&tls.Dialer{NetDialer: dialer, Config: opts.TLS}).DialContext(ctx, network, address)
			if err != nil { // before anything was sent, even during the key exchange
				err = &net.OpError{Op: "dial", Net: network, Err: err}
			}
			return conn, err
		}
	}
	path, unix := strings.CutPrefix(opts.URL, "unix:")
	o.base, o.where, o.socket = &url.URL{Scheme: "http", Host: "localhost"}, path, opts.Socket
	if opts.Socket != "" {
		path, unix = opts.Socket, true
		o.base.Host, o.where = "pennypost", path
	}
	if unix {
		o.transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, "unix", path)
		}
		return o, nil
	}
	u, err := url.Parse(strings.TrimSuffix(opts.URL, "/"))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.Path != "" || u.RawQuery != "" {
		return nil, mail.Errorf(mail.Invalid,
			"%q is not the address of a post office; write it like http://127.0.0.1:8765, or unix:/PATH of its "+
				"token_socket", opts.URL)
	}
	if u.User != nil {
		return nil, mail.Errorf(mail.Invalid,
			"the address of a post office has no user or password; its credential is a token")
	}
	o.base, o.where = u, u.Host
	o.transport.DialContext = dialer.DialContext
	return o, nil
}

// With returns the same post office with another token. They share their connections, and Close closes both.
func (o *Office) With(token string) *Office {
	other := *o
	other.token = token
	return &other
}

// Version returns the version of the post office in its last answer, "" before the first.
func (o *Office) Version() string {
	if v := o.version.Load(); v != nil {
		return *v
	}
	return ""
}

// Close closes idle connections. The owners of watches close those.
func (o *Office) Close() { o.transport.CloseIdleConnections() }

// Ping returns nil if the post office answers, and an error of code Unavailable if there is none.
func (o *Office) Ping(ctx context.Context) error {
	_, err := o.Status(ctx)
	return err
}

// Status returns the post office's description of itself.
func (o *Office) Status(ctx context.Context) (wire.Status, error) {
	return wire.Do(ctx, o.user(), &wire.OfficeCall, wire.None{})
}

// Stop starts to stop the post office, and returns before it has ended. Only the user may.
func (o *Office) Stop(ctx context.Context) error { return tell(ctx, o, &wire.StopCall, wire.None{}) }

// Backup writes every room, token and setting to a file, which is incomplete after an error. raw names, for a person,
// the rooms that could not be opened, whose files it contains as they were; "" if there are none. Only the user may.
func (o *Office) Backup(ctx context.Context, to io.Writer) (raw string, err error) {
	c := o.user()
	resp, err := c.open(ctx, c.request(&wire.BackupRoute, wire.None{}))
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	_, err = io.Copy(to, brokenBody{resp.Body, func(err error) error { return c.broken(ctx, err) }})
	return resp.Trailer.Get(wire.RawTrailer), err
}

// brokenBody marks read errors as errors of the connection; io.Copy may also fail to write.
type brokenBody struct {
	io.Reader
	broken func(error) error
}

func (b brokenBody) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err != nil && err != io.EOF {
		err = b.broken(err)
	}
	return n, err
}

// Fleet implements mail.Office.
func (o *Office) Fleet(ctx context.Context, q mail.FleetQuery) (mail.Fleet, error) {
	return wire.Do(ctx, o.user(), &wire.FleetCall, q)
}

// FleetMail implements mail.Office.
func (o *Office) FleetMail(ctx context.Context, q mail.FleetMailQuery) (mail.FleetMail, error) {
	return wire.Do(ctx, o.user(), &wire.FleetMailCall, q)
}

// Dialogs implements mail.Office.
func (o *Office) Dialogs(ctx context.Context, q mail.DialogQuery) (mail.Cards, error) {
	return wire.Do(ctx, o.user(), &wire.DialogsCall, q)
}

// AnswerDialog implements mail.Office.
func (o *Office) AnswerDialog(ctx context.Context, a mail.DialogAnswer) error {
	return tell(ctx, o, &wire.AnswerDialogCall, a)
}

// Away returns the agents for which the user is away from the terminal. Only the user may ask.
func (o *Office) Away(ctx context.Context) (wire.Aways, error) {
	return wire.Do(ctx, o.user(), &wire.AwayCall, wire.None{})
}

// SetAway says that the user is away from the terminal of an agent, or of all. Only the user may.
func (o *Office) SetAway(ctx context.Context, a wire.Away) (wire.Aways, error) {
	return wire.Do(ctx, o.user(), &wire.SetAwayCall, a)
}

// Notify lists the channels through which the user is notified of mail. Only the user may ask.
func (o *Office) Notify(ctx context.Context) ([]wire.NotifyChannel, error) {
	list, err := wire.Do(ctx, o.user(), &wire.NotifyCall, wire.None{})
	return list.Channels, err
}

// NotifyTest sends a test through a channel, or through all if name is "". Only the user may.
func (o *Office) NotifyTest(ctx context.Context, name string) ([]wire.NotifyTested, error) {
	out, err := wire.Do(ctx, o.user(), &wire.NotifyTestCall, wire.NotifyTest{Channel: name})
	return out.Tests, err
}

// NotifyPair makes a code that pairs a chat with a channel. Only the user may.
func (o *Office) NotifyPair(ctx context.Context, channel string) (wire.NotifyPairing, error) {
	return wire.Do(ctx, o.user(), &wire.NotifyPairCall, wire.NotifyPair{Channel: channel})
}

// NotifyUnpair ends the pairing of a channel with a chat. Only the user may.
func (o *Office) NotifyUnpair(ctx context.Context, channel string) error {
	return tell(ctx, o, &wire.NotifyUnpairCall, wire.NotifyPair{Channel: channel})
}

// Outbox lists the caller's mail that is kept on this machine.
func (o *Office) Outbox(ctx context.Context, as mail.Name) (mail.Outbox, error) {
	return wire.Do(ctx, &caller{office: o, name: as}, &wire.OutboxCall, wire.None{})
}

// WithdrawKept takes a letter out of the outbox of this machine. Only the user may.
func (o *Office) WithdrawKept(ctx context.Context, key string) error {
	return tell(ctx, o, &wire.WithdrawKeptCall, key)
}

// Login returns a link that logs one browser in as the user, within ten minutes. Only the user may ask.
func (o *Office) Login(ctx context.Context, ask wire.Login) (string, error) {
	link, err := wire.Do(ctx, o.user(), &wire.LoginCall, ask)
	return link.URL, err
}

// Sessions lists the browsers that are logged in to the pages, the last used first. Only the user may ask.
func (o *Office) Sessions(ctx context.Context) ([]wire.Session, error) {
	list, err := wire.Do(ctx, o.user(), &wire.SessionsCall, wire.None{})
	return list.Sessions, err
}

// EndSession logs a browser out, or all if id is "". Only the user may.
func (o *Office) EndSession(ctx context.Context, id string) error {
	if id == "" {
		return tell(ctx, o, &wire.EndSessionsCall, wire.None{})
	}
	return tell(ctx, o, &wire.EndSessionCall, id)
}

// Invite makes a code that lets another machine in, once. Only the user may, on the post office's machine.
func (o *Office) Invite(ctx context.Context, ask wire.Invite) (wire.Invited, error) {
	return wire.Do(ctx, o.user(), &wire.InviteCall, ask)
}

// Invites lists the machines that were let in, and the valid codes. Only the user may ask.
func (o *Office) Invites(ctx context.Context) (wire.Invites, error) {
	return wire.Do(ctx, o.user(), &wire.InvitesCall, wire.None{})
}

// Revoke revokes a machine's access, or a code. Only the user may, on the post office's machine.
func (o *Office) Revoke(ctx context.Context, name string) error {
	return tell(ctx, o, &wire.RevokeCall, name)
}

// AddCredential makes a credential for scripts. Only the user may, on the post office's machine.
func (o *Office) AddCredential(ctx context.Context, ask wire.NewCredential) (wire.MadeCredential, error) {
	return wire.Do(ctx, o.user(), &wire.AddCredentialCall, ask)
}

// Credentials lists the valid credentials for scripts. Only the user may ask.
func (o *Office) Credentials(ctx context.Context) (wire.Credentials, error) {
	return wire.Do(ctx, o.user(), &wire.CredentialsCall, wire.None{})
}

// RevokeCredential revokes a credential for scripts. Only the user may.
func (o *Office) RevokeCredential(ctx context.Context, name string) error {
	return tell(ctx, o, &wire.RevokeCredentialCall, name)
}

// Confirm sends the passphrase that the person has typed at this process's terminal.
func (o *Office) Confirm(ctx context.Context, typed string) error {
	return tell(ctx, o, &wire.ConfirmCall, wire.Confirmation{Passphrase: typed})
}

// SetPassphrase sets the passphrase for important acts.
func (o *Office) SetPassphrase(ctx context.Context, ask wire.NewPassphrase) error {
	return tell(ctx, o, &wire.SetPassphraseCall, ask)
}

// Join uses a code up. It is not retried: if the answer was lost, it is unknown whether the code is still valid.
func (o *Office) Join(ctx context.Context, ask wire.Join) (wire.Joined, error) {
	return wire.Do(ctx, o.user(), &wire.JoinCall, ask)
}

// Leave invalidates the token of this connection.
func (o *Office) Leave(ctx context.Context) error { return tell(ctx, o, &wire.LeaveCall, wire.None{}) }

// Rooms implements mail.Office.
func (o *Office) Rooms(ctx context.Context) ([]mail.RoomStatus, error) {
	list, err := wire.Do(ctx, o.user(), &wire.RoomsCall, wire.None{})
	return list.Rooms, err
}

// Desk implements mail.Office.
func (o *Office) Desk(ctx context.Context, q mail.DeskQuery) (mail.Desk, error) {
	return wire.Do(ctx, o.user(), &wire.DesksCall, q)
}

// RemoveRoom removes a room and returns where its files are kept. Only the user may.
func (o *Office) RemoveRoom(ctx context.Context, room mail.RoomName) (wire.RemovedRoom, error) {
	return wire.Do(ctx, &caller{office: o, room: room}, &wire.RemoveRoomCall, wire.None{})
}

// MoveRoom moves a room to the NATS servers, to a shard there, or to a file of the post office's machine. Only the
// user may.
func (o *Office) MoveRoom(ctx context.Context, room mail.RoomName, to string) (wire.MovedRoom, error) {
	return wire.Do(ctx, &caller{office: o, room: room}, &wire.MoveRoomCall, wire.MoveRoom{To: to})
}

// Shards lists the streams that rooms on the NATS servers share. Only the user may ask.
func (o *Office) Shards(ctx context.Context) (wire.Shards, error) {
	return wire.Do(ctx, o.user(), &wire.ShardsCall, wire.None{})
}

// MakeShards makes shards until there are n. Only the user may.
func (o *Office) MakeShards(ctx context.Context, n int) (wire.Shards, error) {
	return wire.Do(ctx, o.user(), &wire.MakeShardsCall, wire.MakeShards{Number: n})
}

// RestoreRoom compares a room on the NATS servers with the machines' copies of it and, if from is one of these
// machines, creates its stream again from that copy. Only the user may.
func (o *Office) RestoreRoom(ctx context.Context, room mail.RoomName, from mail.Machine) (wire.RestoredRoom, error) {
	return wire.Do(ctx, &caller{office: o, room: room}, &wire.RestoreRoomCall, wire.RestoreRoom{From: from})
}

// Machines lists the machines whose post offices have rooms on the same NATS servers, and the servers' health. Only
// the user may ask.
func (o *Office) Machines(ctx context.Context) (wire.Machines, error) {
	return wire.Do(ctx, o.user(), &wire.MachinesCall, wire.None{})
}

// Try writes and reads a test message. Only the user may.
func (o *Office) Try(ctx context.Context) (wire.Trials, error) {
	return wire.Do(ctx, o.user(), &wire.TryCall, wire.None{})
}

// AdmitMachine admits a machine to the rooms on the NATS servers. Only the user may.
func (o *Office) AdmitMachine(ctx context.Context, name mail.Machine, key string) error {
	return tell(ctx, o, &wire.AdmitMachineCall, wire.AdmitMachine{Machine: name, Key: key})
}

// RemoveMachine forgets a machine that will not come back. Only the user may.
func (o *Office) RemoveMachine(ctx context.Context, name mail.Machine) error {
	return tell(ctx, o, &wire.RemoveMachineCall, name)
}

// Room implements mail.Office. It sends nothing: a room is opened by the first call that needs it. An empty name
// means the caller that the connection itself proves: the user on a Unix socket, the token's owner over a URL.
func (o *Office) Room(ctx context.Context, room mail.RoomName, as mail.Name) (mail.Service, error) {
	return o.RoomFor(ctx, room, as, "")
}

// RoomFor is Room for one tool call by the client that started this process: if the client runs several agents, the
// post office knows whose call it is.
func (o *Office) RoomFor(_ context.Context, room mail.RoomName, as mail.Name, toolUse string) (mail.Service, error) {
	if _, err := mail.ParseRoom(string(room)); err != nil {
		return nil, err
	}
	return newClient(caller{office: o, room: room, name: as, use: toolUse}), nil
}

// Whence is what a relay has found out about a calling process on its machine.
type Whence struct {
	Session  string   // as in Options
	Guessed  bool     // as in Options
	Programs []string // the process and its ancestors, as package process names them; nil: unknown
	Threads  []string // for each, the session in whose shell it started the one before; nil: none
	Inside   bool     // an agent's client started one of them
}

// RoomFrom is Room for a process of another machine, for which that machine's token vouches.
func (o *Office) RoomFrom(room mail.RoomName, as mail.Name, from Whence) mail.Service {
	return newClient(caller{office: o, room: room, name: as, from: from})
}

// Line returns a connection over which the post office rings agents of this machine, in wire.RelayProtocol.
func (o *Office) Line(ctx context.Context) (io.ReadWriteCloser, error) {
	u := *o.base
	u.Path = wire.RelayPath
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	req.Header = http.Header{"Connection": {"Upgrade"}, "Upgrade": {wire.RelayProtocol}}
	c := o.user()
	c.sign(req.Header)
	resp, err := o.transport.RoundTrip(req)
	if err != nil {
		return nil, c.unreached(ctx, err)
	}
	if line, ok := resp.Body.(io.ReadWriteCloser); ok && resp.StatusCode == http.StatusSwitchingProtocols {
		return line, nil
	}
	defer resp.Body.Close()
	return nil, problem(resp)
}

// Ring waits with an agent, for less than a minute, until one of its doors is rung; nil means that none was. It does
// not start a post office.
func (o *Office) Ring(ctx context.Context, room mail.RoomName, as mail.Name, at mail.Listener) (*mail.Rung, error) {
	c := &caller{office: o, room: room, name: as}
	r := c.request(&wire.RingRoute, wire.None{})
	r.query = wire.Query(wire.RingQuery{Door: at.Door, Session: at.Session, Timeout: until(ctx)})
	r.background = true
	var rung *mail.Rung
	err := c.do(ctx, r, &rung)
	return rung, err
}

// Attach makes the post office bring the session of an agent to the front. Only the user may.
func (o *Office) Attach(ctx context.Context, room mail.RoomName, agent mail.Name, from wire.Attach) (wire.Attached,
	error) {
	from.Agent = agent
	return wire.Do(ctx, &caller{office: o, room: room}, &wire.AttachCall, from)
}

// user returns the caller for requests that concern no room. Over a URL it is the token's owner.
func (o *Office) user() *caller { return &caller{office: o} }

// tell makes a call of the post office that has no answer.
func tell[In any](ctx context.Context, o *Office, call *wire.Call[In, wire.None], in In) error {
	_, err := wire.Do(ctx, o.user(), call, in)
	return err
}
