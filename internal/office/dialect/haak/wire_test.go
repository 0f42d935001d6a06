package haak

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pennypost/internal/mail"
	"pennypost/internal/office/dialect"
)

// some returns a roster for wire tests.
func some() sessions {
	all := newIDs()
	for _, name := range []mail.Name{"bob", "architect", "a1b2c3d4-0000", "x:y", "name, with comma"} {
		all.add(name)
	}
	return all.find
}

func TestMessageRoundTrip(t *testing.T) {
	base := func(edit func(*mail.Message)) mail.Message {
		m := mail.Message{
			ID: "01234567-89ab-4cde-8f01-23456789abcd", Type: mail.Custom, From: "agent:alice",
			To:   []mail.Address{"agent:bob"},
			Body: "Hi", TTLSeconds: 24 * 3600, Sent: 1773671400000,
		}
		if edit != nil {
			edit(&m)
		}
		m.Audience = audience(m.To)
		return m
	}
	to := func(list ...mail.Address) func(*mail.Message) {
		return func(m *mail.Message) { m.To, m.TTLSeconds = list, 0 }
	}
	for name, m := range map[string]mail.Message{
		"plain":               base(nil),
		"subject":             base(func(m *mail.Message) { m.Subject = "S \"quoted\" <b> \u2028 小克" }),
		"thread":              base(func(m *mail.Message) { m.ReplyTo = "parent" }),
		"other life":          base(func(m *mail.Message) { m.TTLSeconds = 3600 }),
		"milliseconds":        base(func(m *mail.Message) { m.Sent += 123 }),
		"empty body":          base(func(m *mail.Message) { m.Body = "" }),
		"role":                base(to("role:steward")),
		"role like a session": base(to("role:architect")),
		"role with a life": base(func(m *mail.Message) {
			m.To, m.TTLSeconds = []mail.Address{"role:steward"}, 24*3600
		}),
		"unknown session":    base(func(m *mail.Message) { m.To = []mail.Address{"agent:nobody"} }),
		"session with colon": base(func(m *mail.Message) { m.To = []mail.Address{"agent:x:y"} }),
		"session with comma": base(func(m *mail.Message) { m.To = []mail.Address{"agent:name, with comma"} }),
		"tags":               base(to("project:a", "concern:b/c")),
		"all":                base(to("all")),
		"user":               base(to("user")),
		"orchestrator":       base(to("orchestrator")),
		"union":              base(to("agent:bob", "role:steward", "all")),
		"from the user":      base(func(m *mail.Message) { m.From = "user" }),
		"from the system":    base(func(m *mail.Message) { m.From = "system" }),
		"from orchestrator":  base(func(m *mail.Message) { m.From = "orchestrator" }),
	} {
		line := encodeMessage(&m, some())
		got, readers, err := decodeMessage(line, some())
		if err != nil || readers != nil {
			t.Errorf("%s: %s: %v %v", name, line, readers, err)
			continue
		}
		if diff := cmp.Diff(m, got); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", name, line, diff)
		}
	}
}

func TestLineRoundTrip(t *testing.T) {
	for _, line := range []string{
		`{"id":"1","sender":"a","recipient":"bob","timestamp":"2026-03-16T14:30:00Z","content":"m","thread":null,"ttl_hours":null,"read_by":[]}`,
		`{"id":"1","sender":"a","recipient":"role:steward","timestamp":"2026-03-16T14:30:00Z","content":"m","thread":null,"ttl_hours":null,"read_by":[]}`,
		`{"id":"1","sender":"a","recipient":"a1b2c3d4","timestamp":"2026-03-16T14:30:00+00:00","content":"m","thread":"0","ttl_hours":24,"read_by":[]}`,
		`{"id":"1","sender":"agent:a","recipient":"project:a, concern:b","timestamp":"2026-03-16T14:30:00.123456","content":"m","thread":"","ttl_hours":0.5,"read_by":["bob"]}`,
		`{"id":"1","sender":"a","recipient":["project:a","concern:b"],"timestamp":"2026-03-16T14:30:00Z","content":"m","thread":null,"ttl_hours":null,"read_by":[]}`,
		`{"id":"1","sender":"a","recipient":[ "project:a" , "bob", "project:a" ],"timestamp":"2026-03-16T14:30:00Z","content":"m","thread":null,"ttl_hours":2,"read_by":[]}`,
		`{"id":"1","sender":"a","recipient":"all","timestamp":"2026-03-16T14:30:00Z","content":"m","thread":null,"ttl_hours":null,"read_by":[],"subject":"","mailbox_id":17,"x":{"a": [1, 2]}}`,
	} {
		m, _, err := decodeMessage([]byte(line), some())
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		if got := string(encodeMessage(&m, some())); got != line {
			t.Errorf("decoded and encoded:\n%s\nwas\n%s", got, line)
		}
	}
}

func TestMetadataCannotLie(t *testing.T) {
	m := mail.Message{ID: "1", From: "agent:mallory", To: []mail.Address{"agent:bob"}, Body: "m", Sent: 1773671400000,
		TTLSeconds: 3600}
	want := string(encodeMessage(&m, some()))
	for _, members := range []string{
		`{"recipient":"all"}`, `{"recipient":["all"]}`, `{"recipient":[]}`, `{"sender":"user"}`, `{"id":"2"}`, `{"content":"other"}`, `{"ttl_hours":null}`,
		`{"thread":"x"}`,
		`{"timestamp":"2020-01-01T00:00:00Z"}`, `{"subject":"S"}`, `"text"`, `{`,
	} {
		m.Metadata = mail.Metadata(`{"haak":` + members + `}`)
		if got := string(encodeMessage(&m, some())); got != want {
			t.Errorf("%s: %s", members, got)
		}
	}
}

func TestExpiry(t *testing.T) {
	for _, c := range []struct {
		to      mail.Address
		seconds int64
		want    string
	}{
		{"agent:bob", 0, "168"}, {"agent:bob", 24 * 3600, "null"}, {"agent:bob", 1, "1"}, {"agent:bob", 3601, "2"},
		{"role:steward", 0, "null"}, {"role:steward", 24 * 3600, "24"}, {"project:x", 0, "null"}, {"all", 0, "null"},
		{"user", 0, "null"},
	} {
		m := mail.Message{To: []mail.Address{c.to}, TTLSeconds: c.seconds}
		if got := ttlHours(&m); got != c.want {
			t.Errorf("ttlHours(%s, %d) = %s, want %s", c.to, c.seconds, got, c.want)
		}
	}
	for in, want := range map[string]int64{"": 86400, "null": 86400, "1": 3600, "0.5": 1800, "0": 1, "-3": 1,
		"1e99": maxHours * 3600} {
		if got, err := ttlSeconds([]byte(in), []mail.Address{"agent:bob"}); err != nil || got != want {
			t.Errorf("ttlSeconds(%q) = %d, %v, want %d", in, got, err, want)
		}
	}
	if _, err := ttlSeconds([]byte(`"soon"`), nil); err == nil {
		t.Error("ttl_hours of text was taken")
	}
}

func TestLongSubject(t *testing.T) {
	got := subject("a\nb\r\nc " + strings.Repeat("é", mail.MaxSubject))
	if !strings.HasPrefix(got, "a b c é") || !strings.HasSuffix(got, "é…") || len(got) > mail.MaxSubject {
		t.Errorf("%d bytes: %.20q", len(got), got)
	}
}

// fixture returns the lines of a file from the seed's examples.
func fixture(t *testing.T, name string) []string {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "..", "shared", "fixtures", "seed-examples", name))
	if err != nil {
		t.Skip("the seed's examples are not here")
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

func TestFixtures(t *testing.T) {
	t.Run("mailbox", func(t *testing.T) {
		for _, line := range fixture(t, "haak-agent-mailbox.jsonl") {
			m, _, err := decodeMessage([]byte(line), some())
			if err != nil {
				t.Fatal(err)
			}
			if got := string(encodeMessage(&m, some())); got != line {
				t.Errorf("decoded and encoded:\n%s\nwas\n%s", got, line)
			}
		}
	})
	t.Run("roster", func(t *testing.T) {
		for _, line := range fixture(t, "haak-agent-roster-entry.json") {
			e, err := decodeEntry([]byte(line), some())
			if err != nil || e.name != "architect-new" || len(e.tags(nil)) != 3 || string(e.said.Line()) != line {
				t.Errorf("%s: %v", line, err)
			}
		}
	})
}

func FuzzMessage(f *testing.F) {
	f.Add(
		[]byte(
			`{"id":"1","sender":"a","recipient":"bob","timestamp":"2026-03-16T14:30:00Z","content":"m","thread":null,"ttl_hours":null,"read_by":[]}`))
	f.Add(
		[]byte(
			`{"id":"1","from":"a","to":"project:x,role:y","timestamp":"2026-03-16 14:30:00.5","body":"m","ttl_hours":1.5,"read_by":["bob"],"k":[1]}`))
	f.Add(
		[]byte(
			`{"id":"1","sender":"agent:a","recipient":"a1b2c3d4","timestamp":"2026-03-16T14:30:00+02:00","content":"\u0000","thread":"1","subject":"a\nb"}`))
	f.Add(
		[]byte(
			`{"id":"1","sender":"a","recipient":["project:x","role:y","bob"],"timestamp":"2026-03-16T14:30:00Z","content":"m","thread":null,"ttl_hours":null,"read_by":[]}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		m, _, err := decodeMessage(line, some())
		if err != nil || len(line) > mail.MaxMetadata/2 {
			return
		}
		again := encodeMessage(&m, some())
		back, _, err := decodeMessage(again, some())
		if err != nil {
			t.Fatalf("%s became %s: %v", line, again, err)
		}
		if diff := cmp.Diff(m, back); diff != "" {
			t.Fatalf("%s became %s (-want +got):\n%s", line, again, diff)
		}
		if wellFormed(line, &m) && string(again) != string(line) {
			t.Fatalf("%s became %s", line, again)
		}
	})
}

// wellFormed reports whether a line begins with the format's members in order and has this package's encoding.
func wellFormed(line []byte, m *mail.Message) bool {
	o, err := parseObject(line)
	if err != nil || string(o.Line()) != string(line) {
		return false
	}
	for i, p := range plain(m, some()) {
		if i >= len(o) || o[i].Name != p.Name {
			return false
		}
		if s, ok := dialect.Unquote(o[i].Value); ok && string(quote(s)) != string(o[i].Value) {
			return false
		}
	}
	body, _ := dialect.Unquote(o.Value("content"))
	return body == m.Body && o.Find("from") < 0 && o.Find("to") < 0 && o.Find("body") < 0
}

func FuzzReading(f *testing.F) {
	f.Add([]byte(`{"message_id":"1","reader_session_id":"bob","timestamp":"2026-03-16T14:30:00Z"}`))
	f.Add([]byte(`{"messageid":"1","readersession_id":"user","timestamp":"later"}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		r, err := decodeReading(line, some())
		if err != nil {
			return
		}
		back, err := decodeReading(encodeReading(r), some())
		if err != nil || back != r {
			t.Fatalf("%s: %+v became %+v, %v", line, r, back, err)
		}
	})
}

func FuzzEntry(f *testing.F) {
	f.Add([]byte(`{"session_id":"architect-new","tags":["project:inscription","concern:governance","role:steward"]}`))
	f.Add(
		[]byte(
			`{"session_id":"x","state":"dead","role":"architect","summary":"a\nb","parent_session":"bob","model":"m","updated":"2026-03-16T14:30:00Z"}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		e, err := decodeEntry(line, some())
		if err != nil {
			return
		}
		p, _ := e.news(nil, map[mail.Name]bool{"bob": true})
		a := mail.Agent{Name: e.name, Roles: p.Roles, Tags: p.Tags, State: mail.Idle, Registered: 1}
		if p.State != "" {
			a.State = p.State
		}
		if p.Task != nil {
			a.Task = *p.Task
		}
		if p.Parent != nil {
			a.Parent = *p.Parent
		}
		ours, err := decodeEntry(encodeEntry(e.said, &a, 1), some())
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if !ours.says(&a) {
			t.Fatalf("%s: our own line does not say what it was made of: %s", line, ours.line)
		}
		if p, news := ours.news(&a, nil); news {
			t.Fatalf("%s: our own line is news: %+v", ours.line, p)
		}
		for _, m := range e.said {
			if ours.said.Find(m.Name) < 0 && m.Name != "retired" {
				t.Fatalf("%s lost %q", line, m.Name)
			}
		}
	})
}

// A line cut inside an emoji is parsed.
func TestHalfOfAnEmoji(t *testing.T) {
	m, _, err := decodeMessage([]byte(`{"id":"m1","sender":"a","recipient":"all","timestamp":"2026-03-17T10:00:00Z",`+
		`"content":"half \ud83d"}`), newIDs().find)
	if err != nil || m.Body != "half \uFFFD" {
		t.Errorf("%+v, %v", m, err)
	}
}

// TestStatesInHaak maps our states to HAAK's three words. An agent at a dialog is live.
func TestStatesInHaak(t *testing.T) {
	want := map[mail.State]string{mail.Working: live, mail.Asking: live, mail.Idle: live, mail.Frozen: frozen,
		mail.Gone: dead}
	for _, s := range mail.States() {
		if got := wordOf(s); got != want[s] {
			t.Errorf("%s is %q, want %q", s, got, want[s])
		}
	}
}
