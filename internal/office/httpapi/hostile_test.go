package httpapi

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"pennypost/internal/wire"
)

func TestHostileInput(t *testing.T) {
	const messages, inbox = "/rooms/lab/messages", "/rooms/lab/inbox"
	post := func(body, detail string) want {
		return want{method: "POST", path: messages, body: body, status: 400, detail: detail}
	}
	get := func(path, detail string) want { return want{path: path, status: 400, detail: detail} }
	kind := func(s string) http.Header { return http.Header{"Content-Type": {s}} }
	for name, w := range map[string]want{
		"malformed":      post(`{"to":"ann","body":`, "unexpected EOF"),
		"not JSON":       post(`to=ann`, "invalid character"),
		"two values":     post(`{} {}`, "after top-level value"),
		"an array":       post(`[]`, "JSON array"),
		"unknown member": post(`{"to":"ann","boddy":"x"}`, `unknown member "boddy"`),
		"unknown deep":   post(`{"to":"ann","body":"x","docs":[{"pth":"a"}]}`, `unknown member "docs/0/pth"`),
		"doubled member": post(`{"to":"ann","body":"x","body":"y"}`, `the member "body" occurs twice`),
		"doubled in metadata": post(`{"to":"ann","body":"x","metadata":{"a":1,"a":2}}`,
			`the member "metadata/a" occurs twice`),
		"wrong case":        post(`{"To":"ann","body":"x"}`, `unknown member "To"`),
		"invalid UTF-8":     post("{\"to\":\"ann\",\"body\":\"a\xff\"}", "invalid UTF-8 in \"body\""),
		"lone surrogate":    post(`{"to":"ann","body":"\ud800"}`, "surrogate"),
		"wrong type":        post(`{"to":"ann","body":5}`, `"body" cannot be this JSON number`),
		"number as address": post(`{"to":5}`, `the expected JSON: "to" cannot be this JSON number`),
		"metadata a list":   post(`{"to":"ann","body":"x","metadata":[1]}`, "must be a JSON object"),
		"from is not told":  post(`{"to":"ann","body":"x","from":"user"}`, `unknown member "from"`),
		"NUL in body":       post(`{"to":"ann","body":"a\u0000"}`, "NUL"),
		"null":              post(`null`, "no recipient"),
		"form": {method: "POST", path: messages, body: "{}",
			header: kind("application/x-www-form-urlencoded"), status: 415, detail: "Content-Type: application/json"},
		"no content type": {method: "POST", path: messages, body: "{}", header: kind(""), status: 415,
			detail: "application/json"},
		"Latin-1": {method: "POST", path: messages, body: "{}",
			header: kind("application/json; charset=iso-8859-1"), status: 415},
		"UTF-8 said": {method: "POST", path: messages, body: `{"to":"ann","body":"x"}`,
			header: kind("Application/JSON; charset=UTF-8"), status: 201},
		"bad mark": {method: "POST", path: "/rooms/lab/marks", body: `{"ids":["a"],"mark":"eaten"}`,
			status: 400, detail: "use read"},
		"presented, no door": {method: "POST", path: "/rooms/lab/marks", body: `{"ids":["a"],"mark":"presented"}`,
			status: 400, detail: "door"},
		"two names": {method: "PATCH", path: "/rooms/lab/agents/ann", body: `{"name":"bob"}`, status: 400,
			detail: "rename"},
		"import, one bad": {method: "POST", path: "/rooms/lab/import", header: kind(wire.Lines),
			body: "{\"id\":\"a\"}\n{\"id\":\n", status: 400, detail: "line 2"},
		"import as JSON": {method: "POST", path: "/rooms/lab/import", body: "{}", status: 415,
			detail: wire.Lines},
		"import, endless line": {method: "POST", path: "/rooms/lab/import", header: kind(wire.Lines),
			body: "{\"id\":\"a\"}\n" + strings.Repeat("x", maxImportLine+1), status: 413, detail: "line 2"},

		"NUL in room":    get("/rooms/a%00b", "not a room name"),
		".. as room":     get("/rooms/%2E%2E", "not a room name"),
		".. in room":     get("/rooms/..%2F..%2Fetc/inbox", "not a room name"),
		".. in path":     get("/rooms/../inbox", "'..'"),
		"empty room":     get("/rooms//inbox", "empty segment"),
		"room not UTF-8": get("/rooms/%FF", "not a room name"),
		"room too long":  get("/rooms/"+strings.Repeat("a", 101), "not a room name"),
		"id not UTF-8":   get(messages+"/%FF", "percent-encoded UTF-8"),
		"control in id":  get(messages+"/a%07", "U+0007"),
		"long id":        get(messages+"/"+strings.Repeat("a", 129), "128"),
		"name not UTF-8": {method: "DELETE", path: "/rooms/lab/agents/%FF", status: 400,
			detail: "percent-encoded UTF-8"},
		"negative limit":    get(inbox+"?limit=-1", `"-1" is not a number from 0`),
		"worded limit":      get(inbox+"?limit=many", "limit"),
		"huge limit":        get(inbox+"?limit=99999999999", "limit"),
		"empty limit":       get(inbox+"?limit=", "limit"),
		"negative bytes":    get(inbox+"?bytes=-5", "bytes"),
		"negative cursor":   get(inbox+"?after=-5", "seq"),
		"fractional cursor": get(inbox+"?after=1.5", "seq"),
		"unknown parameter": get(inbox+"?limt=5",
			`unknown query parameter "limt"; this route accepts agent, place, all`),
		"no parameters":     get("/status?verbose=1", "accepts none"),
		"doubled parameter": get(inbox+"?limit=5&limit=6", "2 times"),
		"semicolons":        get(inbox+"?limit=5;after=6", "invalid query in the URL"),
		"bad escape":        get(inbox+"?agent=%zz", "invalid query in the URL"),
		"query not UTF-8":   get(inbox+"?agent=%FF", "UTF-8"),
		"NUL in query":      get(messages+"?search=%00", "NUL"),
		"bad flag":          get(inbox+"?all=yes", "neither true nor false"),
		"bad time":          get(messages+"?since=yesterday", "use the form 2026-05-10T14:00:00Z"),
		"bad type":          get(messages+"?type=status,foo", "the types are"),
		"empty type":        get(messages+"?type=", "joined by commas"),
		"bad thread":        get(messages+"?thread=", "empty"),
		"bad timeout":       get("/rooms/lab/wait?timeout=soon", "write 90 or 90s"),
		"long timeout":      get("/rooms/lab/wait?timeout=2h", "1h0m0s"),
		"negative timeout":  get("/rooms/lab/wait?timeout=-1s", "timeout"),
		"future cursor":     get("/rooms/lab/events?after=99", "future"),
		"future resumption": {path: "/rooms/lab/events", header: http.Header{"Last-Event-Id": {"99"}}, status: 400,
			detail: "future"},
		"bad resumption": {path: "/rooms/lab/events", header: http.Header{"Last-Event-Id": {"x"}}, status: 400,
			detail: "Last-Event-ID"},

		"no such route":    {path: "/nope", status: 404, detail: "openapi.json"},
		"trailing slash":   {path: inbox + "/", status: 404},
		"above the routes": {path: "", status: 404},
		"wrong method":     {method: "PUT", path: messages, status: 405, detail: "use GET, HEAD, POST"},
		"options":          {method: "OPTIONS", path: inbox, status: 405},
		"head of events":   {method: "HEAD", path: "/rooms/lab/events", status: 405},
	} {
		t.Run(name, func(t *testing.T) {
			h, office := newTestAPI(t, Options{})
			resp := w.check(t, h, nil)
			if w.status == 405 && w.method != "HEAD" && resp.Header.Get("Allow") == "" {
				t.Error("405 without Allow")
			}
			if w.status != 201 && len(office.room("lab").items()) != 0 {
				t.Error("something was stored")
			}
		})
	}
}

// bottomless counts the bytes that are read from it.
type bottomless struct{ read int }

func (b *bottomless) Read(p []byte) (int, error) {
	b.read += len(p)
	return copy(p, bytes.Repeat([]byte{'a'}, len(p))), nil
}

func TestLargeBodies(t *testing.T) {
	h, office := newTestAPI(t, Options{MaxImport: 4 << 20})
	for _, c := range []struct {
		path, kind string
		length     int64
		mayRead    int
	}{
		{"/rooms/lab/messages", wire.JSON, 100 << 20, 0},
		{"/rooms/lab/messages", wire.JSON, -1, 3 << 20},
		{"/rooms/lab/marks", wire.JSON, 1<<20 + 1, 0},
		{"/rooms/lab/import", wire.Lines, 100 << 20, 0},
		{"/rooms/lab/import", wire.Lines, -1, 9 << 20},
	} {
		body := &bottomless{}
		r := httptest.NewRequest("POST", wire.Base+c.path, body)
		r.ContentLength = c.length
		r.Header.Set("Content-Type", c.kind)
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, r)
		got, _ := io.ReadAll(rec.Result().Body)
		checkProblem(t, rec.Result(), got, "Nothing was stored")
		if rec.Code != 413 || body.read > c.mayRead {
			t.Errorf("%s with length %d: %d after %d bytes, want 413 after at most %d", c.path, c.length, rec.Code,
				body.read, c.mayRead)
		}
		if rec.Header().Get("Connection") != "close" {
			t.Error("the rest of the body would be read")
		}
	}
	if office.room("lab").last != nil {
		t.Errorf("the room was asked %v", office.room("lab").last)
	}
}

func FuzzSend(f *testing.F) {
	f.Add([]byte(`{"to":"ann","body":"x"}`), "k")
	f.Add([]byte("{\"body\":\"\xff\"}"), "\"\\\"")
	f.Fuzz(func(t *testing.T, body []byte, key string) {
		h, office := newTestAPI(t, Options{})
		w := want{method: "POST", path: "/rooms/lab/messages", body: string(body),
			header: http.Header{wire.KeyHeader: {key}, "Content-Type": {wire.JSON}}}
		resp := w.do(h)
		stored := len(office.room("lab").items())
		if (resp.StatusCode == 201) != (stored == 1) || resp.StatusCode >= 500 {
			t.Errorf("%q: %d, and %d messages", body, resp.StatusCode, stored)
		}
	})
}

func FuzzQuery(f *testing.F) {
	f.Add("type=status&limit=3&since=2026-05-10T14:00:00Z")
	f.Add("%zz&;")
	f.Fuzz(func(t *testing.T, raw string) {
		q, err := parseQuery(raw, of(&wire.HistoryCall).query)
		if (q == nil) == (err == nil) {
			t.Errorf("parseQuery(%q) = %v, %v", raw, q, err)
		}
	})
}
