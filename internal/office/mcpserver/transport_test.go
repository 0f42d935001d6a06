package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

var revisions = []string{"2025-06-18", "2025-11-25", "2026-07-28"}

// exercise checks the behaviour that every client may expect, whatever its transport and revision.
func exercise(t *testing.T, o *office, cs *mcp.ClientSession, in *inbox, caller string) {
	ctx := t.Context()
	res, err := cs.CallTool(ctx, &mcp.CallToolParams{Name: "whoami"})
	if err != nil {
		t.Fatalf("whoami: %v", err)
	}
	if got := res.Content[0].(*mcp.TextContent).Text; got != caller {
		t.Errorf("the handler's context has caller %q, want %q", got, caller)
	}

	if err := cs.Subscribe(ctx, &mcp.SubscribeParams{URI: testURI}); err != nil {
		t.Fatalf("Subscribe: %v", err)
	}
	synctest.Wait() // until the stream is open
	o.update(t)
	if got := next(t, in.updates, "update"); got != testURI {
		t.Errorf("update of %q, want %q", got, testURI)
	}

	waiting, stop := context.WithCancel(ctx)
	called := make(chan error, 1)
	go func() {
		p := &mcp.CallToolParams{Name: "wait"}
		p.SetProgressToken("token")
		_, err := cs.CallTool(waiting, p)
		called <- err
	}()
	next(t, o.begun, "call")
	if got := next(t, in.progress, "progress"); got != 1 {
		t.Errorf("progress %v, want 1", got)
	}
	stop()
	if err := next(t, called, "answer"); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled call = %v, want %v", err, context.Canceled)
	}
	if err := next(t, o.ended, "end of the call"); !errors.Is(err, context.Canceled) {
		t.Errorf("the cancelled handler saw %v, want %v", err, context.Canceled)
	}
}

func TestHTTPRevisions(t *testing.T) {
	for _, revision := range revisions {
		t.Run(revision, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := openOffice(t, HTTPOptions{}, &http.Server{})
				cs, in := o.connect(t, "ann", revision)
				exercise(t, o, cs, in, "ann")
			})
		})
	}
}

// The eras share one address and one server: a client of each is notified.
func TestErasTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := openOffice(t, HTTPOptions{}, &http.Server{})
		var inboxes []*inbox
		for _, revision := range revisions {
			cs, in := o.connect(t, "ann", revision)
			if err := cs.Subscribe(t.Context(), &mcp.SubscribeParams{URI: testURI}); err != nil {
				t.Fatalf("Subscribe: %v", err)
			}
			inboxes = append(inboxes, in)
		}
		synctest.Wait()
		o.update(t)
		for _, in := range inboxes {
			next(t, in.updates, "update")
		}
	})
}

// When a caller hangs up, ends its session or is shut out, its call ends.
func TestCallEndsWithCaller(t *testing.T) {
	type end func(t *testing.T, o *office, c *http.Client, session string, hangUp func())
	hangUp := func(_ *testing.T, _ *office, _ *http.Client, _ string, hangUp func()) { hangUp() }
	closed := func(_ *testing.T, o *office, _ *http.Client, _ string, _ func()) { o.handler.Close() }
	deleted := func(t *testing.T, _ *office, c *http.Client, session string, _ func()) {
		got := do(t, c, newRequest(t, "DELETE", "http://office/mcp", "", headerSession, session))
		if got.Status != http.StatusNoContent {
			t.Errorf("DELETE = %d %s, want 204", got.Status, got.Body)
		}
	}
	both := func(one, other end) end {
		return func(t *testing.T, o *office, c *http.Client, session string, hangUp func()) {
			one(t, o, c, session, hangUp)
			synctest.Wait()
			other(t, o, c, session, hangUp)
		}
	}
	for _, test := range []struct {
		name   string
		modern bool
		end    end
		after  time.Duration
	}{
		{"stateless hang-up", true, hangUp, 0},
		{"stateless close", true, closed, 0},
		{"session hang-up", false, hangUp, resumeGrace},
		{"session hang-up and close", false, both(hangUp, closed), 0},
		{"session hang-up and delete", false, both(hangUp, deleted), 0},
		{"session close", false, closed, 0},
		{"session delete", false, deleted, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := openOffice(t, HTTPOptions{}, &http.Server{})
				c := o.client(t, "ann")
				var session string
				r := newRequest(t, "POST", "http://office/mcp", modernCall(7, "wait"),
					headerVersion, stateless, "Mcp-Method", "tools/call", "Mcp-Name", "wait")
				if !test.modern {
					session = initialize(t, c)
					r = newRequest(t, "POST", "http://office/mcp", rawCall(7, "wait"), headerSession, session)
				}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				answered := make(chan struct{})
				go func() {
					defer close(answered)
					if resp, err := c.Do(r.WithContext(ctx)); err == nil {
						resp.Body.Close()
					}
				}()
				next(t, o.begun, "call")
				start := time.Now()
				test.end(t, o, c, session, cancel)
				if err := next(t, o.ended, "end of the call"); !errors.Is(err, context.Canceled) {
					t.Errorf("handler saw %v, want %v", err, context.Canceled)
				}
				next(t, answered, "answer")
				if got := time.Since(start); got != test.after {
					t.Errorf("ended after %v, want %v", got, test.after)
				}
			})
		})
	}
}

// A session whose client left while it was being opened is known, and so can be ended.
func TestHangUpDuringInitialize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := openOffice(t, HTTPOptions{}, &http.Server{})
		begun, release := make(chan struct{}), make(chan struct{})
		o.server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
			return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
				close(begun)
				<-release
				return next(ctx, method, req)
			}
		})
		ctx, hangUp := context.WithCancel(t.Context())
		go func() {
			<-begun
			hangUp()
		}()
		body := strings.Replace(initializeBody, "2025-11-25", "2025-06-18", 1) // no event before the answer
		if _, err := o.client(t, "ann").Do(newRequest(t, "POST", "http://office/mcp",
			body).WithContext(ctx)); !errors.Is(err, context.Canceled) {
			t.Errorf("initialize = %v, want %v", err, context.Canceled)
		}
		synctest.Wait() // until the server knows
		close(release)
		synctest.Wait()
		if got := sessionCount(o); got != 1 {
			t.Errorf("%d sessions, want 1", got)
		}
		time.Sleep(defaultSessionTimeout + time.Second)
		if got := sessionCount(o); got != 0 {
			t.Errorf("%d sessions after the timeout, want 0", got)
		}
	})
}

func TestSessionBoundToIdentity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := openOffice(t, HTTPOptions{}, &http.Server{})
		ann, bob := o.client(t, "ann"), o.client(t, "bob")
		session := initialize(t, ann)
		for _, method := range []string{"POST", "GET", "DELETE"} {
			got := do(t, bob, newRequest(t, method, "http://office/mcp", rawCall(2, "whoami"), headerSession, session))
			if got.Status != http.StatusNotFound || got.Error.Code != codeSessionNotFound {
				t.Errorf("%s with another's session = %d %s, want 404 and code %d", method, got.Status, got.Body,
					codeSessionNotFound)
			}
		}
		got := do(t, ann, newRequest(t, "POST", "http://office/mcp", rawCall(3, "whoami"), headerSession, session))
		if got.Status != http.StatusOK || !strings.Contains(got.Body, `"text":"ann"`) {
			t.Errorf("owner's call = %d %s, want 200 and ann", got.Status, got.Body)
		}
	})
}

func sessionCount(o *office) int {
	n := 0
	for range o.server.Sessions() {
		n++
	}
	return n
}

// A session lives while its client listens, even silently, and ends when idle.
func TestSessionTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := openOffice(t, HTTPOptions{}, &http.Server{})
		c := o.client(t, "ann")
		session := initialize(t, c)
		ctx, hangUp := context.WithCancel(t.Context())
		defer hangUp()
		resp, err := c.Do(newRequest(t, "GET", "http://office/mcp", "", headerSession, session).WithContext(ctx))
		if err != nil {
			t.Fatal(err)
		}
		drained := make(chan struct{})
		go func() { // keep-alive comments, for days
			defer close(drained)
			io.Copy(io.Discard, resp.Body)
		}()
		time.Sleep(3 * defaultSessionTimeout)
		if got := sessionCount(o); got != 1 {
			t.Errorf("%d sessions while the client listens, want 1", got)
		}
		hangUp()
		<-drained
		time.Sleep(goneAfter - time.Second)
		if got := sessionCount(o); got != 1 {
			t.Errorf("%d sessions before the timeout, want 1", got)
		}
		time.Sleep(2 * time.Second)
		if got := sessionCount(o); got != 0 {
			t.Errorf("%d sessions after the timeout, want 0", got)
		}
		got := do(t, c, newRequest(t, "POST", "http://office/mcp", rawCall(2, "whoami"), headerSession, session))
		if got.Status != http.StatusNotFound {
			t.Errorf("call in an ended session = %d, want 404", got.Status)
		}
	})
}

// Sessions that no client closes do not stay, nor do their goroutines: neither those of clients that end, nor more
// than the limit of clients that all arrive at the same time.
func TestAbandonedSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := openOffice(t, HTTPOptions{}, &http.Server{})
		c := o.client(t, "ann")
		session := initialize(t, c) // so that one-time allocations are done
		do(t, c, newRequest(t, "DELETE", "http://office/mcp", "", headerSession, session))
		c.CloseIdleConnections()
		synctest.Wait()
		before := runtime.NumGoroutine()
		var all sync.WaitGroup
		for range maxSessions / 2 {
			all.Go(func() {
				for range 8 {
					initialize(t, c)
				}
			})
		}
		all.Wait()
		c.CloseIdleConnections()
		synctest.Wait()
		if got := sessionCount(o); got > maxSessions {
			t.Errorf("%d sessions of one credential, want %d at most", got, maxSessions)
		}
		time.Sleep(time.Hour + time.Second)
		synctest.Wait()
		// The runtime may have started a few of its own; leaked sessions would be hundreds.
		if got := runtime.NumGoroutine(); got > before+maxSessions/4 || sessionCount(o) > 0 {
			t.Errorf("%d goroutines and %d sessions are left, want %d and 0", got, sessionCount(o), before)
		}
	})
}

// A credential that opens sessions without end loses its oldest idle ones, and is refused when all are in use. Others
// are not affected.
func TestSessionLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := openOffice(t, HTTPOptions{}, &http.Server{})
		ann, bob := o.client(t, "ann"), o.client(t, "bob")
		bobs := initialize(t, bob)
		var ids []string
		for range maxSessions + 1 {
			time.Sleep(time.Second) // so that ages differ
			ids = append(ids, initialize(t, ann))
		}
		synctest.Wait()
		if got, want := sessionCount(o), maxSessions+1; got != want {
			t.Errorf("%d sessions, want %d", got, want)
		}
		for i, want := range map[int]int{0: http.StatusNotFound, 1: http.StatusOK} {
			got := do(t, ann, newRequest(t, "POST", "http://office/mcp", rawCall(2, "whoami"), headerSession, ids[i]))
			if got.Status != want {
				t.Errorf("call in session %d = %d, want %d", i, got.Status, want)
			}
		}
		for _, id := range ids[1:] {
			resp, err := ann.Do(newRequest(t, "GET", "http://office/mcp", "", headerSession, id))
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
		}
		got := do(t, ann, newRequest(t, "POST", "http://office/mcp", initializeBody))
		if got.Status != http.StatusTooManyRequests {
			t.Errorf("initialize with all sessions in use = %d %s, want 429", got.Status, got.Body)
		}
		if got := do(t, bob, newRequest(t, "POST", "http://office/mcp", rawCall(2, "whoami"), headerSession,
			bobs)); got.Status != http.StatusOK {
			t.Errorf("another's call = %d, want 200", got.Status)
		}
	})
}

func TestRefusals(t *testing.T) {
	deep := strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000)
	for _, test := range []struct {
		name, method, body string
		headers            []string
		status, code       int
		id                 string
	}{
		{"not JSON", "POST", `{"jsonrpc":"2.0","id":1,`, nil, 400, -32700, "null"},
		{"not JSON, stateless", "POST", `{]`, []string{headerVersion, stateless}, 400, -32700, "null"},
		{"empty", "POST", ``, nil, 400, -32700, "null"},
		{"deep", "POST", `{"jsonrpc":"2.0","id":1,"method":"ping","params":` + deep + `}`, nil, 400, -32700, "null"},
		{"not JSON-RPC", "POST", `{"id":5,"hello":"world"}`, nil, 400, -32600, "5"},
		{"a number", "POST", `42`, nil, 400, -32600, "null"},
		{"no session", "POST", rawCall(6, "whoami"), nil, 400, -32600, "6"},
		{"no session, batch", "POST", `[` + initializeBody + `]`, nil, 400, -32600, "null"},
		{"unknown session", "POST", rawCall(7, "whoami"), []string{headerSession, "nope"}, 404, codeSessionNotFound,
			"7"},
		{"GET without session", "GET", ``, nil, 400, -32600, "null"},
		{"PUT", "PUT", `{}`, nil, 405, -32600, "null"},
		{"body is stateless, header is missing", "POST", modernCall(8, "whoami"), nil, 400, mcp.CodeHeaderMismatch,
			"8"},
		{"header is stateless, body is not", "POST", rawCall(9, "whoami"),
			[]string{headerVersion, stateless, "Mcp-Method", "tools/call", "Mcp-Name", "whoami"}, 400, -32602, "9"},
		{"future revision", "POST", strings.ReplaceAll(modernCall(10, "whoami"), stateless, "2999-01-01"),
			[]string{headerVersion, "2999-01-01", "Mcp-Method", "tools/call", "Mcp-Name", "whoami"}, 400,
			mcp.CodeUnsupportedProtocolVersion, "10"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := openOffice(t, HTTPOptions{}, &http.Server{})
				c := o.client(t, "ann")
				got := do(t, c, newRequest(t, test.method, "http://office/mcp", test.body, test.headers...))
				if got.Status != test.status || got.Version != "2.0" || got.Error.Code != test.code ||
					string(got.ID) != test.id || got.Error.Message == "" {
					t.Errorf("reply %d %s, want %d, code %d, id %s and a message", got.Status, got.Body, test.status,
						test.code, test.id)
				}
				initialize(t, c) // the server still works
			})
		})
	}
}

func TestServerFunctionError(t *testing.T) {
	for _, test := range []struct {
		err    error
		status int
		msg    string
	}{
		{&HTTPError{Status: 404, Msg: "no such room"}, 404, "no such room"},
		{fmt.Errorf("opening room: %w", &HTTPError{Status: 403, Msg: "not yours"}), 403, "not yours"},
		{errors.New("disk secret"), 500, "internal error"},
		{nil, 500, "internal error"}, // neither a server nor an error
	} {
		for _, body := range []string{initializeBody, modernCall(1, "whoami")} {
			synctest.Test(t, func(t *testing.T) {
				o := openOffice(t, HTTPOptions{}, &http.Server{})
				o.handler.server = func(*http.Request) (*Server, error) { return nil, test.err }
				got := do(t, o.client(t, "ann"), newRequest(t, "POST", "http://office/mcp", body))
				if got.Status != test.status || got.Error.Message != test.msg || string(got.ID) != "1" {
					t.Errorf("with error %v: reply %d %s, want %d %q", test.err, got.Status, got.Body, test.status,
						test.msg)
				}
			})
		}
	}
}

func TestClosedHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := openOffice(t, HTTPOptions{}, &http.Server{})
		c := o.client(t, "ann")
		initialize(t, c)
		o.handler.Close()
		if got := sessionCount(o); got != 0 {
			t.Errorf("%d sessions after Close, want 0", got)
		}
		if got := do(t, c, newRequest(t, "POST", "http://office/mcp",
			initializeBody)); got.Status != http.StatusServiceUnavailable {
			t.Errorf("request after Close = %d, want 503", got.Status)
		}
	})
}

func FuzzParseMessage(f *testing.F) {
	for _, s := range []string{initializeBody, rawCall(1, "x"), modernCall(2, "y"), `[]`, `{}`,
		`{"jsonrpc":"2.0","result":{},"id":"a"}`,
		`{"jsonrpc":"2.0","method":5}`, ` [1]`, `{"jsonrpc":"2.0","method":"a","params":[{"_meta":1}]}`, "\xff", `"`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		msg, ref := parseMessage(body, "test-")
		if ref != nil {
			if json.Valid(body) == (ref.body.Error.Code == -32700) {
				t.Errorf("parseMessage(%q): code %d", body, ref.body.Error.Code)
			}
			if _, err := json.Marshal(ref.body); err != nil {
				t.Errorf("parseMessage(%q): refusal cannot be sent: %v", body, err)
			}
			return
		}
		if !json.Valid(body) {
			t.Errorf("parseMessage(%q) = %+v, want a refusal", body, msg)
		}
		if msg.batch && (msg.method != "" || msg.version != "") {
			t.Errorf("parseMessage(%q) = %+v: a batch has no method", body, msg)
		}
	})
}
