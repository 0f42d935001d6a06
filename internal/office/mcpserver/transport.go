package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"pennypost/internal/base/life"
)

// Header names of the streamable HTTP transport (MCP 2025-11-25 and 2026-07-28,
// basic/transports).
const (
	headerVersion = "Mcp-Protocol-Version"
	headerSession = "Mcp-Session-Id"
)

// Defaults of HTTPOptions.
const (
	defaultMaxBody = 1 << 20
	// Few clients delete a session when they leave it, and each costs two goroutines and the calls it keeps. A
	// session whose client listens lives on; a client that comes back later than this is told to begin again, as
	// MCP specifies.
	defaultSessionTimeout = time.Hour
	// Proxies commonly cut a response that was silent for 60 s, and Claude Code gives up on one that has not begun
	// by then: this gives four chances.
	defaultKeepAlive = 15 * time.Second
	// Long enough for a slow link to take one chunk; see stream.send.
	defaultWriteTimeout = 30 * time.Second
)

// HTTPOptions configures an HTTPHandler. The zero value means the defaults.
type HTTPOptions struct {
	// Identity names the credential of a request. A session answers only to the identity that opened it. It is
	// called for every request of the older era; nil gives all the same identity.
	Identity func(*http.Request) string

	// Hosts are names without port, in addition to those of the loopback interface, under which clients may address
	// this server. A name not listed is refused with 403, because a page can point its own name at our address (DNS
	// rebinding).
	Hosts []string

	// Origins ("https://mail.example.org") may call in addition to the request's own host. They are for a proxy
	// that rewrites Host: no CORS headers are sent, so a page of another origin still cannot read an answer.
	Origins []string

	MaxBody        int64         // bytes of one request body; 1 MiB
	SessionTimeout time.Duration // a session without an open request ends after this; 1 h
	KeepAlive      time.Duration // silence after which a stream gets a comment; 15 s
	WriteTimeout   time.Duration // a client that takes nothing for this long is cut off; 30 s

	Logger *slog.Logger // of the SDK; nil logs nothing
}

func (o HTTPOptions) withDefaults() HTTPOptions {
	if o.Identity == nil {
		o.Identity = func(*http.Request) string { return "" }
	}
	if o.MaxBody == 0 {
		o.MaxBody = defaultMaxBody
	}
	if o.SessionTimeout == 0 {
		o.SessionTimeout = defaultSessionTimeout
	}
	if o.KeepAlive == 0 {
		o.KeepAlive = defaultKeepAlive
	}
	if o.WriteTimeout == 0 {
		o.WriteTimeout = defaultWriteTimeout
	}
	return o
}

// HTTPError is an error of the server function that is shown to the client: the answer has Status, and Msg as the
// message of a JSON-RPC error. Any other error is logged and answered 500 without detail.
type HTTPError struct {
	Status int
	Msg    string
}

func (e *HTTPError) Error() string { return e.Msg }

// HTTPHandler serves MCP over streamable HTTP, every revision from 2024-11-05 to 2026-07-28 at one address. A
// request that names 2026-07-28 or later, in its header or its _meta, is answered statelessly; initialize opens a
// session of the older era.
//
// A call's handler gets a context that carries the values of the HTTP request's context (in a session: of the
// request that opened it) and ends when the client cancels or hangs up, when its session ends or when the handler
// is closed. In a session, where a client may come back for an answer, hanging up counts after ten seconds.
type HTTPHandler struct {
	server    func(*http.Request) (*Server, error)
	opts      HTTPOptions
	guard     *guard
	ids       ids
	stateless http.Handler
	stateful  http.Handler
	sessions  *sessions

	ctx    context.Context // parent of every request; done when closed
	cancel context.CancelFunc

	mu      sync.Mutex
	closed  bool
	running sync.WaitGroup // requests; Add only with mu held and closed false
}

// NewHTTPHandler returns a handler that calls server for the MCP server of each 2026-07-28 request and of each
// session. server may return the same one many times. It fails only on a malformed origin in opts. The handler must
// be closed.
func NewHTTPHandler(server func(*http.Request) (*Server, error), opts HTTPOptions) (*HTTPHandler, error) {
	opts = opts.withDefaults()
	g, err := newGuard(opts.Hosts, opts.Origins)
	if err != nil {
		return nil, err
	}
	sdk := mcp.StreamableHTTPOptions{
		Logger: opts.Logger,
		// readMessage has limited the body, in which an id may have become longer
		MaxRequestBodyBytes: 2 * opts.MaxBody,
		// The SDK's own Host check accepts only loopback names; where others are configured, guard does its work.
		DisableLocalhostProtection: len(opts.Hosts) > 0,
		// SessionTimeout stays unset: the SDK counts only POSTs as activity, and would end the session of a client
		// that listens on a GET. See sessions.
	}
	h := &HTTPHandler{server: server, opts: opts, guard: g, ids: newIDs()}
	h.ctx, h.cancel = context.WithCancel(context.Background())
	h.sessions = newSessions(h.ctx, opts.SessionTimeout, h.cancelCall)
	forSessions := sdk
	forSessions.EventStore = h.sessions
	h.stateful = mcp.NewStreamableHTTPHandler(serverOf, &forSessions)
	sdk.Stateless = true
	sdk.PropagateRequestCancellation = true
	h.stateless = mcp.NewStreamableHTTPHandler(serverOf, &sdk)
	return h, nil
}

// Close ends every stream, call and session, and returns when all have stopped. Later requests are answered 503.
func (h *HTTPHandler) Close() {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.cancel()
	h.running.Wait()
	h.sessions.endAll()
}

func (h *HTTPHandler) enter() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return false
	}
	h.running.Add(1)
	return true
}

// ServeHTTP implements http.Handler.
func (h *HTTPHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !h.enter() {
		refuse(http.StatusServiceUnavailable, jsonrpc.CodeInternalError, "shutting down").write(w)
		return
	}
	defer h.running.Done()
	if ref := h.serve(w, r); ref != nil {
		ref.write(w)
	}
}

// serve answers the request, or returns the refusal to answer with.
func (h *HTTPHandler) serve(w http.ResponseWriter, r *http.Request) *refusal {
	if ref := h.guard.check(r); ref != nil {
		return ref
	}
	switch r.Method {
	case http.MethodPost, http.MethodGet, http.MethodDelete:
	default:
		w.Header().Set("Allow", "GET, POST, DELETE")
		return refuse(http.StatusMethodNotAllowed, jsonrpc.CodeInvalidRequest, "method not allowed")
	}
	body, ref := readBody(w, r, h.opts.MaxBody)
	if ref != nil {
		return ref
	}
	if c := parseOrdinary(body); c != nil {
		if c.ordinary(r.Header) && h.answer(w, r, c) {
			return nil
		}
	} else if h.answerMethod(w, r, body) {
		return nil
	}
	msg, ref := readMessage(r, body, h.ids)
	if ref != nil {
		return ref
	}
	if msg.stateless(r.Header.Get(headerVersion)) {
		return h.serveStateless(w, r, msg)
	}
	return h.serveStateful(w, r, msg)
}

// answer answers an ordinary call of a quick tool, and reports whether it is one. The answer is not a stream, and
// so not kept for a client that loses it: the tool takes no longer than a disk write.
func (h *HTTPHandler) answer(w http.ResponseWriter, r *http.Request, c *ordinaryCall) bool {
	var server *Server
	ending := h.ctx
	if c.modern {
		server, _ = h.server(r) // the SDK's path asks again and reports the error
	} else if s := h.sessions.acquire(r.Header.Get(headerSession), h.opts.Identity(r)); s != nil {
		defer h.sessions.release(s)
		server, ending = s.server, s.ctx
	}
	if server == nil {
		return false
	}
	tool := server.tool(c)
	if tool.run == nil || tool.waits {
		return false
	}
	ctx, cancel := joined(r.Context(), ending)
	defer cancel()
	a := tool.run(ctx, &c.Params)
	response := server.response(c, a)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-cache, no-transform")
	w.Header().Set("Content-Length", strconv.Itoa(len(response)))
	out, here := http.NewResponseController(w), ctx.Err() == nil
	_ = out.SetWriteDeadline(time.Now().Add(h.opts.WriteTimeout))
	_, err := w.Write(response) // a client that left needs no answer
	if err == nil && a.done != nil {
		err = out.Flush()
	}
	a.settle(here && err == nil)
	return true
}

func (h *HTTPHandler) serveStateless(w http.ResponseWriter, r *http.Request, msg message) *refusal {
	server, ref := h.newServer(r)
	if ref != nil {
		return ref.to(msg)
	}
	ctx, cancel := joined(withServer(r.Context(), server.Server), h.ctx)
	defer cancel()
	h.run(h.stateless, w, r.WithContext(ctx), exchange{cancel: cancel, patient: msg.isCall()})
	return nil
}

func (h *HTTPHandler) serveStateful(w http.ResponseWriter, r *http.Request, msg message) *refusal {
	id, owner := r.Header.Get(headerSession), h.opts.Identity(r)
	if id == "" {
		if msg.method != "initialize" || msg.batch {
			return refuse(http.StatusBadRequest, jsonrpc.CodeInvalidRequest,
				headerSession+" header is required: call initialize first, or use "+stateless).to(msg)
		}
		return h.initialize(w, r, msg, owner)
	}
	s := h.sessions.acquire(id, owner)
	if s == nil {
		// To another credential the session does not exist. 404 makes a client begin again (2025-11-25, Session
		// Management). The code is that of other SDKs.
		return refuse(http.StatusNotFound, codeSessionNotFound, "session not found: call initialize").to(msg)
	}
	defer h.sessions.release(s)
	if r.Method == http.MethodDelete {
		h.sessions.end(s)
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	if r.Method == http.MethodGet {
		h.sessions.listens(s)
	}
	ctx, cancel := joined(r.Context(), s.ctx)
	defer cancel()
	var c *sessionCall
	if msg.isCall() {
		c = newSessionCall(msg.id, cancel)
	} else if last := r.Header.Get("Last-Event-ID"); last != "" {
		c = h.sessions.resume(ctx, s, last, cancel)
	}
	r = r.WithContext(withCall(ctx, c))
	h.run(h.stateful, w, r, exchange{cancel: cancel, patient: c != nil})
	if c != nil {
		h.sessions.detach(s, c, ctx.Err() != nil)
	}
	return nil
}

// initialize opens a session. The exchange outlives its client and even Close, which waits for it: if it were cut
// short between the SDK's opening of the session and our hearing of it, nothing would ever end that session.
func (h *HTTPHandler) initialize(w http.ResponseWriter, r *http.Request, msg message, owner string) *refusal {
	server, ref := h.newServer(r)
	if ref != nil {
		return ref.to(msg)
	}
	admitted, done := h.sessions.admit(owner)
	defer done()
	if !admitted {
		return refuse(http.StatusTooManyRequests, jsonrpc.CodeInvalidRequest,
			fmt.Sprintf("too many sessions of this credential (%d): close some", maxSessions)).to(msg)
	}
	ctx := withServer(context.WithoutCancel(r.Context()), server.Server)
	var s *session
	h.run(h.stateful, w, r.WithContext(ctx), exchange{
		cancel: func() {},
		begin: func(header http.Header) {
			if id := header.Get(headerSession); id != "" {
				s = h.sessions.open(ctx, id, owner, server)
			}
		},
	})
	if s != nil {
		h.sessions.release(s)
	}
	return nil
}

// run makes the SDK answer r through a stream.
func (h *HTTPHandler) run(sdk http.Handler, w http.ResponseWriter, r *http.Request, x exchange) {
	x.ctx, x.ids, x.keepAlive, x.timeout = r.Context(), h.ids, h.opts.KeepAlive, h.opts.WriteTimeout
	s := newStream(w, x)
	defer s.end()
	sdk.ServeHTTP(s, r)
	if why := life.Err(r.Context()); why != nil {
		s.refuse(why)
	}
}

// cancelCall cancels a call of a session that no request waits for; for an answered call it does nothing. Only the
// client's own notification reaches the SDK's context of a call, so we send that notification in its name.
func (h *HTTPHandler) cancelCall(session string, call json.RawMessage) {
	body := fmt.Sprintf(
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s,"reason":"connection closed"}}`,
		h.ids.inside(call))
	r, err := http.NewRequest(http.MethodPost, "/", bytes.NewReader([]byte(body)))
	if err != nil {
		return // the arguments are constants
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set(headerSession, session)
	h.stateful.ServeHTTP(discard{}, r)
}

// discard is the ResponseWriter of a request that no client sent.
type discard struct{}

func (discard) Header() http.Header         { return http.Header{} }
func (discard) WriteHeader(int)             {}
func (discard) Write(p []byte) (int, error) { return len(p), nil }

// newServer returns the server for a request or a new session.
func (h *HTTPHandler) newServer(r *http.Request) (*Server, *refusal) {
	server, err := h.server(r)
	var told *HTTPError
	switch {
	case errors.As(err, &told):
		return nil, refuse(told.Status, jsonrpc.CodeInvalidRequest, told.Msg)
	case err != nil || server == nil:
		if h.opts.Logger != nil {
			h.opts.Logger.Error("no mcp server for request", "path", r.URL.Path, "error", err)
		}
		return nil, refuse(http.StatusInternalServerError, jsonrpc.CodeInternalError, "internal error")
	}
	return server, nil
}

type serverKey struct{}

func withServer(ctx context.Context, s *mcp.Server) context.Context {
	return context.WithValue(ctx, serverKey{}, s)
}

// serverOf gives the SDK its server. The SDK asks at least twice for each request, even for one with a session id,
// whose server was chosen long ago.
func serverOf(r *http.Request) *mcp.Server {
	s, _ := r.Context().Value(serverKey{}).(*mcp.Server)
	return s
}

// joined returns ctx, also done when other is. The caller must cancel it.
func joined(ctx, other context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(other, cancel)
	return ctx, func() { stop(); cancel() }
}
