package model

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// pingPause is the interval of the signs of life to a client that waits for a stream.
const pingPause = 500 * time.Millisecond

// Server is a scripted model. Its methods may be called at any time.
type Server struct {
	URL string // without a path or a final slash
	dir string // directory for the requests; "": none
	web *http.Server

	mu       sync.Mutex
	requests []*Request
	changed  chan struct{}   // closed when a request arrives or ends
	broken   map[string]bool // scripts for which a client did not wait
	holds    map[string]chan struct{}
}

// Start starts a model on a free port of loopback. It writes each request to a file in dir, for people to read; ""
// means no files.
func Start(dir string) (*Server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &Server{
		URL: "http://" + l.Addr().String(), dir: dir,
		changed: make(chan struct{}), broken: map[string]bool{}, holds: map[string]chan struct{}{},
	}
	s.web = &http.Server{Handler: s, ReadHeaderTimeout: time.Minute}
	go s.web.Serve(l) // until Close
	return s, nil
}

// Close ends the server and its answers.
func (s *Server) Close() error { return s.web.Close() }

// Release ends [[hold NAME]], now and later.
func (s *Server) Release(name string) {
	hold := s.hold(name)
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-hold:
	default:
		close(hold)
	}
}

func (s *Server) hold(name string) chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.holds[name] == nil {
		s.holds[name] = make(chan struct{})
	}
	return s.holds[name]
}

// Requests returns the requests so far, in order of arrival.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requestsLocked()
}

func (s *Server) requestsLocked() []Request {
	out := make([]Request, len(s.requests))
	for i, r := range s.requests {
		out[i] = *r
	}
	return out
}

// Wait returns the first request that fits, which may have arrived already.
func (s *Server) Wait(ctx context.Context, fits func(*Request) bool) (Request, error) {
	for {
		s.mu.Lock()
		all, changed := s.requestsLocked(), s.changed
		s.mu.Unlock()
		for i := range all {
			if fits(&all[i]) {
				return all[i], nil
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return Request{}, fmt.Errorf("none of %d requests of the model: %w", len(all), ctx.Err())
		}
	}
}

// api is the request and answer format of one protocol.
type api struct {
	// read fills in the conversation and the tools.
	read func(r *Request) error
	// whole and stream answer with a text or a call. A stream begins before the answer is known: it calls wait, which
	// reports whether the client is still there and meanwhile calls ping.
	whole  func(r *Request, say string, c *call) any
	stream func(r *Request, event func(name string, v any), wait func(ping func()) bool, say string, c *call)
}

// find returns the protocol of a path, and whether to stream the answer.
func find(path string, body []byte) (api, bool) {
	var b struct {
		Stream bool `json:"stream"`
	}
	_ = json.Unmarshal(body, &b) // read refuses malformed JSON
	switch {
	case strings.HasSuffix(path, "/messages"):
		return anthropic(), b.Stream
	case strings.HasSuffix(path, "/responses"):
		return responses(), b.Stream
	case strings.HasSuffix(path, "/chat/completions"):
		return chat(), b.Stream
	case strings.HasSuffix(path, ":generateContent"):
		return gemini(), false
	case strings.HasSuffix(path, ":streamGenerateContent"):
		return gemini(), true
	}
	return api{}, false
}

// ServeHTTP answers a client.
func (s *Server) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body, err := io.ReadAll(q.Body)
	if err != nil {
		return
	}
	path := q.URL.Path
	switch {
	case strings.HasSuffix(path, "/models") && q.Method == http.MethodGet:
		reply(w, http.StatusOK, models())
		return
	case strings.HasSuffix(path, "/count_tokens"):
		reply(w, http.StatusOK, map[string]int{"input_tokens": len(body)/4 + 1})
		return
	case strings.HasSuffix(path, ":countTokens"):
		reply(w, http.StatusOK, map[string]int{"totalTokens": len(body)/4 + 1})
		return
	}
	a, stream := find(path, body)
	r := &Request{At: time.Now(), Path: q.URL.RequestURI(), Header: q.Header.Clone(), Body: body}
	if a.read == nil || a.read(r) != nil {
		r.Answer = "not found"
		s.note(r)
		reply(w, http.StatusNotFound, problem("the scripted model has no "+path))
		return
	}
	s.answer(w, q, r, a, stream)
}

func (s *Server) answer(w http.ResponseWriter, q *http.Request, r *Request, a api, stream bool) {
	now, script := step{verb: "say", arg: sideAnswer(r.Body)}, ""
	if len(r.Tools) > 0 { // a request without tools is for a title or a summary
		s.mu.Lock()
		now, script = r.next(s.broken)
		s.mu.Unlock()
	}
	c := r.calls(now)
	r.Answer = now.verb + " " + now.arg
	if c != nil {
		r.Answer = "call " + c.name + " " + string(c.input)
	}
	s.note(r)
	wait := func(ping func()) bool {
		if s.wait(q.Context(), now, ping) {
			return true
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.broken[script] = true
		for _, kept := range s.requests {
			kept.HungUp = kept.HungUp || kept.N == r.N
		}
		s.changedLocked()
		return false
	}
	if now.verb == "fail" || !stream {
		if !wait(func() {}) {
			return
		}
		if now.verb == "fail" {
			var status int
			fmt.Sscan(now.arg, &status)
			reply(w, max(status, http.StatusBadRequest), problem("scripted failure"))
			return
		}
		reply(w, http.StatusOK, a.whole(r, now.arg, c))
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	flush := http.NewResponseController(w)
	a.stream(r, func(name string, v any) {
		if name != "" {
			fmt.Fprintf(w, "event: %s\n", name)
		}
		text, ok := v.(string)
		if !ok {
			text = string(mustJSON(v))
		}
		fmt.Fprintf(w, "data: %s\n\n", text)
		flush.Flush() // wait notices that a client is gone
	}, wait, now.arg, c)
}

// wait waits for the delays of a step, and reports whether the client waited too.
func (s *Server) wait(ctx context.Context, now step, ping func()) bool {
	ticker := time.NewTicker(pingPause)
	defer ticker.Stop()
	passed := func(c <-chan struct{}) bool {
		for {
			select {
			case <-c:
				return true
			case <-ctx.Done():
				return false
			case <-ticker.C:
				ping()
			}
		}
	}
	if now.delay > 0 {
		over, stop := context.WithTimeout(context.Background(), now.delay)
		defer stop()
		if !passed(over.Done()) {
			return false
		}
	}
	for _, name := range now.holds {
		if !passed(s.hold(name)) {
			return false
		}
	}
	return ctx.Err() == nil
}

// note records a request.
func (s *Server) note(r *Request) {
	s.mu.Lock()
	r.N = len(s.requests) + 1
	kept := *r
	s.requests = append(s.requests, &kept)
	s.changedLocked()
	s.mu.Unlock()
	if s.dir == "" {
		return
	}
	text, _ := json.MarshalIndent(kept, "", " ")
	_ = os.WriteFile(filepath.Join(s.dir, fmt.Sprintf("%04d.json", r.N)), text, 0o600) // only an aid
}

func (s *Server) changedLocked() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// sideAnswer answers a request without tools. If the request asks for JSON, the answer has the values that the
// clients' small questions accept.
func sideAnswer(body []byte) string {
	if text := string(body); strings.Contains(text, `"responseMimeType":"application/json"`) ||
		strings.Contains(text, `"response_format"`) {
		return `{"model_choice":"flash","complexity_score":1,"complexity_reasoning":"x","reasoning":"x",` +
			`"next_speaker":"user","title":"a title"}`
	}
	return "ok"
}

// models is the list of models in the shapes of all protocols.
func models() any {
	one := map[string]any{"id": "scripted", "object": "model", "created": 0, "owned_by": "scripted", "type": "model",
		"display_name": "scripted", "name": "models/scripted"}
	return map[string]any{"object": "list", "data": []any{one}, "models": []any{}, "has_more": false}
}

// problem is an error in the shapes of all protocols.
func problem(text string) any {
	return map[string]any{"type": "error", "error": map[string]any{"type": "invalid_request_error", "message": text,
		"code": http.StatusBadRequest, "status": "INVALID_ARGUMENT"}}
}

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(mustJSON(v)) // a client that is gone needs no answer
}
