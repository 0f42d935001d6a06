// Package client is a post office at the far end of a Unix socket or of a URL: mail.Office and mail.Service over the
// routes of package httpapi.
//
// Hooks and commands start it a thousand times an hour. So nothing happens before the first call, a call is one
// request, and no name is looked up for a Unix socket.
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

// Options say where the post office is: set Socket or URL.
type Options struct {
	Socket string // path of its Unix socket
	URL    string // its address, "http://127.0.0.1:8765" or with https
	Token  string // bearer token, for URL

	// Session is the client's id of the session in whose shell this process runs, for Socket; "": in none that says
	// so.
	Session string
	// Guessed says that the agents of this process are known by Session alone.
	Guessed bool
	Use     string // wire.ShellUse in a shell of a session in which several agents may run

	TLS *tls.Config // for https; nil: the system's roots

	// Start, if set, is called when nobody listens at Socket, and the call goes on when it returns nil. Waits and
	// watches that lost their connection do not call it: they would raise a post office that was just stopped.
	Start func(context.Context) error
}

// Office is a post office far away. All methods may be called concurrently.
type Office struct {
	base      *url.URL // Path and RawPath are empty
	where     string   // for messages: what was dialled
	socket    string   // "" over a URL
	token     string
	session   string
	guessed   bool
	use       string
	start     func(context.Context) error
	transport *http.Transport
	version   atomic.Pointer[string]
}

var _ mail.Office = (*Office)(nil)

// dialTimeout bounds the connecting alone; a socket answers at once or not at all.
const dialTimeout = 10 * time.Second

// New returns a post office. It does not connect: that happens with the first call.
func New(opts Options) (*Office, error) {
	o := &Office{token: opts.Token, session: opts.Session, guessed: opts.Guessed, use: opts.Use, start: opts.Start}
	o.transport = &http.Transport{
		TLSClientConfig:       opts.TLS,
		TLSHandshakeTimeout:   dialTimeout,
		DisableCompression:    true,
		MaxIdleConnsPerHost:   16,
		IdleConnTimeout:       30 * time.Second,
		ExpectContinueTimeout: time.Second,
	}
	dialer := &net.Dialer{Timeout: dialTimeout}
	if opts.Socket != "" {
		o.base = &url.URL{Scheme: "http", Host: "pennypost"}
		o.where, o.socket = opts.Socket, opts.Socket
		o.transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, "unix", opts.Socket)
		}
		return o, nil
	}
	u, err := url.Parse(strings.TrimSuffix(opts.URL, "/"))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.Path != "" || u.RawQuery != "" {
		return nil, mail.Errorf(mail.Invalid,
			"%q is not the address of a post office; write it like http://127.0.0.1:8765", opts.URL)
	}
	if u.User != nil {
		return nil, mail.Errorf(mail.Invalid,
			"the address of a post office has no user and password; its credential is a token")
	}
	o.base, o.where = u, u.Host
	o.transport.DialContext = dialer.DialContext
	return o, nil
}

// Version returns the version of the post office as its last answer said it, "" before the first.
func (o *Office) Version() string {
	if v := o.version.Load(); v != nil {
		return *v
	}
	return ""
}

// Close closes idle connections. Watches are closed by their owners.
func (o *Office) Close() { o.transport.CloseIdleConnections() }

// Ping returns nil if the post office answers, and an error of code Unavailable if nobody does.
func (o *Office) Ping(ctx context.Context) error {
	_, err := o.Status(ctx)
	return err
}

// Status returns what the post office says of itself.
func (o *Office) Status(ctx context.Context) (wire.Status, error) {
	return get[wire.Status](ctx, o.user(), "status")
}

// Stop begins to stop the post office. It returns before the post office has ended. Only the user may.
func (o *Office) Stop(ctx context.Context) error {
	return o.user().do(ctx, request{method: http.MethodPost, path: []string{"stop"}}, nil)
}

// Backup writes every room, token and setting to a file. After an error it is not whole. raw names, for a person, the
// rooms that could not be opened, whose files are in it as they stood; "" if there are none. Only the user may.
func (o *Office) Backup(ctx context.Context, to io.Writer) (raw string, err error) {
	c := o.user()
	resp, err := c.open(ctx, request{method: http.MethodGet, path: []string{"backup"}})
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	_, err = io.Copy(to, brokenBody{resp.Body, func(err error) error { return c.broken(ctx, err) }})
	return resp.Trailer.Get(wire.RawTrailer), err
}

// brokenBody says of an error in reading that it is one of the connection; io.Copy may also fail to write.
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

// Login returns a link that logs one browser in as the user, within ten minutes. Only the user may ask.
func (o *Office) Login(ctx context.Context, ask wire.Login) (string, error) {
	var link wire.Link
	err := o.user().do(ctx, request{method: http.MethodPost, path: []string{"login"}}.with(ask), &link)
	return link.URL, err
}

// Sessions lists the browsers that are logged in to the pages, the last used first. Only the user may ask.
func (o *Office) Sessions(ctx context.Context) ([]wire.Session, error) {
	list, err := get[wire.Sessions](ctx, o.user(), "sessions")
	return list.Sessions, err
}

// EndSession logs a browser out, or all if id is "". Only the user may.
func (o *Office) EndSession(ctx context.Context, id string) error {
	path := []string{"sessions"}
	if id != "" {
		path = append(path, id)
	}
	return o.user().do(ctx, request{method: http.MethodDelete, path: path}, nil)
}

// Rooms implements mail.Office.
func (o *Office) Rooms(ctx context.Context) ([]mail.RoomStatus, error) {
	list, err := get[wire.Rooms](ctx, o.user(), "rooms")
	return list.Rooms, err
}

// RemoveRoom removes a room, whose files are kept where the answer says. Only the user may.
func (o *Office) RemoveRoom(ctx context.Context, room mail.RoomName) (wire.RemovedRoom, error) {
	if _, err := mail.ParseRoom(string(room)); err != nil {
		return wire.RemovedRoom{}, err
	}
	var done wire.RemovedRoom
	err := o.user().do(ctx, request{method: http.MethodDelete, path: []string{"rooms", string(room)}}, &done)
	return done, err
}

// Room implements mail.Office. Nothing is sent: a room is opened by the first call that needs it. An empty name means
// the caller that the connection itself proves: the user on a Unix socket, the token's owner over a URL.
func (o *Office) Room(_ context.Context, room mail.RoomName, as mail.Name) (mail.Service, error) {
	if _, err := mail.ParseRoom(string(room)); err != nil {
		return nil, err
	}
	c := &Client{caller: caller{office: o, name: as}, room: room}
	c.Carrier = c
	return c, nil
}

// RoomFor is Room for one use of a tool by the client that started this process: who that is, if the client runs
// several agents, the post office knows.
func (o *Office) RoomFor(_ context.Context, room mail.RoomName, as mail.Name, toolUse string) (mail.Service, error) {
	if _, err := mail.ParseRoom(string(room)); err != nil {
		return nil, err
	}
	c := &Client{caller: caller{office: o, name: as, use: toolUse}, room: room}
	c.Carrier = c
	return c, nil
}

// Ring waits beside an agent, for less than a minute, until a door of it is rung; nil means that it was not. It starts
// no post office.
func (o *Office) Ring(ctx context.Context, room mail.RoomName, as mail.Name, at mail.Listener) (*mail.Rung, error) {
	c := &caller{office: o, name: as}
	query := wire.Query(wire.RingQuery{Door: at.Door, Session: at.Session, Timeout: until(ctx)})
	var rung *mail.Rung
	path := []string{"rooms", string(room), "ring"}
	err := c.do(ctx, request{method: http.MethodPost, path: path, query: query, background: true}, &rung)
	return rung, err
}

// user is who asks what concerns no room. Over a URL that is whom the token names.
func (o *Office) user() *caller { return &caller{office: o} }
