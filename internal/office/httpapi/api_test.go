package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"pennypost/internal/mail"
	"pennypost/internal/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newTestAPI returns a handler over a fresh fake. The agent header names the caller; "Bearer stranger" is unknown,
// "Bearer ann@lab" is ann in the room lab only.
func newTestAPI(t *testing.T, opts Options) (http.Handler, *fakeOffice) {
	office := newFakeOffice()
	opts.Office, opts.Listen, opts.Hooks = office, fakeListen, fakeHooks{}
	if opts.Local == nil {
		opts.Local = func(*http.Request) bool { return true }
	}
	opts.Authenticate = func(r *http.Request) (mail.Caller, error) {
		switch r.Header.Get("Authorization") {
		case "Bearer stranger":
			return mail.Caller{}, mail.Errorf(mail.Unknown, "that token is not known")
		case "Bearer script":
			return mail.Caller{Name: mail.User, Means: mail.ByScript}, nil
		case "Bearer laptop":
			return mail.Caller{Name: mail.User, Means: mail.ByRelay, Pass: &mail.Pass{Machine: "laptop"}}, nil
		case "Bearer ann@lab":
			return mail.Caller{Name: "ann", Room: "lab"}, nil
		}
		name, err := wire.Agent(r.Header)
		return mail.Caller{Name: name}, err
	}
	if opts.Log == nil {
		opts.Log = slog.New(slog.NewTextHandler(t.Output(), nil))
	}
	return New(opts), office
}

// want describes one request and its expected answer.
type want struct {
	name   string
	method string // default GET
	path   string // below /api/v1
	as     mail.Name
	header http.Header
	body   string // JSON unless header says otherwise
	status int
	last   any    // the argument that the room received
	detail string // part of a problem's detail
	has    string // part of the body
}

func (w want) do(h http.Handler) *http.Response {
	method := w.method
	if method == "" {
		method = http.MethodGet
	}
	r := httptest.NewRequest(method, "https://example.com"+wire.Base+w.path, strings.NewReader(w.body))
	if w.body != "" {
		r.Header.Set("Content-Type", wire.JSON)
	}
	if w.as != "" {
		wire.SetAgent(r.Header, w.as)
	}
	for k, v := range w.header {
		r.Header[k] = v
	}
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, r)
	return rec.Result()
}

// check performs the request and compares.
func (w want) check(t *testing.T, h http.Handler, room *fakeRoom) *http.Response {
	t.Helper()
	resp := w.do(h)
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != w.status {
		t.Fatalf("%s %s = %d %s, want %d", w.method, w.path, resp.StatusCode, body, w.status)
	}
	if w.last != nil {
		if diff := cmp.Diff(w.last, room.last); diff != "" {
			t.Errorf("the room was asked (-want +got):\n%s", diff)
		}
	}
	if !strings.Contains(string(body), w.has) {
		t.Errorf("body %s lacks %q", body, w.has)
	}
	if w.status >= 400 {
		checkProblem(t, resp, body, w.detail)
	}
	return resp
}

func checkProblem(t *testing.T, resp *http.Response, body []byte, detail string) {
	t.Helper()
	var p wire.Problem
	if err := json.Unmarshal(body, &p); err != nil || resp.Header.Get("Content-Type") != wire.ProblemJSON {
		t.Fatalf("%s %s is no problem: %v", resp.Header.Get("Content-Type"), body, err)
	}
	if p.Status != resp.StatusCode || p.Title == "" || p.Type != "urn:pennypost:problem:"+string(p.Code) {
		t.Errorf("problem = %+v", p)
	}
	if !strings.Contains(p.Detail, detail) {
		t.Errorf("detail %q lacks %q", p.Detail, detail)
	}
}

func TestRoutes(t *testing.T) {
	const lab = "/rooms/lab"
	const item = `{"id":"x1","type":"status","from":"agent:a","to":["all"],"body":"old","sent":"2026-05-10T14:00:00Z","seq":0,"read":false}`
	lines := http.Header{"Content-Type": {wire.Lines}}
	for _, w := range []want{
		{name: "status", path: "/status", status: 200, has: `"version":"v1"`},
		{name: "rooms", path: "/rooms", status: 200, has: `{"rooms":[`},
		{name: "room", path: lab, status: 200, has: `"name":"lab"`},
		{name: "room in Han", path: "/rooms/%E4%B8%96%E7%95%8C", status: 200, has: `"name":"世界"`},
		{name: "send", method: "POST", path: lab + "/messages", as: "小克 builder",
			body:   `{"to":"ann","body":"hi","metadata":{"a":[1]}}`,
			status: 201, last: mail.Draft{To: mail.Recipients{"ann"}, Body: "hi",
				Metadata: mail.Metadata(`{"a":[1]}`)}, has: `"state":"queued"`},
		{name: "history", path: lab +
			"/messages?type=status,question&from=ann&to=role:b&agent=a%2Fb&thread=t&issue=i" +
			"&since=2026-05-10T14:00:00Z&until=2026-05-10T16:00:00%2B01:00" +
			"&search=%E4%B8%96&archive=true&after=3&before=9&limit=7" +
			"&state=held,dead&deliveries=true", status: 200,
			last: mail.HistoryQuery{Types: []mail.Type{mail.Status, mail.Question}, From: "ann", To: "role:b",
				Agent: "a/b", Thread: "t", Issue: "i",
				Since: 1778421600000, Until: 1778425200000, Search: "世",
				States: []mail.DeliveryState{mail.Held, mail.Dead}, Deliveries: true, Archive: true, After: 3,
				Before: 9, Limit: 7}},
		{name: "message", path: lab + "/messages/m1", status: 200, last: mail.ID("m1"), has: `"deliveries":[`},
		{name: "message with odd id", path: lab + "/messages/%2E%2E%2F%3F", status: 404, last: mail.ID("../?"),
			detail: "there is no message"},
		{name: "erase", method: "DELETE", path: lab + "/messages/m1", status: 204, last: mail.ID("m1")},
		{name: "inbox", path: lab +
			"/inbox?agent=user&place=snoozed&all=1&newest=true&after=2&before=9&from=ann&type=answer&limit=3&bytes=4",
			status: 200,
			last: mail.InboxQuery{Agent: "user", Place: mail.InSnoozed, All: true, Newest: true, After: 2, Before: 9,
				From: "ann", Types: []mail.Type{mail.Answer}, Limit: 3, Bytes: 4}, has: `"unread":`},
		{name: "empty inbox query", path: lab + "/inbox", status: 200, last: mail.InboxQuery{}},
		{name: "mark", method: "POST", path: lab + "/marks", body: `{"ids":["m1"],"mark":"read"}`, status: 200,
			last: mail.Marking{IDs: []mail.ID{"m1"}, Mark: mail.MarkRead}, has: `"marked":["m1"]`},
		{name: "snooze", method: "POST", path: lab + "/marks",
			body: `{"ids":["m1"],"mark":"snoozed","until":"2026-05-10T14:00:00Z"}`, status: 200,
			last: mail.Marking{IDs: []mail.ID{"m1"}, Mark: mail.MarkSnoozed, Until: 1778421600000}},
		{name: "present", method: "POST", path: lab + "/marks",
			body: `{"ids":["m1"],"mark":"presented","door":"hook"}`, status: 200},
		{name: "wait", path: lab + "/wait?timeout=5&after=0&type=custom&reply_to=q", status: 200,
			last: mail.WaitQuery{Types: []mail.Type{mail.Custom}, ReplyTo: "q"}, has: `"id":"m1"`},
		{name: "wait is over", path: lab + "/wait?timeout=1ms&after=99", status: 200, has: "null\n"},
		{name: "agents", path: lab + "/agents", status: 200, has: `{"agents":[{"name":"小克 builder"`},
		{name: "register", method: "POST", path: lab + "/agents",
			body: `{"name":"bob","roles":["builder"],"task":null}`, status: 200,
			last: mail.Presence{Name: "bob", Roles: []string{"builder"}}},
		{name: "update", method: "PATCH", path: lab + "/agents/%E5%B0%8F%E5%85%8B%20builder",
			body: `{"state":"working","tags":[]}`, status: 200,
			last: mail.Presence{Name: "小克 builder", State: mail.Working, Tags: []string{}, Update: true}},
		{name: "retire", method: "DELETE", path: lab + "/agents/a%2Fb%25", status: 204, last: mail.Name("a/b%")},
		{name: "rename", method: "POST", path: lab + "/agents/%2E%2E/rename", body: `{"to":"ann"}`, status: 200,
			last: [2]mail.Name{"..", "ann"}, has: `"name":"ann"`},
		{name: "merge", method: "POST", path: lab + "/agents/bob/merge", body: `{"into":"ann"}`, status: 200,
			last: [2]mail.Name{"bob", "ann"}, has: `"name":"ann"`},
		{name: "token", method: "POST", path: lab + "/agents/ann/token", status: 200, last: mail.Name("ann"),
			has: `{"token":"secret-of-ann"}`},
		{name: "archive", method: "POST", path: lab + "/archive", status: 200, has: `"kept":1`},
		{name: "verify", method: "POST", path: lab + "/verify", status: 200, has: `"problems":[{`},
		{name: "export", path: lab + "/export", status: 200, has: `"body":"hi"`},
		{name: "import", method: "POST", path: lab + "/import", header: lines, body: item + "\n\n" + item, status: 200,
			has: `"added":2`},
		{name: "openapi", path: "/openapi.json", status: 200, has: `"openapi":"3.1.1"`},
		{name: "login", method: "POST", path: "/login", body: `{"room":"lab"}`, status: 201,
			has: `{"url":"http://pages/login?lab"}`},
		{name: "login plainly", method: "POST", path: "/login", body: `{"plain":true}`, status: 201,
			has: `{"url":"http://127.0.0.1/login?"}`},
		{name: "sessions", path: "/sessions", status: 200,
			has: `{"sessions":[{"id":"abcdefgh","browser":"Firefox on Linux",`},
		{name: "end a session", method: "DELETE", path: "/sessions/abcdefgh", status: 204},
		{name: "end no session", method: "DELETE", path: "/sessions/other", status: 404, detail: "no session other"},
		{name: "end sessions", method: "DELETE", path: "/sessions", status: 204},
		{name: "end a session without a name", method: "DELETE", path: "/sessions/", status: 404},
		{name: "stop", method: "POST", path: "/stop", status: 202},
		{name: "remove", method: "DELETE", path: lab, status: 200, has: `{"room":"lab","files":"/removed/lab"}`},
		{name: "head", method: "HEAD", path: lab + "/inbox", status: 200},
	} {
		t.Run(w.name, func(t *testing.T) {
			h, office := newTestAPI(t, Options{
				Stop:   func() {},
				Remove: fakeRemove,
				Move:   fakeMove, Restore: fakeRestore, Shards: fakeShards{}, Machines: fakeMachines{}, Try: fakeTry,
				Pages: fakePages{}, Notify: fakeNotify{},
				Status: func(context.Context) (wire.Status, error) {
					return wire.Status{Version: "v1", Home: "/secret"}, nil
				},
			})
			room := office.room("lab")
			if _, err := (&fakeService{room, "ann"}).Send(t.Context(),
				mail.Draft{To: mail.Recipients{"bob"}, Body: "hi"}); err != nil {
				t.Fatal(err)
			}
			w.check(t, h, room)
			if w.as != "" && room.caller != w.as {
				t.Errorf("caller = %q, want %q", room.caller, w.as)
			}
		})
	}
}

func TestIdempotencyKey(t *testing.T) {
	h, office := newTestAPI(t, Options{})
	send := want{method: "POST", path: "/rooms/lab/messages", body: `{"to":["ann"],"body":"once"}`, status: 201}
	send.header = http.Header{wire.KeyHeader: {"k 1"}}
	first := send.check(t, h, nil).Header.Get("Location")
	if first != "/api/v1/rooms/lab/messages/m1" {
		t.Errorf("Location = %q", first)
	}
	send.status, send.has = 200, `"duplicate":true`
	send.header = http.Header{wire.KeyHeader: {`"k 1"`}}
	if again := send.check(t, h, nil).Header.Get("Location"); again != first {
		t.Errorf("Location = %q, then %q", first, again)
	}
	send.header, send.body = nil, `{"to":["ann"],"body":"once","key":"k 1"}`
	send.check(t, h, nil)
	if n := len(office.room("lab").items()); n != 1 {
		t.Errorf("%d messages, want 1", n)
	}
	send.status, send.has, send.detail = 400, "", "one idempotency key"
	for _, keys := range [][]string{{"other"}, {""}, {"a", "b"}} {
		send.header = http.Header{wire.KeyHeader: keys}
		send.check(t, h, nil)
	}
}

func TestWhoMayDoWhat(t *testing.T) {
	bound, stranger := http.Header{"Authorization": {"Bearer ann@lab"}},
		http.Header{"Authorization": {"Bearer stranger"}}
	h, office := newTestAPI(t, Options{Status: func(context.Context) (wire.Status, error) {
		return wire.Status{Home: "/secret"}, nil
	}})
	office.room("lab")
	office.room("other")
	for _, w := range []want{
		{path: "/rooms/lab", header: stranger, status: 401, detail: "not known"},
		{path: "/rooms/lab", header: bound, status: 200},
		{path: "/rooms/other", header: bound, status: 403, detail: "lab only"},
		{path: "/rooms", header: bound, status: 200},
		{method: "POST", path: "/stop", header: bound, status: 403, detail: "only the user"},
		{method: "POST", path: "/stop", as: "ann", status: 403, detail: "only the user"},
		{method: "POST", path: "/stop", status: 503, detail: "cannot be stopped"},
		{method: "POST", path: "/rooms/lab/import", as: "ann", header: http.Header{"Content-Type": {"text/plain"}},
			status: 403},
		{path: "/rooms/lab", header: http.Header{wire.AgentHeader: {"%zz"}}, status: 400, detail: "percent-encoded"},
		{path: "/rooms/lab", header: http.Header{wire.AgentHeader: {"system"}}, status: 403, detail: "reserved"},
	} {
		resp := w.check(t, h, office.room("lab"))
		if challenge := resp.Header.Get("WWW-Authenticate"); (w.status == 401) != (challenge != "") {
			t.Errorf("%d with WWW-Authenticate %q", w.status, challenge)
		}
	}
	body := func(w want) string {
		b, _ := io.ReadAll(w.do(h).Body)
		return string(b)
	}
	if got := body(want{path: "/rooms", header: bound}); strings.Contains(got, "other") {
		t.Errorf("ann@lab sees the rooms %s", got)
	}
	if got := body(want{path: "/status", as: "ann"}); strings.Contains(got, "secret") {
		t.Errorf("ann is told where the files are: %s", got)
	}
}

func TestErrors(t *testing.T) {
	for code, status := range map[mail.Code]int{
		mail.Invalid: 400, mail.Unknown: 401, mail.Denied: 403, mail.NotFound: 404, mail.Conflict: 409,
		mail.TooLarge: 413,
		mail.Limited:  429, mail.Timeout: 504, mail.Unavailable: 503, mail.Internal: 500,
	} {
		var log strings.Builder
		h, office := newTestAPI(t, Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
		office.room("lab").fail = &mail.Error{Code: code, Msg: "for everybody", Err: errors.New("private cause")}
		resp := want{path: "/rooms/lab/inbox"}.do(h)
		body, _ := io.ReadAll(resp.Body)
		if resp.StatusCode != status || !strings.Contains(string(body), "for everybody") ||
			strings.Contains(string(body), "private") {
			t.Errorf("%s: %d %s, want %d without the cause", code, resp.StatusCode, body, status)
		}
		logged := strings.Contains(log.String(), "private cause")
		if ours := code == mail.Internal || code == mail.Unavailable; logged != ours {
			t.Errorf("%s: cause logged: %v, want %v", code, logged, ours)
		}
	}
	h, office := newTestAPI(t, Options{})
	office.room("lab").fail = errors.New("open /secret: permission denied")
	want{path: "/rooms/lab/inbox", status: 500, detail: "in the log of the post office"}.check(t, h, nil)
}

func TestPanic(t *testing.T) {
	var log strings.Builder
	h, office := newTestAPI(t, Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	office.room("lab").panics = "broken invariant"
	want{path: "/rooms/lab/inbox", status: 500, detail: "check before you repeat it"}.check(t, h, nil)
	if !strings.Contains(log.String(), "broken invariant") || !strings.Contains(log.String(), "fake_test.go") {
		t.Errorf("the log has no panic with its stack: %s", log.String())
	}
	office.room("lab").panics = nil
	want{path: "/rooms/lab/inbox", status: 200}.check(t, h, nil)
}

func TestNoBodiesInLogs(t *testing.T) {
	var log strings.Builder
	h, _ := newTestAPI(t,
		Options{Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	want{method: "POST", path: "/rooms/lab/messages", body: `{"to":"ann","body":"sesame"}`, status: 201}.check(t, h,
		nil)
	want{method: "POST", path: "/rooms/lab/messages", body: `{"to":"ann","body":"sesame","sesame":1}`,
		status: 400}.check(t, h, nil)
	want{path: "/rooms/lab/messages?search=sesame", status: 200}.check(t, h, nil)
	if strings.Contains(log.String(), "sesame") || !strings.Contains(log.String(), "op=send") {
		t.Errorf("log:\n%s", log.String())
	}
}
