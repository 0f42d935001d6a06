package daemon

import (
	"bufio"
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"pennypost/internal/mail"
	"pennypost/internal/office/events"
	"pennypost/internal/wire"
)

// speaker speaks MCP over HTTP with a token.
type speaker struct {
	url, token string
	id         int
	session    string // of the older era; "": the newer era, without sessions
}

// request returns a request of the speaker's era.
func (s *speaker) request(ctx context.Context, t *testing.T, method, params string) *http.Request {
	t.Helper()
	s.id++
	if s.session == "" {
		params = strings.TrimSuffix(params, "}")
		if !strings.HasSuffix(params, "{") {
			params += ","
		}
		params += `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
			`"io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":` +
			`{"name":"test","version":"1"}}}`
	}
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, s.id, method, params)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+"/mcp", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+s.token)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if s.session == "" {
		r.Header.Set("Mcp-Protocol-Version", "2026-07-28")
		r.Header.Set("Mcp-Method", method)
	} else if s.session != "new" {
		r.Header.Set("Mcp-Session-Id", s.session)
	}
	return r
}

// answer is a response of the protocol.
type answer struct {
	Result json.RawMessage
	Error  *rpcError
}

type rpcError struct {
	Code    int
	Message string
	Data    map[string]any
}

func (s *speaker) call(t *testing.T, method, params string, result any) answer {
	t.Helper()
	resp, err := http.DefaultClient.Do(s.request(t.Context(), t, method, params))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if id := resp.Header.Get("Mcp-Session-Id"); id != "" {
		s.session = id
	}
	if i := bytes.LastIndex(text, []byte("\ndata: ")); i >= 0 {
		text = text[i+len("\ndata: "):]
	}
	var a answer
	if err := json.Unmarshal(text, &a); err != nil {
		if resp.StatusCode != http.StatusOK && result == nil {
			return answer{Error: &rpcError{Code: -32601, Message: string(text)}}
		}
		t.Fatalf("%s: %v\n%s", method, err, text)
	}
	if result != nil {
		if a.Error != nil || json.Unmarshal(a.Result, result) != nil {
			t.Fatalf("%s: %s", method, text)
		}
	}
	return a
}

// stream opens a stream, and returns a function that reads its next message.
func (s *speaker) stream(t *testing.T, params string) (next func() map[string]any) {
	t.Helper()
	resp, err := http.DefaultClient.Do(s.request(t.Context(), t, "events/stream", params))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	lines := bufio.NewScanner(resp.Body)
	return func() (m map[string]any) {
		t.Helper()
		for lines.Scan() {
			if data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data: ")); ok && len(data) > 0 {
				if err := json.Unmarshal(data, &m); err != nil {
					t.Fatal(err)
				}
				return m
			}
		}
		t.Fatalf("the stream has ended: %v", lines.Err())
		return nil
	}
}

// speakers returns an agent's speakers, one for each era.
func speakers(t *testing.T, r *running, room mail.RoomName, who mail.Name) map[string]*speaker {
	t.Helper()
	r.register(t, room, who)
	token, err := r.room(t, room, mail.User).Token(t.Context(), who)
	if err != nil {
		t.Fatal(err)
	}
	old := &speaker{url: r.place.HTTP, token: token, session: "new"}
	old.call(t, "initialize", `{"protocolVersion":"2025-11-25","capabilities":{},`+
		`"clientInfo":{"name":"t","version":"1"}}`, new(any))
	return map[string]*speaker{"2026-07-28": {url: r.place.HTTP, token: token}, "2025-11-25": old}
}

// TestEventsPolled: what a client learns of events in each era, which events follow a cursor, and how bad input is
// answered.
func TestEventsPolled(t *testing.T) {
	r := start(t, Options{Config: testConfig(t)})
	for era, s := range speakers(t, r, "a", "bob") {
		t.Run(era, func(t *testing.T) {
			var can struct {
				Capabilities struct {
					Events     map[string]any
					Extensions map[string]any
				}
			}
			if s.session == "" {
				s.call(t, "server/discover", `{}`, &can)
				if can.Capabilities.Events == nil ||
					can.Capabilities.Extensions["io.modelcontextprotocol/events"] == nil {
					t.Errorf("the server says it can %+v", can)
				}
			}
			var list struct{ Events []struct{ Name string } }
			if s.call(t, "events/list", `{}`, &list); len(list.Events) != 4 {
				t.Errorf("there are %+v", list)
			}
			var p events.Polled
			s.call(t, "events/poll", `{"name":"mail.arrived","arguments":{"types":["question"]},"cursor":null}`, &p)
			if len(p.Events) != 0 || p.Cursor == "" || p.More || p.Truncated {
				t.Fatalf("at first there are %+v", p)
			}
			ask := func(to, body string) mail.ID {
				t.Helper()
				sent, err := r.room(t, "a", mail.User).Send(t.Context(), mail.Draft{To: []string{to},
					Type: string(mail.Question), Body: body + era})
				if err != nil {
					t.Fatal(err)
				}
				return sent.ID
			}
			r.register(t, "a", "ann")
			ask("ann", "not bob's")
			id := ask("bob", "a secret?")
			s.call(t, "events/poll", `{"name":"mail.arrived","arguments":{"types":["question"]},"cursor":"`+p.Cursor+`"}`,
				&p)
			if len(p.Events) != 1 || p.More || p.Truncated {
				t.Fatalf("behind the cursor there are %+v", p)
			}
			text, err := json.Marshal(p.Events[0].Data)
			if err != nil || !strings.Contains(string(text), string(id)) || strings.Contains(string(text), "secret") {
				t.Errorf("the occurrence has %s, want the id and no text", text)
			}
			from := p.Cursor
			if err := r.room(t, "a", mail.User).Withdraw(t.Context(), id); err != nil {
				t.Fatal(err)
			}
			s.call(t, "events/poll", `{"name":"question.settled","cursor":"`+from+`"}`, &p)
			if len(p.Events) != 1 || p.Events[0].Data.(map[string]any)["as"] != "withdrawn" {
				t.Errorf("of the question there is %+v", p)
			}
			for params, code := range map[string]int{
				`{"name":"nothing","cursor":null}`:                              events.NotFound,
				`{"name":"mail.arrived","cursor":"99999999"}`:                   events.InvalidParams,
				`{"name":"mail.arrived","cursor":"-1"}`:                         events.InvalidParams,
				`{"name":"mail.arrived","cursor":"007"}`:                        events.InvalidParams,
				`{"name":"mail.arrived","arguments":{"typos":1},"cursor":null}`: events.InvalidParams,
				`{"name":"mail.arrived","arguments":[],"cursor":null}`:          events.InvalidParams,
				`{"name":"mail.arrived","cursor":null,"maxEvents":0}`:           events.InvalidParams,
				`{"name":"mail.arrived","cursor":null,"maxAgeMs":-1}`:           events.InvalidParams,
				`{"name":7}`: events.InvalidParams,
				`{"name":"mail.arrived","cursor":null,"maxEvents":999999999999999999999}`: events.InvalidParams,
			} {
				if a := s.call(t, "events/poll", params, nil); a.Error == nil || a.Error.Code != code {
					t.Errorf("%s: %s, %+v, want code %d", params, a.Result, a.Error, code)
				}
			}
			if a := s.call(t, "events/subscribe", `{"name":"mail.arrived"}`, nil); a.Error == nil {
				t.Errorf("webhooks are off, and there is %s", a.Result)
			}
		})
	}
}

// TestEventsStreamed: a stream says where it begins, then sends past and new events, and says that it has ended with
// its caller's access.
func TestEventsStreamed(t *testing.T) {
	r := start(t, Options{Config: testConfig(t)})
	for _, era := range []string{"2026-07-28", "2025-11-25"} {
		s := speakers(t, r, "a", "bob")[era]
		user := r.room(t, "a", mail.User)
		send := func(body string) {
			t.Helper()
			if _, err := user.Send(t.Context(), mail.Draft{To: []string{"bob"}, Body: body + era}); err != nil {
				t.Fatal(err)
			}
		}
		var p events.Polled
		s.call(t, "events/poll", `{"name":"mail.arrived"}`, &p)
		send("before")
		next := s.stream(t, `{"name":"mail.arrived","cursor":"`+p.Cursor+`"}`)
		send("after")
		for _, want := range []string{"active", "event", "event"} {
			m := next()
			meta, _ := m["params"].(map[string]any)["_meta"].(map[string]any)
			if m["method"] != "notifications/events/"+want ||
				meta["io.modelcontextprotocol/subscriptionId"] != float64(s.id) {
				t.Fatalf("%s: the stream says %v, want %s", era, m, want)
			}
		}
		if _, err := user.Token(t.Context(), "bob"); err != nil { // the previous token is void
			t.Fatal(err)
		}
		if m := next(); m["method"] != "notifications/events/terminated" {
			t.Errorf("%s: when the token is replaced the stream says %v", era, m)
		}
	}
}

// hookReceiver is an address to which events are sent.
type hookReceiver struct {
	*httptest.Server
	secret []byte

	mu     sync.Mutex
	status int    // of answers, if not 0
	echo   string // of challenges, if not ""
	got    []map[string]any
	wrong  []string
}

func newHookReceiver(t *testing.T) *hookReceiver {
	v := &hookReceiver{secret: bytes.Repeat([]byte("k"), 32)}
	v.Server = httptest.NewServer(v)
	t.Cleanup(v.Close)
	return v
}

// ServeHTTP implements http.Handler as a receiver of events.
func (v *hookReceiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var m map[string]any
	err := json.Unmarshal(body, &m)
	v.mu.Lock()
	defer v.mu.Unlock()
	mac := hmac.New(sha256.New, v.secret)
	fmt.Fprintf(mac, "%s.%s.%s", r.Header.Get("Webhook-Id"), r.Header.Get("Webhook-Timestamp"), body)
	_, at := strconv.Atoi(r.Header.Get("Webhook-Timestamp"))
	if err != nil || at != nil || r.Header.Get("X-Mcp-Subscription-Id") == "" ||
		r.Header.Get("Content-Type") != "application/json" || !strings.Contains(r.Header.Get("Webhook-Signature"),
		"v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil))) {
		v.wrong = append(v.wrong, string(body))
	}
	if id, is := m["eventId"]; is && id != r.Header.Get("Webhook-Id") {
		v.wrong = append(v.wrong, "an event under another id")
	}
	switch {
	case v.status != 0:
		w.WriteHeader(v.status)
	case m["type"] == "verification" && v.echo != "":
		fmt.Fprintf(w, `{"challenge":%q}`, v.echo)
	case m["type"] == "verification":
		fmt.Fprintf(w, `{"challenge":%q}`, m["challenge"])
	default:
		v.got = append(v.got, m)
		w.WriteHeader(http.StatusNoContent)
	}
}

func (v *hookReceiver) set(status int, echo string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.status, v.echo = status, echo
}

// has returns the deliveries other than challenges.
func (v *hookReceiver) has(t *testing.T) []map[string]any {
	t.Helper()
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.wrong) > 0 {
		t.Errorf("what came is not signed, or not as it is to be: %q", v.wrong)
	}
	return v.got
}

// ask returns the params of a subscription.
func (v *hookReceiver) ask(more string) string {
	return fmt.Sprintf(`{"name":"mail.arrived","delivery":{"mode":"webhook","url":%q,"secret":"whsec_%s"},"cursor":null%s}`,
		v.URL+"/hook?key=1", base64.StdEncoding.EncodeToString(v.secret), more)
}

// TestEventsSent: an address that has proven itself gets each event once, in spite of failures and restarts, until
// its owner cancels the subscription or loses access.
func TestEventsSent(t *testing.T) {
	cfg := testConfig(t)
	cfg.Events.Webhooks, cfg.Events.Private = true, true
	r := start(t, Options{Config: cfg})
	s := speakers(t, r, "a", "bob")["2026-07-28"]
	v := newHookReceiver(t)
	for what, set := range map[string]func(){
		"challenge_failed": func() { v.set(0, "another") },
		"http_5xx":         func() { v.set(500, "") },
		"http_4xx":         func() { v.set(403, "") },
	} {
		set()
		a := s.call(t, "events/subscribe", v.ask(""), nil)
		if a.Error == nil || a.Error.Code != events.CallbackEndpointError || a.Error.Data["reason"] != what {
			t.Errorf("%s: %s, %+v", what, a.Result, a.Error)
		}
	}
	v.set(0, "")
	var first, again events.Subscribed
	s.call(t, "events/subscribe", v.ask(`,"ttlMs":60000`), &first)
	s.call(t, "events/subscribe", v.ask(""), &again)
	if first.ID != again.ID || first.RefreshBefore >= again.RefreshBefore {
		t.Errorf("subscribed twice: %+v, %+v, want one, renewed", first, again)
	}
	send := func(body string) {
		t.Helper()
		if _, err := r.room(t, "a", mail.User).Send(t.Context(), mail.Draft{To: []string{"bob"},
			Body: body}); err != nil {
			t.Fatal(err)
		}
	}
	send("1")
	eventually(t, "the first comes", func() bool { return len(v.has(t)) == 1 })
	v.set(503, "")
	send("2")
	r.stop(t)
	r = start(t, Options{Config: cfg})
	s.url = r.place.HTTP
	send("3")
	v.set(0, "")
	seen := make(map[any]int)
	eventually(t, "the others come", func() bool {
		clear(seen)
		for _, m := range v.has(t) {
			seen[m["eventId"]]++
		}
		return len(seen) == 3
	})
	for _, m := range v.has(t) {
		if data, _ := m["data"].(map[string]any); len(data) != 6 || m["cursor"] == nil {
			t.Errorf("what came is %v", m)
		}
	}
	if len(v.has(t)) != 3 {
		t.Errorf("there came %v, want three events, each once", seen)
	}
	s.call(t, "events/unsubscribe", v.ask(""), new(struct{}))
	if a := s.call(t, "events/unsubscribe", v.ask(""), nil); a.Error == nil || a.Error.Code != events.NotFound {
		t.Errorf("unsubscribed twice: %s, %+v", a.Result, a.Error)
	}
	s.call(t, "events/subscribe", v.ask(""), &first)
	if _, err := r.room(t, "a", mail.User).Token(t.Context(), "bob"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is told that its right has ended", func() bool {
		got := v.has(t)
		return got[len(got)-1]["type"] == "terminated"
	})
	came := len(v.has(t))
	send("4")
	if got := v.has(t); len(got) != came {
		t.Errorf("after that there came %v", got[came:])
	}
}

// TestEventsRefused: subscriptions that are refused, and addresses to which nothing is sent.
func TestEventsRefused(t *testing.T) {
	cfg := testConfig(t)
	cfg.Events.Webhooks = true
	r := start(t, Options{Config: cfg})
	s := speakers(t, r, "a", "bob")["2026-07-28"]
	secret := "whsec_" + base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("k"), 32))
	ask := func(name, url, secret, mode string) string {
		return fmt.Sprintf(`{"name":%q,"delivery":{"mode":%q,"url":%q,"secret":%q}}`, name, mode, url, secret)
	}
	for what, tt := range map[string]struct {
		params string
		code   int
	}{
		"no TLS":       {ask("mail.arrived", "http://hook.example", secret, "webhook"), events.InvalidParams},
		"a password":   {ask("mail.arrived", "https://a:b@hook.example", secret, "webhook"), events.InvalidParams},
		"a fragment":   {ask("mail.arrived", "https://hook.example/#a", secret, "webhook"), events.InvalidParams},
		"this machine": {ask("mail.arrived", "https://127.0.0.1:1/", secret, "webhook"), events.InvalidParams},
		"its name":     {ask("mail.arrived", "https://localhost:1/", secret, "webhook"), events.CallbackEndpointError},
		"a network":    {ask("mail.arrived", "https://[fd00::1]/", secret, "webhook"), events.InvalidParams},
		"no secret":    {ask("mail.arrived", "https://hook.example", "", "webhook"), events.InvalidParams},
		"a short one":  {ask("mail.arrived", "https://hook.example", "whsec_YWJj", "webhook"), events.InvalidParams},
		"another mode": {ask("mail.arrived", "https://hook.example", secret, "carrier-pigeon"), events.Unsupported},
		"no such type": {ask("rumours", "https://hook.example", secret, "webhook"), events.NotFound},
		"no TTL": {strings.TrimSuffix(ask("mail.arrived", "https://hook.example", secret, ""), "}") + `,"ttlMs":0}`,
			events.InvalidParams},
	} {
		if a := s.call(t, "events/subscribe", tt.params, nil); a.Error == nil || a.Error.Code != tt.code {
			t.Errorf("%s: %s, %+v, want code %d", what, a.Result, a.Error, tt.code)
		}
	}
}

// TestP5_EventsGate: no caller hears another's events, ends another's subscription, or subscribes without a token,
// whose end is known.
func TestP5_EventsGate(t *testing.T) {
	cfg := testConfig(t)
	cfg.Events.Webhooks, cfg.Events.Private = true, true
	r := start(t, Options{Config: cfg})
	bob := speakers(t, r, "a", "bob")["2026-07-28"]
	mallory := speakers(t, r, "a", "mallory")["2026-07-28"]
	v := newHookReceiver(t)
	var own events.Subscribed
	bob.call(t, "events/subscribe", v.ask(""), &own)
	for what, tt := range map[string]struct {
		by     *speaker
		method string
		code   int
	}{
		"another's subscription is ended": {mallory, "events/unsubscribe", events.NotFound},
		"a made-up token":                 {&speaker{url: r.place.HTTP, token: "pp.YQ.made-up"}, "events/list", 0},
	} {
		a := tt.by.call(t, tt.method, v.ask(""), nil)
		if a.Error == nil || tt.code != 0 && a.Error.Code != tt.code {
			t.Errorf("%s: %s, %+v", what, a.Result, a.Error)
		}
	}
	if _, err := r.room(t, "a", mail.User).Send(t.Context(), mail.Draft{To: []string{"bob"}, Body: "for bob",
		Priority: string(mail.Urgent)}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "bob's address is told", func() bool { return len(v.has(t)) == 1 })
	var p events.Polled
	mallory.call(t, "events/poll", `{"name":"mail.arrived","cursor":"0"}`, &p)
	if len(p.Events) > 0 {
		t.Errorf("mallory hears %+v", p.Events)
	}
	elsewhere := mallory.request(t.Context(), t, "events/poll", `{"name":"agent.state","cursor":"0"}`)
	elsewhere.Header.Set(roomHeader, "b")
	if resp, err := http.DefaultClient.Do(elsewhere); err != nil || resp.StatusCode != http.StatusForbidden {
		t.Errorf("mallory in another room: %v, %v", resp, err)
	} else {
		resp.Body.Close()
	}
	socket := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn,
		error) {
		return new(net.Dialer).DialContext(ctx, "unix", r.place.Socket)
	}}}
	defer socket.CloseIdleConnections()
	process := bob.request(t.Context(), t, "events/subscribe", v.ask(""))
	process.Header.Del("Authorization")
	wire.SetAgent(process.Header, "bob")
	process.Header.Set(roomHeader, "a")
	resp, err := socket.Do(process)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if text, err := io.ReadAll(resp.Body); err != nil || !strings.Contains(string(text), "needs a token") {
		t.Errorf("a process without a token: %s, %v", text, err)
	}
}

// TestEventsEndByAddress: a replaced secret still signs for a while alongside the new one, and an address that
// answers 410 gets nothing more.
func TestEventsEndByAddress(t *testing.T) {
	cfg := testConfig(t)
	cfg.Events.Webhooks, cfg.Events.Private = true, true
	r := start(t, Options{Config: cfg})
	s := speakers(t, r, "a", "bob")["2026-07-28"]
	v := newHookReceiver(t)
	before := v.secret
	s.call(t, "events/subscribe", v.ask(""), new(events.Subscribed))
	v.key(bytes.Repeat([]byte("n"), 32))
	s.call(t, "events/subscribe", v.ask(""), new(events.Subscribed))
	v.key(before)
	send := func() {
		t.Helper()
		if _, err := r.room(t, "a", mail.User).Send(t.Context(), mail.Draft{To: []string{"bob"}, Body: "x",
			Again: true}); err != nil {
			t.Fatal(err)
		}
	}
	send()
	eventually(t, "who knows the secret before takes an event", func() bool { return len(v.has(t)) == 1 })
	v.set(http.StatusGone, "")
	send()
	eventually(t, "the subscription has ended", func() bool {
		text, err := os.ReadFile(cfg.Home.Events())
		return err == nil && !bytes.Contains(text, []byte("sub_"))
	})
	if a := s.call(t, "events/unsubscribe", v.ask(""), nil); a.Error == nil || a.Error.Code != events.NotFound {
		t.Errorf("unsubscribed after that: %s, %+v", a.Result, a.Error)
	}
}

// key makes the receiver check signatures with another secret.
func (v *hookReceiver) key(secret []byte) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.secret = secret
}
