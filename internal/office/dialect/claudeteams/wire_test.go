package claudeteams

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
)

// fixtures returns the directory of the captured teams: outside the repository, because we may not publish them.
func fixtures(t testing.TB) string {
	dir := os.Getenv("PENNYPOST_FIXTURES")
	if dir == "" {
		dir = "../../../../../shared/fixtures"
	}
	dir = filepath.Join(dir, "claude-teams")
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("%s is not there", dir)
	}
	return dir
}

// walk calls f with every JSON file of the fixtures.
func walk(t testing.TB, f func(path string, text []byte)) {
	err := filepath.WalkDir(fixtures(t), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".json" {
			return err
		}
		text, err := os.ReadFile(path)
		if err == nil {
			f(path, text)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// again decodes and encodes an inbox.
func again(text []byte) ([]byte, bool) {
	a, ok := parseInbox(text, 0)
	if !ok {
		return nil, false
	}
	return neatArray(a.elements), true
}

func TestFixturesRoundTrip(t *testing.T) {
	n, configs := 0, 0
	walk(t, func(path string, text []byte) {
		if isBlank(text) { // a new, blank inbox does not round-trip: TestBlankInbox
			return
		}
		if c, ok := parseConfig(text); ok {
			configs++
			if got := c.neat(); !cmp.Equal(string(got), string(text)) {
				t.Errorf("%s: %s", path, cmp.Diff(string(text), string(got)))
			}
			return
		}
		a, ok := parseInbox(text, 0)
		base := filepath.Base(path)
		switch {
		case base == "torn.json":
			if ok {
				t.Errorf("%s is not an array, and was read", path)
			}
		case base == "malformed.json":
			if !ok || a.neat || len(a.elements) != 4 {
				t.Errorf("%s: ok %v, neat %v, %d elements, want 4 elements that are not laid out", path, ok, a.neat,
					len(a.elements))
			}
		case !ok || !a.neat && string(text) != "[]":
			t.Errorf("%s: ok %v, neat %v", path, ok, a.neat)
		default:
			n++
			if got, _ := again(text); string(got) != string(text) {
				t.Errorf("%s: %s", path, cmp.Diff(string(text), string(got)))
			}
			if got := a.join(nil); string(got) != string(text) {
				t.Errorf("%s joined with nothing: %s", path, cmp.Diff(string(text), string(got)))
			}
		}
	})
	if n == 0 || configs == 0 {
		t.Errorf("%d inboxes and %d configs, want some", n, configs)
	}
}

// TestFixtureEntries compares the captures with the document, and our encoding with both.
func TestFixtureEntries(t *testing.T) {
	iso := regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`)
	plain, frames := 0, 0
	walk(t, func(path string, text []byte) {
		a, ok := parseInbox(text, 0)
		if !ok || !a.neat {
			return
		}
		for i, raw := range a.elements {
			e, why, _ := parseEntry(raw)
			if why != "" {
				t.Errorf("%s: entry %d: %s", path, i, why)
				continue
			}
			if !iso.MatchString(e.Timestamp) {
				t.Errorf("CC-04: %s: entry %d has the timestamp %q", path, i, e.Timestamp)
			}
			if _, ok := classify(e.Text); ok {
				frames++
				if e.Summary != "" {
					t.Errorf("CC-05: %s: entry %d is a frame with a summary", path, i)
				}
			} else {
				plain++
			}
			again, _, _ := parseEntry(e.neat())
			again.stamp = e.stamp
			if diff := cmp.Diff(e, again, cmp.AllowUnexported(entry{}, field{})); diff != "" {
				t.Errorf("%s: entry %d: decode(encode(e)) (-want +got):\n%s", path, i, diff)
			}
			// We write both wires except the one between them (a type, and no msgV).
			if o, _ := parseObject(raw); (o.raw("type") != nil) == (o.raw("msgV") != nil) &&
				string(e.neat()) != string(raw) {
				t.Errorf("CC-03: %s: entry %d: %s", path, i, cmp.Diff(string(raw), string(e.neat())))
			}
		}
	})
	if plain == 0 || frames == 0 {
		t.Errorf("%d plain and %d frames, want some of both", plain, frames)
	}
}

func TestEntryWire(t *testing.T) {
	at := mustTime(t, "2026-02-07T15:35:15.573Z")
	full := entry{From: "doc-writer-1", Text: "a <b> & \u2028 \"q\" \\ \x1f\b\f\n\r\t \x7f ✓/", Summary: "s",
		Color: "blue", Timestamp: at.String(), Read: true, sent: at}
	native := full
	native.native, native.MsgID, native.Read = true, "00000000-0000-4000-8000-000000000011", false
	for name, test := range map[string]struct {
		e    entry
		want string
	}{
		"CC-03 the seed's keys": {full, `{
    "from": "doc-writer-1",
    "text": "a <b> & ` + "\u2028" + ` \"q\" \\ \u001f\b\f\n\r\t ` + "\x7f" + ` ✓/",
    "summary": "s",
    "timestamp": "2026-02-07T15:35:15.573Z",
    "color": "blue",
    "read": true
  }`},
		"CC-03 only what is needed": {entry{From: "a", Text: "t", Timestamp: at.String(), sent: at}, `{
    "from": "a",
    "text": "t",
    "timestamp": "2026-02-07T15:35:15.573Z",
    "read": false
  }`},
		"native": {native, `{
    "from": "doc-writer-1",
    "text": "a <b> & ` + "\u2028" + ` \"q\" \\ \u001f\b\f\n\r\t ` + "\x7f" + ` ✓/",
    "summary": "s",
    "timestamp": "2026-02-07T15:35:15.573Z",
    "color": "blue",
    "msgV": 1,
    "msg_id": "00000000-0000-4000-8000-000000000011",
    "type": "message",
    "read": false
  }`},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, string(test.e.neat())); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			got, why, _ := parseEntry(test.e.neat())
			got.stamp = nil
			if diff := cmp.Diff(test.e, got, cmp.AllowUnexported(entry{}, field{})); why != "" || diff != "" {
				t.Errorf("decode(encode(e)): %s (-want +got):\n%s", why, diff)
			}
		})
	}
}

func mustTime(t testing.TB, s string) mail.Time {
	t.Helper()
	at, err := mail.ParseTime(s)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func TestParseEntry(t *testing.T) {
	const at = `"timestamp":"2026-02-07T15:35:15.573Z"`
	for _, test := range []struct {
		name, raw string
		why       string
		junk      bool
		sent      string
	}{
		{"X14 null color and summary", `{"from":"a","text":"t","summary":null,"color":null,` + at + `,"read":false}`,
			"", false, "2026-02-07T15:35:15.573Z"},
		{"X14 microseconds and offset",
			`{"read":true,"timestamp":"2026-02-07T16:35:15.573123+01:00","text":"t","from":"a"}`, "", false,
			"2026-02-07T15:35:15.573Z"},
		{"X14 no offset", `{"from":"a","text":"t","timestamp":"2026-02-07 15:35:15.573123","read":false}`, "", false,
			"2026-02-07T15:35:15.573Z"},
		{"milliseconds and content", `{"from":"a","content":"t","timestamp":1770478515573}`, "", false,
			"2026-02-07T15:35:15.573Z"},
		{"a repeated member", `{"from":"b","from":"a","text":"t",` + at + `}`, "", false, "2026-02-07T15:35:15.573Z"},
		{"an escaped member name", `{"\u0066rom":"a","text":"t",` + at + `}`, "", false, "2026-02-07T15:35:15.573Z"},
		{"not an object", `"str"`, "it is not an object", true, ""},
		{"null", `null`, "it is not an object", true, ""},
		{"sender a number", `{"from":3}`, "it has no sender", true, ""},
		{"no text", `{"from":"a",` + at + `}`, "it has no text", false, ""},
		{"no time", `{"from":"a","text":"t","read":false}`, "it has no time", false, ""},
		{"a time before 1970", `{"from":"a","text":"t","timestamp":"1960-01-01T00:00:00Z"}`, "", false, ""},
		{"no time that can be told", `{"from":"a","text":"t","timestamp":"yesterday"}`, "", false, ""},
		{"as JavaScript prints it", `{"from":"a","text":"t","timestamp":` +
			`"Sat Feb 07 2026 16:35:15 GMT+0100 (Central European Standard Time)"}`, "", false,
			"2026-02-07T15:35:15.000Z"},
		{"as HTTP has it", `{"from":"a","text":"t","timestamp":"Sat, 07 Feb 2026 15:35:15 GMT"}`, "", false,
			"2026-02-07T15:35:15.000Z"},
		{"a date", `{"from":"a","text":"t","timestamp":"2026-02-07"}`, "", false, "2026-02-07T00:00:00.000Z"},
		{"no name", `{"from":"","text":"t",` + at + `}`, "", false, "2026-02-07T15:35:15.573Z"},
		{"an id that is none", `{"from":"a","text":"t",` + at + `,"msg_id":7}`, "", false,
			"2026-02-07T15:35:15.573Z"},
		{"a time beyond all", `{"from":"a","text":"t","timestamp":1e300}`, "it has no time", false, ""},
		{"read a word", `{"from":"a","text":"t",` + at + `,"read":"yes"}`, "read is neither true nor false", false,
			""},
		{"color a number", `{"from":"a","text":"t",` + at + `,"color":7}`, "a member is not a string", false, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			e, why, junk := parseEntry([]byte(test.raw))
			if why != test.why || junk != test.junk || why == "" && e.sent.String() != test.sent {
				t.Errorf("parseEntry = %q, junk %v, sent %v; want %q, %v, %s", why, junk, e.sent, test.why, test.junk,
					test.sent)
			}
		})
	}
}

func TestClassify(t *testing.T) {
	for _, test := range []struct {
		text  string
		frame bool
		kind  string
		typ   mail.Type
	}{
		{"hello", false, "", ""},
		{"", false, "", ""},
		{"{hello", false, "", ""},
		{`{"a":1}`, false, "", ""}, // X13
		{`{"type":3}`, false, "", ""},
		{`[1]`, false, "", ""},
		{` {"type":"idle_notification","from":"a","idleReason":"available"}`, false, "", ""},
		{`{"type":"nope"}`, true, "nope", mail.Custom}, // X13
		{`{"type":"idle_notification"}`, true, "idle_notification", mail.Custom},
		{`{"type":"idle_notification","from":"a","idleReason":"available"}` + " \n", true, "idle_notification",
			mail.Status},
		{`{"type":"plan_approval_response","requestId":"p","approved":"yes"}`, true, "plan_approval_response",
			mail.Custom},
		{`{"type":"plan_approval_response","requestId":"p","approved":false}`, true, "plan_approval_response",
			mail.ReviewResult},
	} {
		t.Run("CC-12 "+test.text, func(t *testing.T) {
			f, ok := classify(test.text)
			if ok != test.frame {
				t.Fatalf("classify = %v, want %v", ok, test.frame)
			}
			if ok && (f.kind != test.kind || f.typ() != test.typ) {
				t.Errorf("classify = %q %q, want %q %q", f.kind, f.typ(), test.kind, test.typ)
			}
		})
	}
}

// TestFrames checks the mail that each frame becomes.
func TestFrames(t *testing.T) {
	for _, test := range []struct {
		name, text    string
		typ           mail.Type
		subject, body string
		more          string // in the metadata
	}{
		{"CC-06 idle",
			`{"type":"idle_notification","from":"a","timestamp":"2026-02-07T15:20:49.498Z","idleReason":"available"}`,
			mail.Status, "idle: available", "idle: available", `"idleReason":"available"`},
		{"idle failed", `{"type":"idle_notification","from":"a","idleReason":"failed","failureReason":"tests failed"}`,
			mail.Status, "idle: failed", "tests failed", ""},
		{"CC-07 shutdown request",
			`{"type":"shutdown_request","requestId":"shutdown-1@a","from":"l","reason":"Thank you!"}`, mail.Custom,
			"shutdown requested", "Thank you!", `"requestId":"shutdown-1@a"`},
		{"CC-08 shutdown response", `{"type":"shutdown_response","requestId":"r","approved":true}`, mail.Custom,
			"shutdown approved", "shutdown approved", ""},
		{"X2 rejected with content", `{"type":"shutdown_response","requestId":"r","approved":false,"content":"busy"}`,
			mail.Custom, "shutdown rejected", "busy", ""},
		{"X1 native approval",
			`{"type":"shutdown_approved","requestId":"r","from":"a","paneId":"%7","backendType":"tmux"}`, mail.Custom,
			"shutdown approved", "shutdown approved", `"paneId":"%7"`},
		{"X1 native rejection", `{"type":"shutdown_rejected","requestId":"r","from":"a","reason":"busy"}`, mail.Custom,
			"shutdown rejected", "busy", ""},
		{"CC-09 task",
			`{"type":"task_assignment","taskId":"3","subject":"Review","description":"Review store.go","assignedBy":"l"}`, mail.TaskAssigned, "Review", "Review store.go", ""},
		{"CC-10 plan", `{"type":"plan_approval_request","requestId":"p","from":"a","plan":"# Plan"}`,
			mail.ReviewRequest, "plan for approval", "# Plan", ""},
		{"X3 native plan", `{"type":"plan_approval_request","from":"a","requestId":"p","planContent":"# Plan"}`,
			mail.ReviewRequest, "plan for approval", "# Plan", ""},
		{"plan answered", `{"type":"plan_approval_response","requestId":"p","approved":false,"feedback":"smaller"}`,
			mail.ReviewResult, "plan rejected", "smaller", `"verdict":"changes-requested"`},
		{"plan approved", `{"type":"plan_approval_response","requestId":"p","approved":true}`, mail.ReviewResult,
			"plan approved", "plan approved", `"verdict":"approved"`},
		{"permission",
			`{"type":"permission_request","request_id":"perm-1","tool_name":"Bash","description":"Run tests","input":{}}`, mail.Question, "permission asked: Bash", "Run tests", `"input":{}`},
		{"permission answered", `{"type":"permission_response","request_id":"perm-1","subtype":"success"}`,
			mail.Answer, "permission answered: success", "permission answered: success", ""},
		{"task completed", `{"type":"task_completed","taskId":"3"}`, mail.TaskDone, "task completed", "task completed",
			""},
		{"terminated", `{"type":"teammate_terminated","message":"a has ended"}`, mail.Status, "teammate terminated",
			"a has ended", ""},
		{"mode", `{"type":"mode_set_request","mode":"plan","from":"l"}`, mail.Custom, "mode: plan", "mode: plan", ""},
		{"unknown", `{"type":"some_future_type","x":1}`, mail.Custom, "some_future_type",
			`{"type":"some_future_type","x":1}`, `"x":1`},
		{"a repeated member", `{"x":1,"type":"task_completed","x":{"y":[1,{"z":"\ud800","z":2}]}}`, mail.TaskDone,
			"task completed", "task completed",
			`"payload":{"x":{"y":[1,{"z":2}]},"type":"task_completed"}`},
		{"too long for metadata", `{"type":"plan_approval_request","requestId":"p","plan":"` +
			strings.Repeat("x", mail.MaxKept) + `"}`, mail.ReviewRequest, "plan for approval",
			`{"type":"plan_approval_request","requestId":"p","plan":"` + strings.Repeat("x", mail.MaxKept) + `"}`,
			`"type":"plan_approval_request"`},
	} {
		t.Run("CC-11 "+test.name, func(t *testing.T) {
			l := letter{entry: entry{From: "a", Text: test.text, Timestamp: "2026-02-07T15:20:49.498Z", Color: "blue"},
				id: "x", team: "t", from: "agent:a", to: "b"}
			l.sent = mustTime(t, l.Timestamp)
			it := l.item()
			if it.Type != test.typ || it.Subject != test.subject || it.Body != test.body {
				t.Errorf("type %q, subject %q, body %q; want %q, %q, %q", it.Type, it.Subject, it.Body, test.typ,
					test.subject, test.body)
			}
			if !strings.Contains(string(it.Metadata), test.more) || !json.Valid(it.Metadata) ||
				len(it.Metadata) > mail.MaxKept {
				t.Errorf("metadata %s lacks %s", it.Metadata, test.more)
			}
			repeated := strings.Contains(test.text, `"x":1,`) && test.typ == mail.TaskDone
			if it.Body != test.text && !repeated && string(carriedBy(it.Metadata).raw("payload")) != test.text {
				t.Errorf("the payload is %s, want %s", carriedBy(it.Metadata).raw("payload"), test.text)
			}
		})
	}
}

func TestPlainLetter(t *testing.T) {
	l := letter{
		entry: entry{From: "a", Text: "two\nlines\x00 \xff", Summary: strings.Repeat("é", 600),
			Timestamp: "2026-02-07T16:20:49.498123+01:00", Color: "blue", Read: true,
			extra: object{{[]byte(`"zeta"`), []byte(`"kept"`)}, {[]byte(`"alpha"`), []byte("{\n \"n\": 1}")}}},
		id: "x", team: "t", from: "agent:a", to: "b",
	}
	l.sent = mustTime(t, l.Timestamp)
	got := l.item()
	want := mail.Item{
		Message: mail.Message{
			ID: "x", Type: mail.Custom, From: "agent:a", To: []mail.Address{"agent:b"}, Sent: l.sent,
			Subject: strings.Repeat("é", 510) + "…", Body: "two\nlines\ufffd \ufffd",
			Metadata: mail.Metadata(
				`{"claudeteams":{"team":"t","color":"blue","timestamp":"2026-02-07T16:20:49.498123+01:00","extra":{"zeta":"kept","alpha":{"n":1}}}}`),
		},
		Deliveries: []mail.Delivery{{Address: "agent:b", Agent: "b", State: mail.Read, At: l.sent}},
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestDisarm: no text of the room is taken for a frame.
func TestDisarm(t *testing.T) {
	for in, want := range map[string]string{
		"hello":                       "hello",
		"{hello":                      "{hello",
		`{"type":"shutdown_request"}`: "```json\n{\"type\":\"shutdown_request\"}\n```",
		" \ufeff\n{\"type\":\"x\"}\t": "```json\n \ufeff\n{\"type\":\"x\"}\t\n```",
	} {
		got := disarm(in)
		if got != want {
			t.Errorf("disarm(%q) = %q, want %q", in, got, want)
		}
		if _, ok := classify(strings.TrimSpace(got)); ok {
			t.Errorf("disarm(%q) is a frame", in)
		}
	}
}

func TestSummary(t *testing.T) {
	for _, test := range []struct {
		m    mail.Message
		want string
	}{
		{mail.Message{Subject: "Parser", Body: "b"}, "Parser"},
		{mail.Message{Body: "\n first line \nsecond"}, "first line"},
		{mail.Message{Body: strings.Repeat("小", 200)}, strings.Repeat("小", 99) + "…"},
		{mail.Message{Docs: []mail.Doc{{Path: "docs/a.md"}}}, "docs/a.md"},
	} {
		if got := summary(&test.m); got != test.want {
			t.Errorf("summary(%q, %q) = %q, want %q", test.m.Subject, test.m.Body, got, test.want)
		}
	}
}

func TestSanitise(t *testing.T) {
	for in, want := range map[string]string{"a.b": "a-b", "小克": "--", "A_b-9": "A_b-9", "../x": "---x", "😀": "--",
		"": ""} {
		if got := sanitise(in); got != want {
			t.Errorf("sanitise(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestDeriveID(t *testing.T) {
	a := deriveID("t", "b", "a")
	if !isUUID(a) || a[14] != '5' || deriveID("t", "ba") == a || deriveID("t", "b", "a") != a {
		t.Errorf("deriveID: %s, %s", a, deriveID("t", "ba"))
	}
	if isUUID("msg_V1StGXR8_Z5jdHi6B-myT") || isUUID("00000000-0000-4000-8000-00000000001g") {
		t.Error("isUUID takes what is none")
	}
	if r := mail.NewUUID(); !isUUID(r) || r[14] != '4' {
		t.Errorf("randomID: %s", r)
	}
}

// TestJoin adds an entry to files of all kinds.
func TestJoin(t *testing.T) {
	e := []byte("{\n    \"a\": 1\n  }")
	for name, test := range map[string]struct{ text, want string }{
		"empty":          {"[]", "[\n  {\n    \"a\": 1\n  }\n]"},
		"empty and wide": {" [ ]\n", "[\n  {\n    \"a\": 1\n  }\n]"},
		"laid out": {"[\n  {\n    \"z\": \"\\u003c\",\n    \"e\": {},\n    \"l\": []\n  }\n]",
			"[\n  {\n    \"z\": \"\\u003c\",\n    \"e\": {},\n    \"l\": []\n  },\n  {\n    \"a\": 1\n  }\n]"},
		"compact": {`[{"z":1.0,"e":{ },"l":[1,{"x":null}]}]`, "[\n  {\n    \"z\": 1.0,\n    \"e\": {},\n    " +
			"\"l\": [\n      1,\n      {\n        \"x\": null\n      }\n    ]\n  },\n  {\n    \"a\": 1\n  }\n]"},
		"a last new line": {"[\n  1\n]\n", "[\n  1,\n  {\n    \"a\": 1\n  }\n]"},
		"tabs":            {"[\n\t\"a\\\"b\"\n]", "[\n  \"a\\\"b\",\n  {\n    \"a\": 1\n  }\n]"},
	} {
		t.Run(name, func(t *testing.T) {
			a, ok := parseInbox([]byte(test.text), 0)
			if !ok {
				t.Fatal("not an array")
			}
			if diff := cmp.Diff(test.want, string(a.join([][]byte{e}))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseAgreesWithJSON(t *testing.T) {
	for _, text := range []string{
		`[]`, `[1,2]`, `[1,]`, `[,]`, `[1 2]`, `{}`, `{"a":1}`, `{"a":1,}`, `{"a" 1}`, `{a:1}`, `{"a":}`, `"a`,
		`"\u12"`, `"\u12G4"`, `"\u12ab"`, `"\x"`, "\"\n\"",
		`01`, `-`, `-0`, `1.`, `1.5e`, `1.5e+3`, `.5`, `tru`, `true`, `nulll`, `null`, ``, ` `, `[[[[]]]]`, `[}`, `{]`,
		`[1]x`, "\ufeff[]", `[1`, `{"a":1`, `{"a"`, `[-]`, `[1e5]`, `["\ud800"]`,
	} {
		_, got := parseArray([]byte("[" + text + "]"))
		if want := json.Valid([]byte("[" + text + "]")); got != want {
			t.Errorf("%q: valid %v, want %v", text, got, want)
		}
	}
	for n, want := range map[int]bool{jsonx.MaxDepth: true, jsonx.MaxDepth + 1: false, 100_000: false} {
		if _, ok := parseArray([]byte(strings.Repeat("[", n) + strings.Repeat("]", n))); ok != want {
			t.Errorf("values nested %d deep are taken: %v", n, ok)
		}
	}
}
