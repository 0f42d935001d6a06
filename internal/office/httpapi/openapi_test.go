package httpapi

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"pennypost/internal/mail"
	"pennypost/internal/wire"
)

// fetched is the document as a client sees it.
type fetched struct {
	Paths map[string]map[string]struct {
		ID         string `json:"operationId"`
		Parameters []struct{ Name, In string }
		Body       struct {
			Content map[string]struct{ Schema map[string]any }
		} `json:"requestBody"`
		Responses map[string]struct {
			Ref     string `json:"$ref"`
			Content map[string]struct{ Schema map[string]any }
		}
	}
	Components struct{ Schemas map[string]any }
}

func fetch(t *testing.T, h http.Handler) (doc fetched, text string) {
	t.Helper()
	body, err := io.ReadAll(want{path: "/openapi.json"}.do(h).Body)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(body, &doc); err != nil {
		t.Fatal(err)
	}
	return doc, string(body)
}

// validator returns a check of values against a schema of the document. The schemas are ours, the validator is not.
func (doc fetched) validator(t *testing.T, schema map[string]any) func(body []byte) error {
	t.Helper()
	whole := map[string]any{"$defs": doc.Components.Schemas}
	for k, v := range schema {
		whole[k] = v
	}
	b, err := json.Marshal(whole)
	if err != nil {
		t.Fatal(err)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal([]byte(strings.ReplaceAll(string(b), "#/components/schemas/", "#/$defs/")),
		&s); err != nil {
		t.Fatal(err)
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		t.Fatalf("schema %s: %v", b, err)
	}
	return func(body []byte) error {
		var v any
		if err := json.Unmarshal(body, &v); err != nil {
			return err
		}
		return resolved.Validate(v)
	}
}

// TestDocumentIsTheRoutes holds that every route is documented and every documented route exists.
func TestDocumentIsTheRoutes(t *testing.T) {
	h, _ := newTestAPI(t, Options{Stop: func() {}, Notify: fakeNotify{}, GitHub: fakeGitHub{}, Pages: fakePages{},
		Remove: fakeRemove,
		Move:   fakeMove, Restore: fakeRestore, Shards: fakeShards{}, Machines: fakeMachines{}, Try: fakeTry,
		Backup: fakeBackup,
		Attach: fakeAttach, Invites: fakeInvites{},
		Credentials: fakeCredentials{}, Confirmations: fakeConfirmations{}, Away: fakeAway{}, Outbox: fakeOutbox{}})
	doc, text := fetch(t, h)
	if _, again := fetch(t, h); again != text {
		t.Error("the document is not the same twice")
	}
	documented, ids := 0, map[string]bool{}
	for path, ops := range doc.Paths {
		for method, op := range ops {
			documented++
			if ids[op.ID] {
				t.Errorf("operationId %s twice", op.ID)
			}
			ids[op.ID] = true
			real := strings.NewReplacer("{room}", "lab", "{id}", "m1", "{name}", "ann", "{bridge}",
				"haak").Replace(path)
			r := httptest.NewRequest(strings.ToUpper(method), wire.Base+real, nil)
			if _, pattern := h.(*api).mux.Handler(r); pattern != strings.ToUpper(method)+" "+wire.Base+path {
				t.Errorf("%s %s is answered by %q", method, path, pattern)
			}
			if op.Responses["default"].Ref != "#/components/responses/Problem" {
				t.Errorf("%s: no word of problems", op.ID)
			}
			if strings.Count(path, "{") != countIn(op.Parameters, "path") {
				t.Errorf("%s: path parameters %v", path, op.Parameters)
			}
		}
	}
	if n := len(routes(&Options{})); documented != n {
		t.Errorf("%d operations are documented, %d routes exist", documented, n)
	}
}

func countIn(ps []struct{ Name, In string }, in string) (n int) {
	for _, p := range ps {
		if p.In == in {
			n++
		}
	}
	return n
}

// TestDocumentedParameters gives every documented query parameter a good value and then an undocumented one.
func TestDocumentedParameters(t *testing.T) {
	values := map[string]string{
		"type": "status,answer", "since": "2026-05-10T14:00:00Z", "until": "2026-05-10T14:00:00Z", "archive": "true",
		"all":   "false",
		"after": "0", "before": "1", "limit": "1", "bytes": "1", "timeout": "1ms", "door": "rewake",
		"place": "snoozed", "newest": "true", "open": "true", "state": "held,dead", "deliveries": "true",
		"by_sent": "true", "part": "needs", "conversations": "true", "unread": "true", "status": "true",
		"news": "true", "mail": "2", "latest": "true", "before_in": "lab:7,web:1",
	}
	h, office := newTestAPI(t, Options{})
	doc, _ := fetch(t, h)
	for path, ops := range doc.Paths {
		op, ok := ops["get"]
		path = strings.NewReplacer("{room}", "lab", "{id}", "m1").Replace(path)
		if !ok || strings.HasSuffix(path, "/events") { // it does not end; TestEvents tests its parameter
			continue
		}
		(&fakeService{office.room("lab"), "ann"}).Send(t.Context(), mail.Draft{To: mail.Recipients{"bob"}, Body: "hi"})
		for _, p := range op.Parameters {
			if p.In != "query" {
				continue
			}
			value := values[p.Name]
			switch {
			case value == "":
				value = "word"
			case p.Name == "state" && (strings.HasSuffix(path, "/agents") || strings.HasSuffix(path, "/fleet")):
				value = "working,gone"
			case p.Name == "part" && strings.HasSuffix(path, "/fleet"):
				value = "stuck"
			}
			want{path: path + "?" + p.Name + "=" + value, status: 200}.check(t, h, nil)
		}
		want{path: path + "?undocumented=1", status: 400, detail: "undocumented"}.check(t, h, nil)
	}
}

// TestAnswersFitTheSchemas runs a scenario and validates every answer against the document.
func TestAnswersFitTheSchemas(t *testing.T) {
	h, _ := newTestAPI(t, Options{Stop: func() {}, Notify: fakeNotify{}, GitHub: fakeGitHub{}, Pages: fakePages{},
		Remove: fakeRemove,
		Move:   fakeMove, Restore: fakeRestore, Shards: fakeShards{}, Machines: fakeMachines{}, Try: fakeTry,
		Backup: fakeBackup,
		Attach: fakeAttach, Invites: fakeInvites{},
		Credentials: fakeCredentials{}, Confirmations: fakeConfirmations{}, Away: fakeAway{}, Outbox: fakeOutbox{}})
	doc, _ := fetch(t, h)
	for _, w := range scenario() {
		resp := w.do(h)
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		op := doc.Paths[w.name][strings.ToLower(w.method)]
		answer, ok := op.Responses[strconv.Itoa(resp.StatusCode)]
		if !ok {
			t.Fatalf("%s %s = %d %s, which is not documented", w.method, w.path, resp.StatusCode, body)
		}
		for kind, content := range answer.Content {
			if got := resp.Header.Get("Content-Type"); got != kind {
				t.Errorf("%s: Content-Type %s, documented %s", w.path, got, kind)
			}
			validate := doc.validator(t, content.Schema)
			for line := range strings.Lines(string(body)) {
				if err := validate([]byte(line)); err != nil {
					t.Errorf("%s %s: %v: %s", w.method, w.path, err, line)
				}
			}
		}
		for _, content := range op.Body.Content {
			validate := doc.validator(t, content.Schema)
			if err := validate([]byte(w.body)); err != nil {
				t.Errorf("%s %s: the body that was accepted: %v", w.method, w.path, err)
			}
			if w.header == nil && validate([]byte(`{"undocumented":1}`)) == nil {
				t.Errorf("%s %s: the schema allows an unknown member", w.method, w.path)
			}
		}
	}
}

// scenario calls every route but events once. The name is the path in the document.
func scenario() []want {
	const room, lab = "/rooms/{room}", "/rooms/lab"
	return []want{
		{name: "/status", method: "GET", path: "/status"},
		{name: room + "/messages", method: "POST", path: lab + "/messages",
			body: `{"to":["ann"],"type":"status","body":"x","key":"k","docs":[{"path":"a"}],"metadata":{"a":1}}`},
		{name: room + "/messages", method: "POST", path: lab + "/messages", body: `{"to":"ann","body":"x","key":"k"}`},
		{name: room + "/messages", method: "GET", path: lab + "/messages"},
		{name: room + "/messages/{id}", method: "GET", path: lab + "/messages/m1"},
		{name: room + "/inbox", method: "GET", path: lab + "/inbox"},
		{name: room + "/marks", method: "POST", path: lab + "/marks", body: `{"ids":["m1"],"mark":"read"}`},
		{name: room + "/messages/{id}/withdrawal", method: "POST", path: lab + "/messages/m1/withdrawal"},
		{name: room + "/waiting", method: "GET", path: lab + "/waiting"},
		{name: room + "/stuck", method: "GET", path: lab + "/stuck"},
		{name: room + "/wait", method: "GET", path: lab + "/wait"},
		{name: room + "/wait", method: "GET", path: lab + "/wait?after=9&timeout=0"},
		{name: room + "/ring", method: "POST", path: lab + "/ring?door=rewake"},
		{name: room + "/ring", method: "POST", path: lab + "/ring?session=z&timeout=0"},
		{name: room + "/agents", method: "GET", path: lab + "/agents"},
		{name: room + "/agents", method: "POST", path: lab + "/agents",
			body: `{"name":"ann","task":"t","parent":"bob","state":"idle"}`},
		{name: room + "/agents/{name}", method: "PATCH", path: lab + "/agents/ann", body: `{"tags":["project:x"]}`},
		{name: room + "/agents/{name}/rename", method: "POST", path: lab + "/agents/ann/rename", body: `{"to":"bea"}`},
		{name: room + "/agents/{name}/merge", method: "POST", path: lab + "/agents/ann/merge", body: `{"into":"bea"}`},
		{name: room + "/agents/{name}/token", method: "POST", path: lab + "/agents/ann/token"},
		{name: room + "/agents/{name}/guest-token", method: "POST", path: lab + "/agents/ann/guest-token"},
		{name: room + "/agents/{name}/attach", method: "POST", path: lab + "/agents/ann/attach",
			body: `{"terminal":true}`},
		{name: "/place", method: "POST", path: "/place",
			body: `{"client":"claude","own":"lab","free":"claude-x","file_agent":"lead","home":"/x"}`},
		{name: room + "/grants", method: "GET", path: lab + "/grants"},
		{name: room + "/grants", method: "POST", path: lab + "/grants",
			body: `{"agent":"lead","role":"orchestrator","dir":"/src"}`},
		{name: room + "/claims", method: "GET", path: lab + "/claims"},
		{name: room + "/claims", method: "POST", path: lab + "/claims",
			body: `{"take":[{"name":"port:8080"}],"why":"the tests","for":600}`},
		{name: room + "/scheduled", method: "GET", path: lab + "/scheduled"},
		{name: room + "/scheduled/{id}", method: "PATCH", path: lab + "/scheduled/m1", body: `{"in":60}`},
		{name: room + "/scheduled/{id}", method: "DELETE", path: lab + "/scheduled/m1"},
		{name: room + "/agents/{name}", method: "DELETE", path: lab + "/agents/ann"},
		{name: room + "/bridges", method: "GET", path: lab + "/bridges"},
		{name: room + "/bridges", method: "POST", path: lab + "/bridges",
			body: `{"dialect":"haak","dir":"/project","mode":"both"}`},
		{name: room + "/bridges/{bridge}/sync", method: "POST", path: lab + "/bridges/haak/sync"},
		{name: room + "/bridges/{bridge}/rejected", method: "GET", path: lab + "/bridges/haak/rejected"},
		{name: room + "/bridges/{bridge}", method: "DELETE", path: lab + "/bridges/haak"},
		{name: room + "/workspaces", method: "GET", path: lab + "/workspaces"},
		{name: room + "/workspaces", method: "POST", path: lab + "/workspaces",
			body: `{"id":"ws","dir":"/ws","label":"Thesis"}`},
		{name: room + "/workspaces/{name}", method: "DELETE", path: lab + "/workspaces/ann"},
		{name: room + "/turns", method: "POST", path: lab + "/turns", body: `{"moment":"turn-end","session":"s1"}`},
		{name: room + "/dialogs", method: "POST", path: lab + "/dialogs", as: "bob",
			body: `{"id":"d-1","kind":"permission","session":"s1","sum":"` + strings.Repeat("0f", 32) + `"}`},
		{name: "/dialogs", method: "GET", path: "/dialogs"},
		{name: "/dialogs", method: "POST", path: "/dialogs",
			body: `{"dialog":"d-7","sum":"` + strings.Repeat("0f", 32) + `","verdict":"deny","words":"no"}`},
		{name: "/away", method: "GET", path: "/away"},
		{name: "/away", method: "PUT", path: "/away", body: `{"agent":"bob","until":"2026-05-10T16:00:00Z"}`},
		{name: room + "/archive", method: "POST", path: lab + "/archive"},
		{name: room + "/verify", method: "POST", path: lab + "/verify"},
		{name: room + "/repair", method: "POST", path: lab + "/repair"},
		{name: room + "/export", method: "GET", path: lab + "/export"},
		{name: room + "/import", method: "POST", path: lab + "/import",
			header: http.Header{"Content-Type": {wire.Lines}},
			body:   `{"id":"x1","type":"status","from":"agent:a","to":["all"],"body":"old","sent":"2026-05-10T14:00:00Z","seq":0,"read":false}`},
		{name: room + "/github", method: "POST", path: lab + "/github", body: `{"zen":"Keep it logically awesome."}`,
			header: http.Header{"Content-Type": {wire.JSON}, "X-Github-Event": {"ping"}, "X-Hub-Signature-256": {
				"sha256=be906a37453a92ba81b70ac36d2927ec64f4ccdecf0eee4b2b5811b88346b9f4"}}},
		{name: room + "/messages/{id}", method: "DELETE", path: lab + "/messages/m1"},
		{name: room, method: "GET", path: lab},
		{name: room, method: "DELETE", path: lab},
		{name: room + "/desk", method: "GET", path: lab + "/desk"},
		{name: "/desk", method: "GET", path: "/desk"},
		{name: "/fleet", method: "GET", path: "/fleet?part=agents"},
		{name: "/messages", method: "GET", path: "/messages?search=parser"},
		{name: "/rooms", method: "GET", path: "/rooms"},
		{name: "/openapi.json", method: "GET", path: "/openapi.json"},
		{name: "/hooks/{client}/{event}", method: "POST", path: "/hooks/claude/Stop",
			header: http.Header{"Content-Type": {wire.JSON}}, body: `{"session_id":"s1"}`},
		{name: "/taken/{ticket}", method: "POST", path: "/taken/T1"},
		{name: "/notify", method: "GET", path: "/notify"},
		{name: "/notify/test", method: "POST", path: "/notify/test", body: `{"channel":"desktop"}`},
		{name: "/notify/pair", method: "POST", path: "/notify/pair", body: `{"channel":"telegram"}`},
		{name: "/notify/unpair", method: "POST", path: "/notify/unpair", body: `{"channel":"telegram"}`},
		{name: "/login", method: "POST", path: "/login", body: `{"room":"lab"}`},
		{name: "/sessions", method: "GET", path: "/sessions"},
		{name: "/sessions/{session}", method: "DELETE", path: "/sessions/abcdefgh"},
		{name: "/sessions", method: "DELETE", path: "/sessions"},
		{name: "/credentials", method: "POST", path: "/credentials", body: `{"name":"nightly","room":"lab","for_s":60}`},
		{name: "/credentials", method: "GET", path: "/credentials"},
		{name: "/credentials/{name}", method: "DELETE", path: "/credentials/nightly"},
		{name: "/confirmation", method: "POST", path: "/confirmation", body: `{"passphrase":"long enough"}`},
		{name: "/passphrase", method: "PUT", path: "/passphrase", body: `{"new":"long enough"}`},
		{name: "/invites", method: "POST", path: "/invites", body: `{"rooms":["lab"],"agent":"ann","good_s":60}`},
		{name: "/invites", method: "GET", path: "/invites"},
		{name: "/invites/{name}", method: "DELETE", path: "/invites/laptop-2"},
		{name: "/join", method: "POST", path: "/join", body: `{"secret":"h059h6e9zmzr5thg","machine":"laptop-2"}`},
		{name: "/join", method: "DELETE", path: "/join"},
		{name: "/machines", method: "GET", path: "/machines"},
		{name: "/try", method: "POST", path: "/try"},
		{name: "/machines", method: "POST", path: "/machines",
			body: `{"machine":"laptop-2","key":"O2onvM62pC1io6jQKm8Nc2UyFXcd4kOmOsBIoYtZ2ik"}`},
		{name: "/machines/{machine}", method: "DELETE", path: "/machines/laptop-2"},
		{name: "/outbox", method: "GET", path: "/outbox"},
		{name: "/outbox/{key}", method: "DELETE", path: "/outbox/parser"},
		{name: room + "/move", method: "POST", path: lab + "/move", body: `{"to":"jetstream"}`},
		{name: room + "/restore", method: "POST", path: lab + "/restore", body: `{}`},
		{name: "/shards", method: "GET", path: "/shards"},
		{name: "/shards", method: "POST", path: "/shards", body: `{"number":4}`},
		{name: "/backup", method: "GET", path: "/backup"},
		{name: "/stop", method: "POST", path: "/stop"},
	}
}

func TestScenarioIsComplete(t *testing.T) {
	seen := map[string]bool{}
	for _, w := range scenario() {
		seen[w.method+" "+w.name] = true
	}
	for _, rt := range routes(&Options{}) {
		if key := rt.Method + " " + rt.Path; !seen[key] && rt.stream != wire.Events {
			t.Errorf("the scenario lacks %s", key)
		}
	}
}

// TestEventsFitTheSchema validates one event of each kind.
func TestEventsFitTheSchema(t *testing.T) {
	h, _ := newTestAPI(t, Options{})
	doc, _ := fetch(t, h)
	validate := doc.validator(t, doc.Paths["/rooms/{room}/events"]["get"].Responses["200"].Content[wire.Events].Schema)
	for want, e := range map[string]mail.Event{
		"message":    {Message: &mail.Message{Type: mail.Custom, To: []mail.Address{"all"}}},
		"receipt":    {Receipt: &mail.Receipt{Mark: mail.MarkRead}},
		"agent":      {Agent: &mail.AgentChange{Name: "ann"}},
		"erased":     {Erased: &mail.Erasure{Message: "m"}},
		"checkpoint": {Checkpoint: &mail.Checkpoint{}},
		"other":      {},
	} {
		if got := kindOf(&e); got != want {
			t.Errorf("kindOf(%+v) = %s, want %s", e, got, want)
		}
		b, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		if err := validate(b); err != nil {
			t.Errorf("%s: %v", b, err)
		}
	}
}

// TestEveryTypeHasASchema holds that no type reachable from a route falls through to "string" unless it is text.
func TestEveryTypeHasASchema(t *testing.T) {
	names := map[string]reflect.Type{}
	var walk func(reflect.Type, map[reflect.Type]bool)
	walk = func(typ reflect.Type, seen map[reflect.Type]bool) {
		if seen[typ] || wellKnown(typ) != nil {
			return
		}
		seen[typ] = true
		switch typ.Kind() {
		case reflect.Pointer, reflect.Slice:
			walk(typ.Elem(), seen)
		case reflect.Struct:
			if other := names[nameOf(typ)]; other != nil && other != typ {
				t.Errorf("%v and %v have the same name", typ, other)
			}
			names[nameOf(typ)] = typ
			for f := range typ.Fields() {
				if f.Tag.Get("json") != "-" {
					walk(f.Type, seen)
				}
			}
		case reflect.String, reflect.Bool, reflect.Int, reflect.Int64, reflect.Uint64, reflect.Map:
		default:
			t.Errorf("%v has no schema", typ)
		}
	}
	for _, rt := range append(routes(&Options{}), route{out: wire.Problem{}}) {
		for _, v := range []any{rt.in, rt.out} {
			if v != nil {
				walk(reflect.TypeOf(v), map[reflect.Type]bool{})
			}
		}
	}
}
