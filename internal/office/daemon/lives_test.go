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
	"pennypost/internal/wire/client"
)

// holder is somebody with a credential, or a process that the Unix socket knows.
type holder struct {
	http http.Client
	base string
	dial func(context.Context) (net.Conn, error) // of the same post office
	sign func(http.Header)
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

// held is a stream or a wait, and what has come of it so far.
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

// hold makes a request and takes in what comes until it ends.
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

// once makes a request that is answered at once.
func (h *holder) once(t *testing.T, method, path, body string, header map[string]string) (int, string, http.Header) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	resp, err := h.http.Do(h.request(ctx, method, path, body, header))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body) // a stream that does not end is no error here
	return resp.StatusCode, string(text), resp.Header
}

// upgrade has a connection speak another protocol, in which it says something.
func (h *holder) upgrade(t *testing.T, path, protocol, say string) *held {
	t.Helper()
	s := &held{route: path, ended: make(chan struct{})}
	conn, err := h.dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	req := h.request(t.Context(), http.MethodGet, path, "", map[string]string{"Connection": "Upgrade",
		"Upgrade": protocol})
	if err := req.Write(conn); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(conn)
	resp, err := http.ReadResponse(in, req)
	if err != nil || resp.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("%s: %v, %v", path, resp, err)
	}
	if _, err := io.WriteString(conn, say); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(); <-s.ended })
	s.status = resp.StatusCode
	go func() {
		defer close(s.ended)
		_, _ = io.Copy(s, in)
	}()
	return s
}

// mcpSession opens a session of MCP and returns the headers of its requests.
func (h *holder) mcpSession(t *testing.T, path string) map[string]string {
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
		t.Fatalf("%s: initialize: %d %s", path, status, text)
	}
	h.once(t, http.MethodPost, path, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, in)
	return in
}

const waitCall = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"wait_for_messages","arguments":` +
	`{"timeout_seconds":60}%s}}`

// agentRoutes are where an agent's mail passes for as long as it likes, or an agent waits for some. It is ann of room
// a.
var agentRoutes = []struct {
	name string
	open func(*testing.T, *holder) *held
}{
	{"events", func(t *testing.T, h *holder) *held {
		return h.hold(t, http.MethodGet, "/api/v1/rooms/a/events", "", nil)
	}},
	{"wait", func(t *testing.T, h *holder) *held {
		return h.hold(t, http.MethodGet, "/api/v1/rooms/a/wait?timeout=60s", "", nil)
	}},
	{"ring", func(t *testing.T, h *holder) *held {
		return h.hold(t, http.MethodPost, "/api/v1/rooms/a/ring?timeout=60s", "", nil)
	}},
	{"mcp listens", func(t *testing.T, h *holder) *held {
		in := h.mcpSession(t, "/mcp?room=a")
		h.once(t, http.MethodPost, "/mcp?room=a", `{"jsonrpc":"2.0","id":3,"method":"resources/subscribe","params":{`+
			`"uri":"mailbox://a/ann"}}`, in)
		in["Accept"] = "text/event-stream"
		return h.hold(t, http.MethodGet, "/mcp?room=a", "", in)
	}},
	{"mcp waits in a session", func(t *testing.T, h *holder) *held {
		in := h.mcpSession(t, "/mcp?room=a")
		return h.hold(t, http.MethodPost, "/mcp?room=a", fmt.Sprintf(waitCall, ""), in)
	}},
	{"mcp waits without a session", func(t *testing.T, h *holder) *held {
		return h.hold(t, http.MethodPost, "/mcp?room=a", fmt.Sprintf(waitCall, `,"_meta":{`+
			`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`),
			map[string]string{"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call",
				"Mcp-Name": "wait_for_messages"})
	}},
	{"a dialect's mcp listens", func(t *testing.T, h *holder) *held {
		in := h.mcpSession(t, "/dialect/agenties/mcp?room=a")
		in["Accept"] = "text/event-stream"
		return h.hold(t, http.MethodGet, "/dialect/agenties/mcp?room=a", "", in)
	}},
	{"calls", func(t *testing.T, h *holder) *held {
		if h.dial == nil {
			t.Skip("only over the Unix socket")
		}
		return h.upgrade(t, wire.CallsPath+"a", wire.CallsProtocol, "k "+fmt.Sprintf(waitCall, "")+"\n")
	}},
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

// soon is within what time a stream has ended.
const soon = time.Second

// over expects a stream to end soon, and nothing of a later letter to come by it.
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

// TestP5_AgentEnds crosses where an agent's mail passes with how its right to it ends: what is open ends at once, with
// what every later call is told, and no later letter passes.
func TestP5_AgentEnds(t *testing.T) {
	type ending struct {
		name string
		end  func(*testing.T, *running)
		code int    // of later calls
		says string // what they are told
	}
	user := func(r *running, t *testing.T) mail.Service { return r.room(t, "a", mail.User) }
	retired := func(t *testing.T, r *running) {
		if err := user(r, t).Retire(t.Context(), "ann"); err != nil {
			t.Fatal(err)
		}
	}
	removed := func(t *testing.T, r *running) {
		if _, err := r.office.RemoveRoom(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
	}
	renewed := func(t *testing.T, r *running) {
		if _, err := user(r, t).Token(t.Context(), "ann"); err != nil {
			t.Fatal(err)
		}
	}
	const void = "pennypost agents token"
	tokens := []ending{
		{"new token", renewed, http.StatusUnauthorized, void},
		{"retired", retired, http.StatusUnauthorized, void},
		{"room removed", removed, http.StatusUnauthorized, void},
	}
	for _, who := range []struct {
		name    string
		holder  func(t *testing.T, r *running, token string) *holder
		endings []ending
	}{
		{"token over tcp", func(t *testing.T, r *running, token string) *holder {
			return &holder{base: r.place.HTTP, sign: bearing(token)}
		}, tokens},
		{"token over unix", func(t *testing.T, r *running, token string) *holder {
			return r.unix(t, bearing(token))
		}, tokens},
		{"process", func(t *testing.T, r *running, _ string) *holder {
			return r.unix(t, asAgent("ann"))
		}, []ending{
			{"retired", retired, http.StatusNotFound, "there is no agent"},
			{"room removed", removed, http.StatusNotFound, "was removed"},
		}},
	} {
		for _, e := range who.endings {
			t.Run(who.name+"/"+e.name, func(t *testing.T) {
				r := start(t, Options{Config: testConfig(t)})
				r.register(t, "a", "ann")
				token, err := user(r, t).Token(t.Context(), "ann")
				if err != nil {
					t.Fatal(err)
				}
				h := who.holder(t, r, token)
				open := make(map[string]*held)
				for _, route := range agentRoutes {
					if route.name != "calls" || h.dial != nil {
						open[route.name] = route.open(t, h)
					}
				}
				time.Sleep(300 * time.Millisecond) // until they all wait
				for name, s := range open {
					select {
					case <-s.ended:
						status, text := s.came()
						t.Errorf("%s ends by itself: %d %s", name, status, text)
					default:
					}
				}
				e.end(t, r)
				const later = "LATER-LETTER"
				sent := mail.Draft{To: mail.Recipients{"ann"}, Subject: later, Body: later}
				_, _ = user(r, t).Send(t.Context(), sent) // refused where nobody is called ann any more
				if e.name != "room removed" {             // it would be made anew
					sent.To = mail.Recipients{"user"}
					if _, err := user(r, t).Send(t.Context(), sent); err != nil {
						t.Fatal(err)
					}
				}
				status, text, _ := h.once(t, http.MethodGet, "/api/v1/rooms/a/wait?timeout=1ms", "", nil)
				if status != e.code || !strings.Contains(text, e.says) {
					t.Errorf("a later wait: %d %s, want %d and %q", status, text, e.code, e.says)
				}
				told := text
				for name, s := range open {
					t.Run(name, func(t *testing.T) {
						s.over(t, later)
						if status, text := s.came(); name == "wait" && (status != e.code || text != told) {
							t.Errorf("it ended with %d %s, later ones are told %s", status, text, told)
						} else if name == "mcp waits without a session" && !strings.Contains(text, e.says) {
							t.Errorf("it ended with %d %s, want %q", status, text, e.says)
						}
					})
				}
				for path, method := range map[string]string{"/api/v1/rooms/a/events": http.MethodGet,
					"/api/v1/rooms/a/ring?timeout=1ms": http.MethodPost} {
					if status, text, _ := h.once(t, method, path, "", nil); status != e.code {
						t.Errorf("a later %s: %d %.200s", path, status, text)
					}
				}
			})
		}
	}
}

// TestP5_MachineEnds is TestP5_AgentEnds for a machine that was let in, and for what it opened.
func TestP5_MachineEnds(t *testing.T) {
	for _, e := range []struct {
		name string
		end  func(*testing.T, *running, *machine)
		says string
	}{
		{"revoked", func(t *testing.T, r *running, _ *machine) {
			if err := r.office.Revoke(t.Context(), "laptop-2"); err != nil {
				t.Fatal(err)
			}
		}, "was revoked"},
		{"left", func(t *testing.T, _ *running, m *machine) {
			if err := m.Leave(t.Context()); err != nil {
				t.Fatal(err)
			}
		}, "was revoked"},
		{"joined again", func(t *testing.T, r *running, m *machine) { m.again(t, r) }, "was revoked"},
		{"time over", func(*testing.T, *running, *machine) { time.Sleep(2 * time.Second) }, "which is over"},
	} {
		t.Run(e.name, func(t *testing.T) {
			r := startTLS(t)
			r.register(t, "a", "ann")
			var ask wire.Invite
			if e.name == "time over" {
				ask.For = 2
			}
			m := r.joined(t, "laptop-2", ask)
			b := m.browser(t, r)
			over := m.http.Transport.(*http.Transport).TLSClientConfig
			h := &holder{
				http: *m.http,
				base: m.url,
				sign: bearing(m.Token),
				dial: func(ctx context.Context) (net.Conn,
					error) {
					return (&tls.Dialer{Config: over}).DialContext(ctx, "tcp", strings.TrimPrefix(m.url, "https://"))
				},
			}
			ann := &holder{http: *m.http, base: m.url, sign: func(header http.Header) {
				h.sign(header)
				wire.SetAgent(header, "ann")
			}}
			open := map[string]*held{
				"desk":   h.hold(t, http.MethodGet, "/api/v1/desk/events", "", nil),
				"events": h.hold(t, http.MethodGet, "/api/v1/rooms/a/events", "", nil),
				"wait":   ann.hold(t, http.MethodGet, "/api/v1/rooms/a/wait?timeout=60s", "", nil),
				"ring":   ann.hold(t, http.MethodPost, "/api/v1/rooms/a/ring?timeout=60s", "", nil),
				"relay":  h.upgrade(t, wire.RelayPath, wire.RelayProtocol, ""),
				"pages":  b.hold(t, http.MethodGet, "/@a/events", "", nil),
			}
			time.Sleep(300 * time.Millisecond)
			e.end(t, r, m)
			const later = "LATER-LETTER"
			for _, to := range []string{"ann", "user"} {
				if _, err := r.room(t, "a", mail.User).Send(t.Context(), mail.Draft{To: mail.Recipients{to},
					Subject: later, Body: later}); err != nil {
					t.Fatal(err)
				}
			}
			for name, s := range open {
				t.Run(name, func(t *testing.T) { s.over(t, later) })
			}
			if status, text := open["wait"].came(); status != http.StatusUnauthorized ||
				!strings.Contains(text, e.says) {
				t.Errorf("the wait ended with %d %s, want %q", status, text, e.says)
			}
			status, text, _ := h.once(t, http.MethodGet, "/api/v1/status", "", nil)
			if status != http.StatusUnauthorized || !strings.Contains(text, e.says) {
				t.Errorf("a later call: %d %s, want %q", status, text, e.says)
			}
			if status, _, _ := b.once(t, http.MethodGet, "/", "", nil); status != http.StatusUnauthorized {
				t.Errorf("the pages: %d", status)
			}
		})
	}
}

// browser logs a browser in by a link that the machine asks for.
func (m *machine) browser(t *testing.T, r *running) *holder {
	t.Helper()
	link, err := m.Login(t.Context(), wire.Login{})
	if err != nil {
		t.Fatal(err)
	}
	b := r.browser(t)
	b.Transport = m.http.Transport
	return m.opens(t, b, link)
}

// opens logs b in by a link to the machine's address.
func (m *machine) opens(t *testing.T, b *http.Client, link string) *holder {
	t.Helper()
	_, key, _ := strings.Cut(link, "key=")
	resp, err := b.PostForm(m.url+"/login", url.Values{"key": {key}})
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if len(resp.Cookies()) != 1 {
		t.Fatalf("the link logs nobody in: %d", resp.StatusCode)
	}
	return &holder{http: *b, base: m.url, sign: func(http.Header) {}}
}

// again has the machine join again, and returns it as it is then.
func (m *machine) again(t *testing.T, r *running) *machine {
	t.Helper()
	made, code := r.invite(t, wire.Invite{})
	in, err := m.Join(t.Context(), wire.Join{Secret: code.Secret.String(), Machine: m.Machine})
	if err != nil {
		t.Fatal(err)
	}
	n := &machine{Joined: in, url: made.URL, http: m.http}
	n.Office, err = client.New(client.Options{URL: made.URL, Token: in.Token,
		TLS: m.http.Transport.(*http.Transport).TLSClientConfig})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.Office.Close)
	return n
}

// TestMachineJoinsAgain holds that the end of a machine's old life logs out what logged in by that one, and nothing
// that logs in by the new one, however soon.
func TestMachineJoinsAgain(t *testing.T) {
	r := startTLS(t)
	m := r.joined(t, "laptop-2", wire.Invite{})
	for range 20 {
		old := m.browser(t, r)
		unused, err := m.Login(t.Context(), wire.Login{})
		if err != nil {
			t.Fatal(err)
		}
		m = m.again(t, r)
		link, err := m.Login(t.Context(), wire.Login{}) // before anything else has happened there
		if err != nil {
			t.Fatal(err)
		}
		b := r.browser(t)
		b.Transport = m.http.Transport
		now := m.opens(t, b, link)
		time.Sleep(10 * time.Millisecond)
		if status, _, _ := now.once(t, http.MethodGet, "/", "", nil); status != http.StatusOK {
			t.Fatalf("the browser of the new life: %d", status)
		}
		if status, _, _ := old.once(t, http.MethodGet, "/", "", nil); status != http.StatusUnauthorized {
			t.Fatalf("the browser of the old life: %d", status)
		}
		_, key, _ := strings.Cut(unused, "key=")
		stranger := r.browser(t)
		stranger.Transport = m.http.Transport
		resp, err := stranger.PostForm(m.url+"/login", url.Values{"key": {key}})
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if len(resp.Cookies()) != 0 {
			t.Fatal("a link of the old life logs in")
		}
	}
}

// TestP5_BrowserEnds is TestP5_AgentEnds for a browser that has logged in.
func TestP5_BrowserEnds(t *testing.T) {
	for _, e := range []struct {
		name string
		end  func(*testing.T, *running, *holder)
	}{
		{"logged out", func(t *testing.T, _ *running, b *holder) {
			resp, err := b.http.PostForm(b.base+"/logout", nil)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
		}},
		{"logged out from the list", func(t *testing.T, r *running, _ *holder) {
			list, err := r.office.Sessions(t.Context())
			if err == nil {
				err = r.office.EndSession(t.Context(), list[0].ID)
			}
			if err != nil {
				t.Fatal(err)
			}
		}},
		{"all logged out", func(t *testing.T, r *running, _ *holder) {
			if err := r.office.EndSession(t.Context(), ""); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		t.Run(e.name, func(t *testing.T) {
			r := start(t, Options{Config: testConfig(t)})
			r.register(t, "a", "ann")
			link := r.link(t, wire.Login{})
			base, _, _ := strings.Cut(link, "/login")
			b := r.browser(t)
			_, key, _ := strings.Cut(link, "key=")
			resp, err := b.PostForm(base+"/login", url.Values{"key": {key}})
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			h := &holder{http: *b, base: base, sign: func(http.Header) {}}
			s := h.hold(t, http.MethodGet, "/@a/events", "", nil)
			time.Sleep(300 * time.Millisecond)
			if status, text := s.came(); status != http.StatusOK {
				t.Fatalf("the stream: %d %s", status, text)
			}
			e.end(t, r, h)
			const later = "LATER-LETTER"
			if _, err := r.room(t, "a", "ann").Send(t.Context(),
				mail.Draft{To: mail.Recipients{"user"}, Subject: later,
					Body: later}); err != nil {
				t.Fatal(err)
			}
			s.over(t, later)
			if status, _, _ := h.once(t, http.MethodGet, "/@a/events", "", nil); status != http.StatusUnauthorized {
				t.Errorf("a later stream: %d", status)
			}
		})
	}
}
