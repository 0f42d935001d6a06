package mcpserver

import (
	"context"
	"encoding/json"
	"mime"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"pennypost/internal/base/jsonx"
)

// A Server is a server of the SDK that answers some calls without it. The SDK decodes a call up to eight times,
// each time through a buffer of 64 kB, which takes ten times as long as most tools do. So an ordinary call of a
// quick tool goes straight to the tool; the SDK knows every tool and answers all other calls.
type Server struct {
	*mcp.Server
	modern    bool   // the stateless era is served
	signature string // ends a result of the stateless era, in which the server signs each
	forward   Forward

	mu    sync.RWMutex
	tools map[string]served // guarded by mu: Beside may add to it while the server serves

	methods map[string]method // not the SDK's; set before the server serves
}

// served is a tool in runnable form, for calls through the SDK or without it.
type served struct {
	run   toolFunc
	waits bool // takes long: over HTTP the SDK runs it, which can send other messages meanwhile
}

// Forward carries a call, which is one line, to a process that can run its tool directly; waits says that the tool
// waits for an event. It calls answered once, with the response on one line, or with an error if there is none; in
// that case the call runs here, under the same key.
type Forward func(ctx context.Context, waits bool, key string, call []byte, answered func(response []byte, err error))

// newServer returns a server without tools. opts must not be nil.
func newServer(is *mcp.Implementation, opts *mcp.ServerOptions) *Server {
	s := &Server{Server: mcp.NewServer(is, opts), tools: make(map[string]served), signature: signature(is)}
	s.modern = opts.SupportedProtocolVersions == nil || slices.Contains(opts.SupportedProtocolVersions, stateless)
	return s
}

func signature(is *mcp.Implementation) string {
	name, _ := json.Marshal(is) // strings
	return `,"resultType":"complete","_meta":{"` + mcp.MetaKeyServerInfo + `":` + string(name) + `}`
}

// A toolFunc runs a tool that asks nothing of its client and answers with text alone. A tool that does not wait
// takes no longer than a room takes to answer, and reports no progress.
type toolFunc func(ctx context.Context, c *toolCall) toolAnswer

// add registers a tool with the SDK, and answers ordinary calls of it without the SDK.
func (s *Server) add(t *mcp.Tool, as served) {
	s.mu.Lock()
	s.tools[t.Name] = as
	s.mu.Unlock()
	s.AddTool(t, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		p := req.Params
		a := as.run(ctx, &toolCall{Name: p.Name, Arguments: jsonx.Value(p.Arguments), Meta: p.Meta,
			notify: func(p *mcp.ProgressNotificationParams) error { return req.Session.NotifyProgress(ctx, p) }})
		a.settle(ctx.Err() == nil) // the SDK does not report whether the answer arrived
		return a.result(), nil
	})
}

// A toolCall is the params of a tools/call.
type toolCall struct {
	Name      string         `json:"name"`
	Arguments jsonx.Value    `json:"arguments"`
	Meta      map[string]any `json:"_meta"`

	// idempotency key made for the call, which may arrive twice; "": it arrives once
	key string

	notify func(*mcp.ProgressNotificationParams) error // reports progress to the client; nil: someone else does
}

// An ordinaryCall is a tools/call in exactly the protocol's standard form.
type ordinaryCall struct {
	Version string      `json:"jsonrpc"`
	ID      jsonx.Value `json:"id"`
	Method  string      `json:"method"`
	Params  toolCall    `json:"params"`

	modern bool // of the stateless era
}

// parseOrdinary returns the call in body, or nil if it has anything that an ordinary call does not have.
func parseOrdinary(body []byte) *ordinaryCall {
	c := &ordinaryCall{}
	if err := jsonx.UnmarshalStrict(body, c); err != nil || c.Version != "2.0" || c.Method != "tools/call" ||
		len(c.ID) == 0 || !isID(json.RawMessage(c.ID)) {
		return nil
	}
	version, isVersion := c.Params.Meta[mcp.MetaKeyProtocolVersion]
	if c.modern = isVersion; c.modern && (version != stateless || !saysClient(c.Params.Meta)) {
		return nil
	}
	return c
}

// saysClient reports whether a request of the stateless era names its client's capabilities, and gives its client
// info, if any, as an object. No quick tool needs either.
func saysClient(meta map[string]any) bool {
	_, able := meta[mcp.MetaKeyClientCapabilities].(map[string]any)
	info, named := meta[mcp.MetaKeyClientInfo]
	_, is := info.(map[string]any)
	return able && (is || !named)
}

// ordinary reports whether the header of a POST is one that a client library sends for the call, in the call's era.
func (c *ordinaryCall) ordinary(h http.Header) bool {
	kind, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	accept := strings.Join(h["Accept"], ",")
	if err != nil || kind != "application/json" || !strings.Contains(accept, "application/json") ||
		!strings.Contains(accept, "text/event-stream") || h.Get("Last-Event-ID") != "" {
		return false
	}
	version := h.Get(headerVersion)
	if !c.modern {
		return version == "" || version < stateless && slices.Contains(mcp.SupportedProtocolVersions(), version)
	}
	return version == stateless && h.Get("Mcp-Method") == c.Method && h.Get("Mcp-Name") == c.Params.Name
}

// tool returns the tool that c calls; its run is nil if no tool of that name is served without the SDK.
func (s *Server) tool(c *ordinaryCall) served {
	if c.modern && !s.modern {
		return served{}
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.tools[c.Params.Name]
}

// response returns the response to c, on one line.
func (s *Server) response(c *ordinaryCall, a toolAnswer) []byte {
	out := make([]byte, 0, len(a.text)+len(a.text)/8+len(c.ID)+len(s.signature)+100)
	out = append(append(out, `{"jsonrpc":"2.0","id":`...), c.ID...)
	out = append(out, `,"result":{"content":[{"type":"text","text":`...)
	out = append(jsonx.AppendQuote(out, a.text), `}]`...)
	if a.failed {
		out = append(out, `,"isError":true`...)
	}
	if c.modern {
		out = append(out, s.signature...)
	}
	return append(out, `}}`...)
}
