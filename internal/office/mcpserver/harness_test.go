package mcpserver

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Most tests run in a synctest bubble on in-memory connections. There time is fake, so the tests use the real
// timeouts; a connection has no buffer, so a client that does not read stalls its writer immediately; and a goroutine
// that outlives the test fails it.

const testURI = "mailbox://test/agent"

// A pipeListener accepts in-memory connections.
type pipeListener struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newPipeListener() *pipeListener {
	return &pipeListener{conns: make(chan net.Conn), done: make(chan struct{})}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

func (l *pipeListener) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "unix"} }

func (l *pipeListener) dial(context.Context, string, string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case l.conns <- server:
		return client, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

// An office is an MCP server with an HTTPHandler, and a record of its tools' calls.
type office struct {
	*pipeListener
	server  *Server
	handler *HTTPHandler
	begun   chan struct{} // one per call of wait
	ended   chan error    // why its context ended
}

type callerKey struct{}

// identity is the test's authentication: the bearer token is the name.
func identity(r *http.Request) string {
	return strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
}

// newOffice returns an office with tools, not served yet.
func newOffice() *office {
	o := &office{begun: make(chan struct{}, 8), ended: make(chan error, 8)}
	nop := func(context.Context, *mcp.UnsubscribeRequest) error { return nil }
	o.server = newServer(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ServerOptions{
		SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
		UnsubscribeHandler: nop,
	})
	// Without a resource the SDK announces no resource capability, and ends every subscriptions/listen immediately.
	o.server.AddResourceTemplate(&mcp.ResourceTemplate{Name: "mailbox", URITemplate: "mailbox://{room}/{agent}"}, nil)
	o.server.addQuick(emptyTool("whoami"), func(ctx context.Context, _ *toolCall) toolAnswer {
		return toolAnswer{text: fmt.Sprint(ctx.Value(callerKey{}))}
	})
	o.tool("wait", func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if token := req.Params.GetProgressToken(); token != nil {
			err := req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: 1})
			if err != nil {
				return nil, err
			}
		}
		o.begun <- struct{}{}
		<-ctx.Done()
		o.ended <- ctx.Err()
		return nil, ctx.Err()
	})
	return o
}

func (o *office) tool(name string, h mcp.ToolHandler) {
	o.server.AddTool(emptyTool(name), h)
}

func emptyTool(name string) *mcp.Tool {
	return &mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)}
}

func (o *office) update(t *testing.T) {
	t.Helper()
	if err := o.server.ResourceUpdated(t.Context(), &mcp.ResourceUpdatedNotificationParams{URI: testURI}); err != nil {
		t.Errorf("ResourceUpdated: %v", err)
	}
}

// openOffice serves an office over HTTP until the test ends.
func openOffice(t *testing.T, opts HTTPOptions, web *http.Server) *office {
	t.Helper()
	o := newOffice()
	o.pipeListener = newPipeListener()
	opts.Identity = identity
	h, err := NewHTTPHandler(func(*http.Request) (*Server, error) { return o.server, nil }, opts)
	if err != nil {
		t.Fatal(err)
	}
	o.handler = h
	web.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), callerKey{}, identity(r))))
	})
	served := make(chan error, 1)
	go func() { served <- web.Serve(o) }()
	t.Cleanup(func() {
		h.Close()
		web.Close()
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("Serve = %v, want %v", err, http.ErrServerClosed)
		}
	})
	return o
}

// A bearer sends a token with every request.
type bearer struct {
	token string
	*http.Transport
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return b.Transport.RoundTrip(r)
}

// client returns an HTTP client that reaches the office with a token.
func (o *office) client(t *testing.T, token string) *http.Client {
	tr := &http.Transport{DialContext: o.dial}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: bearer{token, tr}}
}

// An inbox records the notifications of a client.
type inbox struct {
	updates  chan string
	progress chan float64
}

// connect opens a client session of the revision, which ends with the test.
func connect(t *testing.T, tr mcp.Transport, revision string) (*mcp.ClientSession, *inbox) {
	t.Helper()
	in := &inbox{updates: make(chan string, 64), progress: make(chan float64, 8)}
	c := mcp.NewClient(&mcp.Implementation{Name: "test-client", Version: "1"}, &mcp.ClientOptions{
		ResourceUpdatedHandler: func(_ context.Context, req *mcp.ResourceUpdatedNotificationRequest) {
			in.updates <- req.Params.URI
		},
		ProgressNotificationHandler: func(_ context.Context, req *mcp.ProgressNotificationClientRequest) {
			in.progress <- req.Params.Progress
		},
	})
	cs, err := c.Connect(t.Context(), tr, &mcp.ClientSessionOptions{ProtocolVersion: revision})
	if err != nil {
		t.Fatalf("connecting in %s: %v", revision, err)
	}
	t.Cleanup(func() { cs.Close() })
	if got := cs.InitializeResult().ProtocolVersion; got != revision {
		t.Fatalf("negotiated %s, want %s", got, revision)
	}
	return cs, in
}

func (o *office) connect(t *testing.T, token, revision string) (*mcp.ClientSession, *inbox) {
	t.Helper()
	return connect(t, &mcp.StreamableClientTransport{Endpoint: "http://office/mcp", HTTPClient: o.client(t, token)},
		revision)
}

// A reply is the response to a raw request.
type reply struct {
	Status  int
	Header  http.Header
	Body    string
	ID      json.RawMessage `json:"id"`
	Version string          `json:"jsonrpc"`
	Error   struct {
		Code    int
		Message string
	}
}

// newRequest makes a raw MCP request. Headers come in pairs.
func newRequest(t *testing.T, method, url, body string, headers ...string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return r
}

// do sends a raw request and reads the whole reply.
func do(t *testing.T, c *http.Client, r *http.Request) reply {
	t.Helper()
	resp, err := c.Do(r)
	if err != nil {
		t.Fatalf("%s: %v", r.Method, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("%s: reading reply: %v", r.Method, err)
	}
	got := reply{Status: resp.StatusCode, Header: resp.Header, Body: string(body)}
	if resp.Header.Get("Content-Type") == "application/json" {
		if err := json.Unmarshal(body, &got); err != nil {
			t.Fatalf("%s: reply %q: %v", r.Method, body, err)
		}
	}
	return got
}

const initializeBody = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`

// initialize opens a session with raw requests and returns its id.
func initialize(t *testing.T, c *http.Client) string {
	t.Helper()
	got := do(t, c, newRequest(t, "POST", "http://office/mcp", initializeBody))
	id := got.Header.Get(headerSession)
	if got.Status != http.StatusOK || id == "" {
		t.Fatalf("initialize = %d %q, session %q", got.Status, got.Body, id)
	}
	return id
}

// rawCall is the body of a tools/call.
func rawCall(id int, tool string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":{}}}`, id, tool)
}

// modernMeta is the _meta that 2026-07-28 demands of every request.
const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

func modernCall(id int, tool string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":{},%s}}`, id,
		tool, modernMeta)
}

// nextLine reads lines until one has the prefix.
func nextLine(t *testing.T, r *bufio.Reader, prefix string) string {
	t.Helper()
	for {
		s, err := r.ReadString('\n')
		if err != nil {
			t.Fatalf("reading for %q: %v", prefix, err)
		}
		if strings.HasPrefix(s, prefix) {
			return strings.TrimSpace(s)
		}
	}
}

// next receives from c, or fails the test after an hour of the bubble's time: because of keep-alives, synctest does
// not see the deadlock.
func next[T any](t *testing.T, c <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(time.Hour):
		t.Fatalf("no %s", what)
		panic("unreachable")
	}
}

func promptParams(name string, args map[string]string) *mcp.GetPromptParams {
	return &mcp.GetPromptParams{Name: name, Arguments: args}
}

func resourceParams(uri string) *mcp.ReadResourceParams { return &mcp.ReadResourceParams{URI: uri} }

// addQuick adds a tool that does not wait.
func (s *Server) addQuick(t *mcp.Tool, run toolFunc) { s.add(t, served{run: run}) }
