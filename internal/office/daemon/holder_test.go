package daemon

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/wire"
)

// holder is a client with a credential, or a process that the Unix socket knows.
type holder struct {
	http    http.Client
	base    string
	dial    func(context.Context) (net.Conn, error) // of the same post office
	sign    func(http.Header)
	machine *machine  // the machine through which it comes; nil: this one
	got     time.Time // when it got its credential
	process bool      // it has no credential, and is known as a process of this user
}

// holderAt returns a holder at an address.
func holderAt(t *testing.T, base string, sign func(http.Header)) *holder {
	t.Helper()
	at, err := url.Parse(base)
	must(t, err)
	host := net.JoinHostPort("127.0.0.1", at.Port())
	dial := func(ctx context.Context) (net.Conn, error) { return new(net.Dialer).DialContext(ctx, "tcp", host) }
	if at.Scheme == "https" {
		conf := &tls.Config{InsecureSkipVerify: true}
		dial = func(ctx context.Context) (net.Conn, error) {
			return (&tls.Dialer{Config: conf}).DialContext(ctx, "tcp", host)
		}
	}
	return &holder{base: base, dial: dial, sign: sign, got: time.Now()}
}

func (h *holder) request(ctx context.Context, method, path, body string, header map[string]string) *http.Request {
	req, err := http.NewRequestWithContext(ctx, method, h.base+path, strings.NewReader(body))
	if err != nil {
		panic(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", wire.JSON)
		req.Header.Set("Accept", "application/json, text/event-stream")
	}
	for k, v := range header {
		req.Header.Set(k, v)
	}
	h.sign(req.Header)
	return req
}

// held is a stream or a wait, and its output so far.
type held struct {
	route string
	ended chan struct{}

	mu     sync.Mutex
	status int
	text   strings.Builder
}

func (s *held) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *held) came() (int, string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.status, s.text.String()
}

// hold makes a request and collects the output until it ends.
func (h *holder) hold(t *testing.T, method, path, body string, header map[string]string) *held {
	s := &held{route: path, ended: make(chan struct{})}
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(func() { cancel(); <-s.ended })
	req := h.request(ctx, method, path, body, header)
	go func() {
		defer close(s.ended)
		resp, err := h.http.Do(req)
		if err != nil {
			fmt.Fprint(s, err)
			return
		}
		defer resp.Body.Close()
		s.mu.Lock()
		s.status = resp.StatusCode
		s.mu.Unlock()
		_, _ = io.Copy(s, resp.Body)
	}()
	return s
}

// once makes a request that is answered immediately.
func (h *holder) once(t *testing.T, method, path, body string, header map[string]string) (int, string, http.Header) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	resp, err := h.http.Do(h.request(ctx, method, path, body, header))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body) // an endless stream is no error here
	return resp.StatusCode, string(text), resp.Header
}

// upgrade makes a connection speak another protocol, and says something in it. If that is refused, the output is the
// answer.
func (h *holder) upgrade(t *testing.T, path, protocol, say string) *held {
	t.Helper()
	s := &held{route: path, ended: make(chan struct{})}
	conn, err := h.dial(t.Context())
	must(t, err)
	req := h.request(t.Context(), http.MethodGet, path, "", map[string]string{"Connection": "Upgrade",
		"Upgrade": protocol})
	must(t, req.Write(conn))
	in := bufio.NewReader(conn)
	resp, err := http.ReadResponse(in, req)
	must(t, err)
	s.status = resp.StatusCode
	if resp.StatusCode != http.StatusSwitchingProtocols {
		_, _ = io.Copy(s, resp.Body)
		conn.Close()
		close(s.ended)
		return s
	}
	_, err = io.WriteString(conn, say)
	must(t, err)
	t.Cleanup(func() { conn.Close(); <-s.ended })
	go func() {
		defer close(s.ended)
		_, _ = io.Copy(s, in)
	}()
	return s
}

// refusedAt is a stream that was never opened.
func refusedAt(route string) *held {
	s := &held{route: route, ended: make(chan struct{}), status: http.StatusForbidden}
	close(s.ended)
	return s
}

// inMCP opens a session of MCP and calls do with the headers of its requests. If it gets none, the output is the
// reason.
func (h *holder) inMCP(t *testing.T, path string, do func(in map[string]string) *held) *held {
	t.Helper()
	const version = "2025-11-25"
	status, text, header := h.once(
		t,
		http.MethodPost,
		path,
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{`+
			`"protocolVersion":"`+version+`","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`,
		nil,
	)
	in := map[string]string{"Mcp-Session-Id": header.Get("Mcp-Session-Id"), "Mcp-Protocol-Version": version}
	if in["Mcp-Session-Id"] == "" {
		s := refusedAt(path)
		s.status = status
		_, _ = io.WriteString(s, text)
		return s
	}
	h.once(t, http.MethodPost, path, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, in)
	return do(in)
}

// unix returns a holder at the Unix socket.
func (r *running) unix(t *testing.T, sign func(http.Header)) *holder {
	dial := func(ctx context.Context) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", r.place.Socket)
	}
	tr := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) }}
	t.Cleanup(tr.CloseIdleConnections)
	return &holder{http: http.Client{Transport: tr}, base: "http://localhost", dial: dial, sign: sign}
}

func bearing(token string) func(http.Header) {
	return func(h http.Header) { h.Set("Authorization", "Bearer "+token) }
}

func asAgent(name mail.Name) func(http.Header) { return func(h http.Header) { wire.SetAgent(h, name) } }

// soon is the time within which a stream must end, with a margin for a busy machine.
const soon = 20 * time.Second

// over expects a stream to end soon, without any part of a later letter.
func (s *held) over(t *testing.T, later string) {
	t.Helper()
	select {
	case <-s.ended:
	case <-time.After(soon):
		t.Errorf("it goes on after %v", soon)
	}
	if _, text := s.came(); strings.Contains(text, later) {
		t.Errorf("a later letter passed: %s", text)
	}
}
