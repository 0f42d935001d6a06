package agenties

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
	"pennypost/internal/office/dialect"
)

// example returns the document's example, which is not part of this repository.
func example(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "..", "shared", "fixtures", "seed-examples",
		"agenties-mailbox.jsonl"))
	if err != nil {
		t.Skip(err)
	}
	return string(text)
}

func TestFixtureRoundTrip(t *testing.T) {
	for line := range strings.Lines(example(t)) {
		line = strings.TrimSuffix(line, "\n")
		if got := again(t, line); got != line {
			t.Errorf("read and written again:\n%s\nwas\n%s", got, line)
		}
	}
}

// again parses a line and encodes it again.
func again(t *testing.T, line string) string {
	t.Helper()
	it, err := translate([]byte(line))
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	it.Via = "agenties" // so that the file's agentId is kept
	out, err := new(fromItem(&it.Message, it.Read, nil)).encode()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestLineRoundTrip(t *testing.T) {
	for name, line := range map[string]string{
		"AG-03 minimal":                    `{"id":"msg_1","type":"custom","from":"user","to":"agent:a","body":"","read":false,"createdAt":"2026-05-10T14:00:00Z"}`,
		"AG-03 maximal":                    `{"id":"msg_2","type":"review-result","from":"agent:rev","to":"orchestrator","subject":"S","body":"B\n","metadata":{"verdict":"approved"},"issueId":"issue_1","agentId":"ag_x1","read":true,"createdAt":"2026-05-10T14:00:00.123Z"}`,
		"AG-06 nested metadata is kept":    `{"id":"m","type":"custom","from":"agent:a","to":"role:builder","body":"b","metadata":{"z":1.50,"a":[1e3,{"b":null}],"ü":"\"\\","n":12345678901234567890},"read":false,"createdAt":"2026-05-10T14:00:00Z"}`,
		"empty metadata":                   `{"id":"m","type":"custom","from":"agent:a","to":"broadcast","body":"b","metadata":{},"read":false,"createdAt":"2026-05-10T14:00:00Z"}`,
		"agentId without metadata":         `{"id":"m","type":"status","from":"agent:a","to":"broadcast","body":"b","agentId":"ag_9","read":false,"createdAt":"2026-05-10T14:00:00Z"}`,
		"what the document has no key for": `{"id":"m","type":"answer","from":"orchestrator","to":"agent:a","body":"b","metadata":{"x":1,"pennypost":{"priority":"urgent","thread":"msg_0","replyTo":"msg_0","docs":[{"path":"a.md"}]}},"read":false,"createdAt":"2026-05-10T14:00:00Z"}`,
		"a union":                          `{"id":"m","type":"custom","from":"user","to":"agent:a,project:x,broadcast","body":"b","read":false,"createdAt":"2026-05-10T14:00:00Z"}`,
		"our own notices":                  `{"id":"m","type":"status","from":"agent:system","to":"user","body":"b","read":false,"createdAt":"2026-05-10T14:00:00Z"}`,
		"characters":                       `{"id":"m","type":"custom","from":"agent:小克","to":"agent:Mac CLI 小克","body":"<b>&\u0001\u001f\b\f\t é 🙂","read":false,"createdAt":"2026-05-10T14:00:00Z"}`,
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(line, again(t, line)); diff != "" {
				t.Errorf("read and written again (-was +is):\n%s", diff)
			}
		})
	}
}

func TestItem(t *testing.T) {
	line :=
		`{"createdAt":"2026-05-10T16:00:00.1239+02:00","read":true,"later":{"x":[]},"subject":"two\nlines","body":"cut \ud83d","issueId":"issue_7","agentId":"ag_2","metadata":{"k":"v"},"to":"orchestrator","from":"agent:ag_x1","type":"task-done","id":"msg_002"}`
	got, err := translate([]byte(line))
	if err != nil {
		t.Fatal(err)
	}
	sent, _ := mail.ParseTime("2026-05-10T14:00:00.123Z")
	want := mail.Item{Read: true, Message: mail.Message{
		ID: "msg_002", Type: mail.TaskDone, From: "agent:ag_x1", To: []mail.Address{mail.ToOrchestrator},
		Subject: "two lines",
		Body:    "cut \uFFFD", Issue: "issue_7", Metadata: mail.Metadata(`{"k":"v","agenties":{"agentId":"ag_2"}}`),
		Sent: sent,
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	t.Run("AG-17 a broadcast is for those present, for as long as the file keeps it", func(t *testing.T) {
		got, err := translate([]byte(
			`{"id":"m","type":"status","from":"agent:a","to":"broadcast","body":"b","read":false,"createdAt":"2026-05-10T14:00:00Z"}`))
		if err != nil || got.Audience != mail.AudienceTeam || got.TTLSeconds != 7*24*3600 ||
			got.To[0] != mail.ToAll {
			t.Errorf("%+v, %v", got, err)
		}
	})
	t.Run("AG-09 a verdict that stands in the body only", func(t *testing.T) {
		got, err := translate([]byte(
			`{"id":"m","type":"review-result","from":"agent:a","to":"orchestrator","body":"approved","read":false,"createdAt":"2026-05-10T14:00:00Z"}`))
		if err != nil || got.Type != mail.ReviewResult {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

func TestRejectedLines(t *testing.T) {
	line := func(edit ...string) string {
		l :=
			`{"id":"m","type":"custom","from":"user","to":"agent:a","body":"b","read":false,"createdAt":"2026-05-10T14:00:00Z"}`
		return strings.NewReplacer(edit...).Replace(l)
	}
	if _, err := translate([]byte(line())); err != nil {
		t.Fatal(err)
	}
	for name, l := range map[string]string{
		"no JSON":                 "hello",
		"a torn line":             line("}", ""),
		"no object":               "[]",
		"no id":                   line(`"id":"m",`, ""),
		"a control character":     line(`"id":"m"`, `"id":"m\u0007"`),
		"a member twice":          line(`"read":false`, `"read":false,"read":true`),
		"AG-07 another type":      line("custom", "foo"),
		"AG-07 no type":           line(`"type":"custom",`, ""),
		"AG-19 from a role":       line(`"from":"user"`, `"from":"role:builder"`),
		"AG-19 from nobody":       line(`"from":"user"`, `"from":"ag_x1"`),
		"AG-19 from everybody":    line(`"from":"user"`, `"from":"broadcast"`),
		"to a bare word":          line(`"to":"agent:a"`, `"to":"a"`),
		"to an empty id":          line(`"to":"agent:a"`, `"to":"agent:"`),
		"AG-05 no time":           line("2026-05-10T14:00:00Z", "yesterday"),
		"metadata that is a list": line(`"read"`, `"metadata":[1],"read"`),
	} {
		t.Run(name, func(t *testing.T) {
			if it, err := translate([]byte(l)); err == nil {
				t.Errorf("%s was understood as %+v", l, it)
			}
		})
	}
}

func TestMetadataAside(t *testing.T) {
	for _, meta := range []string{`{"agenties":1}`, `{"agenties":{"agentId":"a"},"x":1}`,
		`{"pennypost":{"priority":"urgent","more":1}}`, `{"pennypost":null}`} {
		m := mail.Message{Metadata: mail.Metadata(meta)}
		if got, id := fold(&m); string(got) != meta || id != "" {
			t.Errorf("fold(%s) = %s, %q; it is somebody else's", meta, got, id)
		}
	}
	both := mail.Message{Metadata: mail.Metadata(`{"pennypost":"mine"}`), Priority: mail.Urgent}
	if got, _ := fold(&both); string(got) != `{"pennypost":"mine"}` {
		t.Errorf("a member of that name became %s", got)
	}
}

func TestSetRead(t *testing.T) {
	for in, want := range map[string]string{
		`{"id":"m","read":false,"createdAt":"x"}`:                         `{"id":"m","read":true,"createdAt":"x"}`,
		`{ "read" : false , "metadata" : {"read": false}}`:                `{ "read" : true , "metadata" : {"read": false}}`,
		`{"body":"\"read\":false","read":false,"later":[{"read":false}]}`: `{"body":"\"read\":false","read":true,"later":[{"read":false}]}`,
		`{"id":"m"}`: `{"id":"m"}`,
		`{"body":"read","x":"read","metadata":{"read":false},"k":"false"}`: `{"body":"read","x":"read","metadata":{"read":false},"k":"false"}`,
	} {
		if got := string(setRead([]byte(in), true)); got != want {
			t.Errorf("setRead(%s) = %s, want %s", in, got, want)
		}
		if back := string(setRead([]byte(want), false)); in != want && back != in {
			t.Errorf("setRead back = %s, want %s", back, in)
		}
	}
}

func seed(f *testing.F) {
	for _, l := range []string{
		`{"id":"msg_001","type":"task-assigned","from":"orchestrator","to":"agent:ag_x1","body":"...","read":true,"createdAt":"2026-05-10T14:00:00Z"}`,
		`{"id":"m","type":"custom","from":"user","to":"agent:a,b","subject":"s","body":"b","metadata":{"read":false},"issueId":"i","agentId":"x","read":false,"createdAt":"2026-05-10T14:00:00.001+09:00","extra":{"read":true}}`,
		`{"id":"m","type":"answer","from":"orchestrator","to":"agent:a","body":"b","metadata":{"x":1,"pennypost":{"priority":"urgent","docs":[{"path":"a","revision":"r"}]}},"read":false,"createdAt":"2026-05-10T14:00:00Z"}`,
		"{\"id\":\"m\",\"type\":\"custom\",\"from\":\"user\",\"to\":\"agent:a\",\"body\":\"\xff\\u0000\"," +
			"\"read\":false,\"createdAt\":\"2026-05-10T14:00:00Z\"}",
	} {
		f.Add([]byte(l))
	}
}

// FuzzLine: every line that can be parsed is parsed to the same message again after encoding, and stays the same
// when encoded again.
func FuzzLine(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, line []byte) {
		it, err := translate(line)
		if err != nil {
			return
		}
		it.Via = "agenties"
		first, err := new(fromItem(&it.Message, it.Read, nil)).encode()
		if err != nil {
			t.Fatalf("%q was read as %+v, which cannot be written: %v", line, it, err)
		}
		back, err := translate(first)
		if err != nil {
			t.Fatalf("%q was written as %s, which cannot be read: %v", line, first, err)
		}
		back.Via = it.Via
		if diff := cmp.Diff(it, back, canonicalMetadata); diff != "" {
			t.Errorf("%q, written as %s, reads differently:\n%s", line, first, diff)
		}
		if second, err := new(fromItem(&back.Message, back.Read, nil)).encode(); err != nil ||
			!bytes.Equal(first, second) {
			t.Errorf("%s is written again as %s, %v", first, second, err)
		}
	})
}

// FuzzMessage: a room's message comes back from the file unchanged, except for a broadcast's expiry and fields that
// only a sender needs.
func FuzzMessage(f *testing.F) {
	f.Add("msg_V1StGXR8_Z5jdHi6B-myT", 0, "orchestrator", "agent:ag_x1", "Parser", "body\n", `{"k":1.0}`, false, "",
		"", "issue_1", int64(1778421600000))
	f.Add("01234567-89ab-4cde-8f01-23456789abcd", 8, "agent:a, b", "role:builder,broadcast,project:x", "", "", "",
		true, "msg_0", "docs/a.md", "", int64(1778421600001))
	f.Add("msg-0123456789ab", 3, "agent:system", "user", "s", "<b>", `{"verdict":"blocked"}`, false, "m", "", "i",
		int64(1))
	f.Fuzz(func(t *testing.T, id string, typ int, from, to, subject, body, meta string, urgent bool, thread, doc,
		issue string, ms int64) {
		m := mail.Message{ID: mail.ID(id), Type: mail.Types()[uint(typ)%9], Thread: mail.ID(thread),
			ReplyTo: mail.ID(thread), Issue: issue, Body: body, Sent: mail.Time(uint64(ms) % 1e14),
			Via: "haak"}
		var errs [4]error
		_, errs[0] = mail.ParseID(id)
		m.From, errs[1] = parseSender(from)
		m.To, errs[2] = parseRecipients(to)
		if thread != "" {
			_, errs[3] = mail.ParseID(thread)
		}
		if urgent {
			m.Priority = mail.Urgent
		}
		if doc != "" {
			m.Docs = []mail.Doc{{Path: doc, Revision: subject}}
		}
		if slices.Contains(m.To, mail.ToAll) {
			m.Audience, m.TTLSeconds = mail.AudienceTeam, broadcastTTL
		}
		if meta != "" {
			if m.Metadata = mail.Metadata(meta); meta[0] != '{' || !jsonx.Value(meta).IsValid() ||
				strings.Contains(meta, "agenties") || strings.Contains(meta, "pennypost") {
				return
			}
		}
		if m.Subject = dialect.Subject(subject); m.Subject != subject || strings.TrimSpace(body) == "" && body != "" ||
			errs != [4]error{} ||
			strings.ContainsRune(body+issue, 0) || !utf8.ValidString(subject+body+issue+doc) {
			return // no room has such a message
		}
		if m.Type == mail.ReviewResult && !slices.Contains(mail.Verdicts(), m.Metadata.Text("verdict")) {
			return
		}
		line, err := new(fromItem(&m, false, nil)).encode()
		if err != nil {
			t.Fatal(err)
		}
		back, err := translate(line)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		m.Via = "" // a line does not contain it
		if diff := cmp.Diff(m, back.Message, canonicalMetadata); diff != "" {
			t.Errorf("by way of %s (-was +is):\n%s", line, diff)
		}
	})
}

// FuzzSetRead: one word changes and no other byte.
func FuzzSetRead(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, line []byte) {
		before, err := parse(line)
		if err != nil {
			return
		}
		edited := setRead(line, !before.Read)
		if bytes.Equal(edited, line) {
			return
		}
		after, err := parse(edited)
		if err != nil {
			t.Fatalf("%q became %q: %v", line, edited, err)
		}
		if before.Read = !before.Read; cmp.Diff(before, after) != "" {
			t.Errorf("%q became %q: %s", line, edited, cmp.Diff(before, after))
		}
		if back := setRead(edited, !after.Read); !bytes.Equal(back, line) {
			t.Errorf("%q came back as %q", line, back)
		}
	})
}

// canonicalMetadata compares metadata as JSON.
var canonicalMetadata = cmp.Comparer(func(a, b mail.Metadata) bool {
	x, y := jsonx.Value(bytes.Clone(a)), jsonx.Value(bytes.Clone(b))
	return len(a) == len(b) && len(a) == 0 || x.Canonicalize() == nil && y.Canonicalize() == nil && bytes.Equal(x, y)
})

// FuzzImport: every imported element, from a list or from lines, is a message in valid UTF-8 or is counted.
func FuzzImport(f *testing.F) {
	line :=
		`{"id":"msg_1","type":"status","from":"agent:a","to":"user","body":"b","read":true,"createdAt":"2026-05-10T14:00:00Z"}`
	for _, s := range []string{"", "[]", "[" + line + "]", line + "\n" + line, "[1]", "{", " [",
		line + "\ngarbage\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		items, _, err := decodeAll(text)
		if err != nil && len(items) > 0 {
			t.Fatalf("%d messages and %v", len(items), err)
		}
		for i := range items {
			if it := &items[i]; it.ID == "" || !utf8.ValidString(it.Body) || strings.ContainsRune(it.Body, 0) ||
				len(it.To) == 0 {
				t.Fatalf("the room refuses %+v", it)
			}
		}
	})
}
