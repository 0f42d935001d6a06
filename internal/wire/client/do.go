package client

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"io/fs"
	"mime"
	"net"
	"net/http"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"syscall"
	"time"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/base/pause"
	"pennypost/internal/base/selfsigned"
	"pennypost/internal/mail"
	"pennypost/internal/wire"
)

// caller sends requests as someone.
type caller struct {
	office *Office
	room   mail.RoomName // the room of its calls; "": only calls of the post office
	name   mail.Name
	use    string // wire.ToolUseHeader
	from   Whence
}

// Carry implements wire.Carrier.
func (c *caller) Carry(ctx context.Context, r *wire.Route, in, out any, _ func(mail.Service) error) error {
	if _, none := out.(*wire.None); none {
		out = nil
	}
	return c.do(ctx, c.request(r, in), out)
}

// request returns the request of a route.
func (c *caller) request(r *wire.Route, in any) request {
	req := request{method: r.Method, repeat: r.Repeat || r.Method == http.MethodGet}
	for part := range strings.FieldsFuncSeq(r.Path, func(c rune) bool { return c == '/' }) {
		if name, ok := strings.CutPrefix(part, "{"); ok {
			name = strings.TrimSuffix(name, "}")
			if part = c.segment(name, in); part == "" { // the path would be another route
				req.err = mail.Errorf(mail.Invalid, "the %s is empty", name)
			}
		}
		req.path = append(req.path, part)
	}
	switch {
	case in == wire.None{}, reflect.TypeOf(in).Kind() == reflect.String:
		return req
	case r.Method == http.MethodGet:
		req.query = wire.Query(in)
		return req
	}
	return req.with(in)
}

// segment returns the path segment for a variable: the room, or part of in.
func (c *caller) segment(name string, in any) string {
	if name == "room" {
		return string(c.room)
	}
	switch of := in.(type) {
	case wire.Rename:
		in = of.From
	case wire.Merge:
		in = of.From
	case wire.Attach:
		in = of.Agent
	case mail.Rescheduling:
		in = of.ID
	}
	return reflect.ValueOf(in).String()
}

// request is one call of a route.
type request struct {
	method string
	path   []string // segments below wire.Base, unescaped
	query  url.Values
	header http.Header
	body   []byte
	kind   string // content type of body
	// repeat allows a retry when the connection broke before an answer came: the request is idempotent.
	repeat bool
	again  bool // it was sent before
	// background marks a request that a wait or a watch makes by itself, and that does not start a post office.
	background bool
	err        error // why it cannot be sent
}

// attempts is how often an idempotent request is sent: a retry may find a restarted post office, or replace an idle
// connection that the far end had closed.
const attempts = 3

// with returns r with v as its body.
func (r request) with(v any) request {
	var err error
	if r.body, err = jsonx.Marshal(v); err != nil {
		r.err = mail.Errorf(mail.Invalid, "not sent: it contains text that is not UTF-8")
	}
	r.kind = wire.JSON
	return r
}

// do sends r and decodes the answer into v, unless v is nil.
func (c *caller) do(ctx context.Context, r request, v any) error {
	asked := false
	for try := 1; ; try++ {
		err := c.once(ctx, r, v)
		r.again = true
		if mail.CodeOf(err) == mail.Unconfirmed && c.office.confirm != nil && !asked {
			if asked, err = true, c.office.confirm(ctx, c.office); err == nil {
				continue
			}
		}
		if !r.repeat || try == attempts || !errors.Is(err, errBroken) || ctx.Err() != nil {
			return err
		}
		if !pause.For(ctx, time.Duration(try)*50*time.Millisecond) {
			return ended(ctx.Err())
		}
	}
}

func (c *caller) once(ctx context.Context, r request, v any) error {
	resp, err := c.open(ctx, r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return c.broken(ctx, err)
	}
	if v == nil {
		return nil
	}
	if err := jsonx.Unmarshal(body, v); err != nil {
		return notUnderstood(err)
	}
	return nil
}

func notUnderstood(err error) error {
	return &mail.Error{Code: mail.Internal,
		Msg: "this pennypost does not understand the post office's answer; install the same version of both",
		Err: err}
}

// open sends r and returns a successful response, whose body the caller must close.
func (c *caller) open(ctx context.Context, r request) (*http.Response, error) {
	if r.err == nil && c.office.ready != nil && !r.background && !r.again {
		r.err = c.office.ready(ctx)
	}
	if r.err != nil {
		return nil, r.err
	}
	resp, err := c.roundTrip(ctx, r)
	if notListening(err) && c.office.start != nil && !r.background {
		if err := c.office.start(ctx); err != nil {
			return nil, err
		}
		resp, err = c.roundTrip(ctx, r)
	}
	switch {
	case err == nil && resp.StatusCode < 300:
		return resp, nil
	case err == nil:
		defer resp.Body.Close()
		return nil, problem(resp)
	}
	return nil, c.unreached(ctx, err)
}

// unreached returns the error for a request that got no answer because of err.
func (c *caller) unreached(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return ended(ctx.Err())
	case errors.Is(err, errBroken), errors.Is(err, errSilent):
	case notListening(err) && c.office.socket == "":
		return &mail.Error{Code: mail.Unavailable, Msg: "no post office answers at " + c.office.where +
			"; check there: pennypost status", Err: err}
	case notListening(err):
		return &mail.Error{Code: mail.Unavailable, Msg: "no post office answers at " + c.office.where +
			"; to start one: pennypost serve", Err: err}
	case isOther(err):
		return &mail.Error{Code: mail.Unavailable, Msg: "the server at " + c.office.where +
			" is not the expected post office (" + err.Error() + "). Nothing was sent. Either this network leads " +
			"elsewhere, or someone intercepts the connection, or the post office has a new key; then type " +
			"there: pennypost invite, and here the line that it prints", Err: err}
	case notReached(err):
		msg := "the post office at " + c.office.where + " cannot be reached: " + err.Error()
		if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
			msg += ". To trust a certificate that it made itself, join it: type there: pennypost invite"
		}
		return &mail.Error{Code: mail.Unavailable, Msg: msg, Err: err}
	}
	return c.broken(ctx, err)
}

// isOther reports whether err means that the far end has another key than the pinned one.
func isOther(err error) bool {
	_, ok := errors.AsType[*selfsigned.OtherKeyError](err)
	return ok
}

// notReached reports whether err occurred before anything of the request was sent.
func notReached(err error) bool {
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return true
	}
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "dial"
}

func (c *caller) roundTrip(ctx context.Context, r request) (*http.Response, error) {
	u := *c.office.base
	u.Path, u.RawPath = wire.Base, wire.Base
	for _, segment := range r.path {
		u.Path += "/" + segment
		u.RawPath += "/" + escape(segment)
	}
	u.RawQuery = r.query.Encode()
	req, err := http.NewRequest(r.method, u.String(), bytes.NewReader(r.body))
	if err != nil {
		return nil, err
	}
	for k, v := range r.header {
		req.Header[k] = v
	}
	if r.kind != "" {
		req.Header.Set("Content-Type", r.kind)
	}
	c.sign(req.Header)
	if len(r.body) > expectAbove {
		req.Header.Set("Expect", "100-continue")
	}
	// Not http.Client: there are no cookies here, and a token must not follow a redirect.
	v := c.office.vigil(ctx)
	resp, err := c.office.transport.RoundTrip(req.WithContext(v.ctx))
	v.pause()
	if err != nil {
		defer v.end()
		return nil, v.why(err)
	}
	if version := resp.Header.Get(wire.VersionHeader); version != "" {
		c.office.version.Store(&version)
	}
	resp.Body = &watchedBody{resp.Body, v}
	return resp, nil
}

// sign writes the caller's identity into a header.
func (c *caller) sign(h http.Header) {
	if c.office.token != "" {
		h.Set("Authorization", "Bearer "+c.office.token)
	}
	if c.name != "" && (c.name != mail.User || c.office.token != "") {
		wire.SetAgent(h, c.name)
	}
	if session := cmp.Or(c.from.Session, c.office.session); session != "" {
		h.Set(wire.SessionHeader, session)
	}
	if c.from.Guessed || c.office.guessed {
		h.Set(wire.SeatHeader, "session")
	}
	if len(c.from.Programs) > 0 {
		h.Set(wire.ProgramsHeader, strings.Join(c.from.Programs, ","))
	}
	if len(c.from.Threads) > 0 {
		h.Set(wire.ThreadsHeader, strings.Join(c.from.Threads, ","))
	}
	if c.from.Inside {
		h.Set(wire.InsideHeader, "client")
	}
	if use := cmp.Or(c.use, c.office.use); use != "" {
		h.Set(wire.ToolUseHeader, use)
	}
}

// expectAbove is the size above which a body is sent only after the far end has agreed to read it. An answer that
// refuses a body half-way is easily lost.
const expectAbove = 256 << 10

// escape makes a path segment that no intermediary can take for "." or "..".
func escape(segment string) string {
	if strings.Trim(segment, ".") == "" {
		return strings.ReplaceAll(segment, ".", "%2E")
	}
	return url.PathEscape(segment)
}

// windowsRefused is WSAECONNREFUSED, which Go does not treat as ECONNREFUSED.
const windowsRefused = syscall.Errno(10061)

// notListening reports whether err means that there is no post office, so that nothing was sent.
func notListening(err error) bool {
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, windowsRefused) || errors.Is(err, fs.ErrNotExist)
}

// errBroken marks an error after which it is unknown whether the request was served.
var errBroken = errors.New("connection broke")

// broken returns the error for a connection that delivered none or only part of the answer.
func (c *caller) broken(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return ended(ctx.Err())
	case errors.Is(err, errSilent):
		return c.silent()
	}
	return &mail.Error{
		Code: mail.Unavailable,
		Msg: "the connection to the post office at " + c.office.where +
			" broke before it answered; check whether it acted before you try again",
		Err: errors.Join(errBroken, err),
	}
}

// ended returns the error for a call whose context ended.
func ended(cause error) error {
	return &mail.Error{Code: mail.Timeout, Msg: "the post office did not answer in time", Err: cause}
}

// problem reads the error from an unsuccessful response.
func problem(resp *http.Response) error {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	var p wire.Problem
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err == nil && kind == wire.ProblemJSON && jsonx.Unmarshal(body, &p) == nil && p.Code != "" {
		return &mail.Error{Code: p.Code, Msg: p.Detail}
	}
	return &mail.Error{Code: codeOf(resp.StatusCode), Msg: "a proxy on the way to the post office answered: " +
		strconv.Itoa(resp.StatusCode) + " " + http.StatusText(resp.StatusCode)}
}

// codeOf guesses the code for the status of an answer that is not from a post office, but from a proxy.
func codeOf(status int) mail.Code {
	switch status {
	case http.StatusUnauthorized, http.StatusProxyAuthRequired:
		return mail.Unknown
	case http.StatusForbidden:
		return mail.Denied
	case http.StatusRequestEntityTooLarge:
		return mail.TooLarge
	case http.StatusTooManyRequests:
		return mail.Limited
	}
	return mail.Unavailable
}
