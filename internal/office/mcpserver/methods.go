package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/fence"
)

// A method answers requests that the SDK does not know. Its result is a JSON object.
type method func(ctx context.Context, r *methodCall) (result any, err error)

// A methodCall is a request for a method.
type methodCall struct {
	Version string         `json:"jsonrpc"`
	ID      jsonx.Value    `json:"id"`
	Method  string         `json:"method"`
	Params  jsonx.Value    `json:"params"`
	Meta    map[string]any `json:"-"`

	modern bool // of the stateless era
	// notify sends a notification of the call, whose params are a JSON object, before the answer.
	notify func(name string, params any) error
}

// parseMethod returns the request in body if it is for a method outside the SDK, else nil.
func parseMethod(body []byte) *methodCall {
	r := &methodCall{}
	if err := jsonx.Unmarshal(body, r); err != nil || r.Version != "2.0" || !strings.HasPrefix(r.Method, "events/") ||
		len(r.ID) == 0 || !isID(json.RawMessage(r.ID)) {
		return nil
	}
	var params struct {
		Meta map[string]any `json:"_meta"`
	}
	if len(r.Params) > 0 && jsonx.Unmarshal(r.Params, &params) != nil {
		return nil
	}
	r.Meta = params.Meta
	version, isVersion := r.Meta[mcp.MetaKeyProtocolVersion]
	if r.modern = isVersion; r.modern && (version != stateless || !saysClient(r.Meta)) {
		return nil // the SDK reports the error
	}
	return r
}

// method returns the method that answers a request, or nil if the SDK does.
func (s *Server) method(r *methodCall) method {
	if r.modern && !s.modern {
		return nil
	}
	return s.methods[r.Method]
}

// respond is the response of a method, on one line.
func (s *Server) respond(r *methodCall, result any, err error) []byte {
	out := append([]byte(`{"jsonrpc":"2.0","id":`), r.ID...)
	text, told := "", error(nil)
	if err == nil {
		text, told = fence.JSON(result)
	}
	if err == nil && told == nil && len(text) > 1 {
		out = append(append(out, `,"result":`...), text[:len(text)-1]...)
		if r.modern && len(text) > 2 {
			out = append(out, s.signature...)
		} else if r.modern {
			out = append(out, s.signature[1:]...)
		}
		return append(out, `}}`...)
	}
	wrong := &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "internal error"}
	errors.As(err, &wrong)
	text, told = fence.JSON(wrong)
	if told != nil {
		text = `{"code":-32603,"message":"internal error"}`
	}
	return append(append(append(out, `,"error":`...), text...), '}')
}

// note returns a notification of the call, on one line. It names the call, so that a client can tell several apart.
func (r *methodCall) note(name string, params any) ([]byte, error) {
	text, err := fence.JSON(params)
	if err != nil {
		return nil, err
	}
	out := append([]byte(`{"jsonrpc":"2.0","method":"`+name+`","params":`), text[:len(text)-1]...)
	if len(text) > 2 {
		out = append(out, ',')
	}
	out = append(out, `"_meta":{"`+mcp.MetaKeySubscriptionID+`":`...)
	return append(append(out, r.ID...), `}}}`...), nil
}

// answerMethod answers a request for a method outside the SDK, and reports whether it is one.
func (h *HTTPHandler) answerMethod(w http.ResponseWriter, r *http.Request, body []byte) bool {
	call := parseMethod(body)
	if call == nil || call.modern != (r.Header.Get(headerVersion) == stateless) ||
		call.modern && r.Header.Get("Mcp-Method") != call.Method {
		return false
	}
	var server *Server
	ending := h.ctx
	if call.modern {
		server, _ = h.server(r) // the SDK's path asks again and reports the error
	} else if s := h.sessions.acquire(r.Header.Get(headerSession), h.opts.Identity(r)); s != nil {
		defer h.sessions.release(s)
		server, ending = s.server, s.ctx
	}
	if server == nil || server.method(call) == nil {
		return false
	}
	ctx, cancel := joined(r.Context(), ending)
	defer cancel()
	s := newStream(w, exchange{ctx: ctx, ids: h.ids, cancel: cancel, patient: true, keepAlive: h.opts.KeepAlive,
		timeout: h.opts.WriteTimeout})
	defer s.end()
	call.notify = func(name string, params any) error {
		line, err := call.note(name, params)
		if err != nil {
			return err
		}
		return s.event(line)
	}
	result, err := server.method(call)(ctx, call)
	s.answer(server.respond(call, result, err))
	return true
}

// event sends a message as one event, and makes the response an event stream.
func (s *stream) event(line []byte) error {
	s.mu.Lock()
	if !s.begun && !s.ended {
		s.beginLocked(http.StatusOK, http.Header{"Content-Type": {"text/event-stream"},
			"Cache-Control": {"no-cache, no-transform"}})
	}
	s.mu.Unlock()
	if _, err := s.Write(append(append([]byte("event: message\ndata: "), line...), "\n\n"...)); err != nil {
		return err
	}
	return s.FlushError()
}

// answer sends the response, the last message.
func (s *stream) answer(line []byte) {
	s.mu.Lock()
	begun := s.begun
	if !begun && !s.ended {
		s.beginLocked(http.StatusOK, http.Header{"Content-Type": {"application/json"},
			"Cache-Control": {"no-cache, no-transform"}})
	}
	s.mu.Unlock()
	if begun {
		_ = s.event(line) // a client that left needs no answer
		return
	}
	_, _ = s.Write(line)
}

// callMethod starts a request for a method outside the SDK, and reports whether text is one.
func (c *stdioConn) callMethod(text []byte) bool {
	call := parseMethod(text)
	if call == nil || c.server.method(call) == nil {
		return false
	}
	if c.crowded() {
		_ = c.tooMany(json.RawMessage(call.ID))
		return true
	}
	id := string(call.ID)
	ctx, cancel := c.beginQuick(id, call.modern)
	if ctx == nil {
		return false // the SDK reports the error
	}
	call.notify = func(name string, params any) error {
		line, err := call.note(name, params)
		if err != nil {
			return err
		}
		return c.writeLine(line)
	}
	go func() {
		defer c.running.Done()
		defer cancel()
		result, err := c.server.method(call)(ctx, call)
		c.answerQuick(id, c.server.respond(call, result, err))
	}()
	return true
}
