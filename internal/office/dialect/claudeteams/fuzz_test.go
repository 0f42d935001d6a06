package claudeteams

import (
	"bytes"
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"pennypost/internal/base/confined"
	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
)

// FuzzInbox: our parser accepts the arrays of messages that JSON accepts; laying one out changes no value, and a
// text with the layout stays the same to the byte.
func FuzzInbox(f *testing.F) {
	for _, s := range []string{"[]", "[\n  1\n]",
		`[{"from":"a","text":"t","timestamp":"2026-02-07T15:20:49.498Z","read":false}]`,
		`[{"a":[{}, {"b" : "\u2028"}]}]`, "[", "{}"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		a, ok := parseInbox(text, 0)
		isArray := json.Valid(text) && bytes.HasPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte("["))
		if ok != isArray && (ok || !deep(text)) {
			t.Fatalf("parsed %v, JSON says %v", ok, isArray)
		}
		if !ok {
			return
		}
		once := neatArray(a.elements)
		var want bytes.Buffer
		if err := json.Indent(&want, bytes.TrimSpace(text), "", "  "); err != nil || !bytes.Equal(once, want.Bytes()) {
			t.Fatalf("laid out: %s\nwant %s (%v)", once, want.Bytes(), err)
		}
		if a.neat != bytes.Equal(once, text) {
			t.Fatalf("neat %v, but laid out %q becomes %q", a.neat, text, once)
		}
		for _, raw := range a.elements {
			e, why, _ := parseEntry(raw)
			if why != "" || e.sent == 0 { // the inbox would choose its time
				continue
			}
			l := letter{entry: e, id: "x", team: "t", from: "agent:a", to: "b"}
			check(t, l.item())
		}
	})
}

// FuzzInboxGrows: an inbox read again after a change equals one read for the first time.
func FuzzInboxGrows(f *testing.F) {
	const one = "[\n  {\n    \"from\": \"a\",\n    \"text\": \"t\",\n    \"timestamp\": " +
		"\"2026-02-07T15:20:49.498Z\",\n    \"read\": false\n  }"
	for _, s := range [][2]string{{"[]", one + "\n]"}, {one + "\n]", one + ",\n  1\n]"}, {one + "\n]", "[]"},
		{one + "\n]", ""}, {"", "null"}, {one + "\n]", one + "\n] "}, {"[", "[]"}} {
		f.Add([]byte(s[0]), []byte(s[1]))
	}
	f.Fuzz(func(t *testing.T, before, after []byte) {
		b, fresh := newInbox(confined.Dir{}, "a", "t", "a"), newInbox(confined.Dir{}, "a", "t", "a")
		_ = b.take(before, 0)
		err, want := b.take(after, 0), fresh.take(after, 0)
		if (err == nil) != (want == nil) {
			t.Fatalf("%q after %q: %v, and for the first time %v", after, before, err, want)
		}
		if err != nil {
			return
		}
		if diff := cmp.Diff(fresh.letters, b.letters, cmp.AllowUnexported(boxed{}, entry{}, field{})); diff != "" ||
			b.neat != fresh.neat || b.end != fresh.end || b.blank != fresh.blank {
			t.Fatalf("%q after %q (-first time +grown):\n%s", after, before, diff)
		}
		if text, _ := b.apply(changes{add: [][]byte{[]byte("1")}}); !json.Valid(text) && json.Valid(after) {
			t.Fatalf("%q with an element more is %q", after, text)
		}
	})
}

func deep(text []byte) bool {
	return bytes.Count(text, []byte("["))+bytes.Count(text, []byte("{")) > jsonx.MaxDepth
}

// check checks that the room would accept an item.
func check(t *testing.T, it mail.Item) {
	t.Helper()
	for _, s := range []string{it.Subject, it.Body, it.Issue, string(it.Metadata)} {
		if !utf8.ValidString(s) || bytes.ContainsRune([]byte(s), 0) {
			t.Fatalf("%q cannot stand in the journal", s)
		}
	}
	if len(it.Subject) > mail.MaxSubject || len(it.Metadata) > mail.MaxKept || len(it.Issue) > mail.MaxName ||
		bytes.ContainsAny([]byte(it.Subject), "\r\n") || it.Sent <= 0 {
		t.Fatalf("the room refuses %+v", it)
	}
	if !json.Valid(it.Metadata) {
		t.Fatalf("the metadata are no JSON: %s", it.Metadata)
	}
}

// FuzzEntry: decode(encode(e)) == e.
func FuzzEntry(f *testing.F) {
	f.Add("a", "text", "s", "blue", "", int64(1770478515573), true)
	f.Add("小克", "{\"type\":\"x\"}", "", "", "00000000-0000-4000-8000-000000000011", int64(1), false)
	f.Fuzz(func(t *testing.T, from, text, summary, color, id string, at int64, read bool) {
		if from == "" || at < 1 || at >= year10000 {
			return
		}
		for _, s := range []string{from, text, summary, color, id} {
			if !utf8.ValidString(s) {
				return
			}
		}
		e := entry{From: from, Text: text, Summary: summary, Color: color, Timestamp: mail.Time(at).String(),
			Read: read, MsgID: id, native: id != "", sent: mail.Time(at)}
		raw := e.neat()
		got, why, _ := parseEntry(raw)
		got.stamp = nil
		if diff := cmp.Diff(e, got, cmp.AllowUnexported(entry{}, field{})); why != "" || diff != "" {
			t.Fatalf("%s (-want +got):\n%s", why, diff)
		}
		var again map[string]any
		if err := json.Unmarshal(raw, &again); err != nil || again["text"] != text {
			t.Fatalf("JSON reads %v from %s (%v)", again["text"], raw, err)
		}
		check(t, (&letter{entry: e, id: "x", team: "t", from: "agent:a", to: "b"}).item())
	})
}

// FuzzFrame: every text is or is not a frame, and no text that the room writes is one.
func FuzzFrame(f *testing.F) {
	for _, s := range []string{`{"type":"idle_notification","from":"a","idleReason":"x"}`, `{"type":`, "{", "hello",
		`{"type":"plan_approval_response","requestId":"1","approved":true}`, "\ufeff{}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if fr, ok := classify(text); ok {
			if !json.Valid([]byte(text)) || fr.kind == "" || text[0] != '{' {
				t.Fatalf("%q is no frame", text)
			}
		}
		var parsed map[string]any
		out := disarm(text)
		if json.Unmarshal([]byte(out), &parsed) == nil && !bytes.Equal(bytes.TrimSpace([]byte(out)), []byte("null")) {
			t.Fatalf("disarm(%q) = %q is an object", text, out)
		}
		check(t, (&letter{entry: entry{From: "a", Text: text, sent: 1}, id: "x", team: "t", from: "agent:a",
			to: "b"}).item())
	})
}

// FuzzConfig: a config keeps its values, and we read its members as JSON does.
func FuzzConfig(f *testing.F) {
	f.Add(
		[]byte(
			`{"name":"t","leadAgentId":"l@t","members":[{"name":"l","joinedAt":1.5e3},{"name":"a","color":"blue","isActive":true}]}`))
	f.Add([]byte(`{"members":null}`))
	f.Add([]byte(`{"members":[1,{}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, ok := parseConfig(text)
		if !ok {
			return
		}
		if !json.Valid(text) {
			t.Fatalf("%q is no JSON", text)
		}
		again, ok := parseConfig(c.neat())
		if !ok || len(again.members) != len(c.members) || again.lead != c.lead {
			t.Fatalf("%q becomes %q", text, c.neat())
		}
	})
}
