package openalice

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
)

// samples are lines from OpenAlice, of all ages.
var samples = []string{
	`{"id":"0b5d","ts":1715789012345,"workspaceId":"ws-abc123","workspaceLabel":"Macro","docs":[{"path":"a.md"},{"path":"b/c.png"}],"comments":"c"}`,
	`{"id":"0b5d","ts":1,"workspaceId":"ws","workspaceLabel":"<L> & \"co\"","comments":"tab\t nl\n cr\r bell\u0007 sep` + "\u2028\u2029\x7f" + ` ü 小克 😀 \\ / \b\f"}`,
	`{"id":"0b5d","ts":1,"workspaceId":"ws","workspaceLabel":"L","docs":[{"path":"a.md","revision":"sha256:00"}]}`,
	`{"id":"0b5d","ts":1,"workspaceId":"ws","workspaceLabel":"L","comments":"c","origin":{"kind":"headless","runId":7},"x":null}`,
}

func TestLine(t *testing.T) {
	t.Run("OA-12 decode(encode) and encode(decode) are nothing", func(t *testing.T) {
		for _, line := range samples {
			e, err := parse([]byte(line))
			if err != nil {
				t.Errorf("%s: %v", line, err)
				continue
			}
			it, err := e.item()
			if err != nil {
				t.Errorf("%s: %v", line, err)
				continue
			}
			label, ok := labelOf(&it.Message, nil)
			again := entryOf(&it.Message, label)
			if got, err := again.encode(); string(got) != line || err != nil || !ok {
				t.Errorf("%s\nbecomes %s, %v, %v", line, got, ok, err)
			}
			if back, err := again.item(); err != nil || !cmp.Equal(back, it) {
				t.Errorf("%s\nis %+v\nand then %+v, %v", line, it, back, err)
			}
		}
	})
	t.Run("older and odd lines", func(t *testing.T) {
		for line, want := range map[string]mail.Message{
			`{"workspaceId":"ws","ts":5,"id":"a","comments":null,"docs":null}`:                  {},
			`{"id":"a","ts":5,"workspaceId":"ws","workspaceLabel":"L","body":"merged"}`:         {Body: "merged"},
			`{"id":"a","ts":5,"workspaceId":"ws","workspaceLabel":"two\nlines","comments":"c"}`: {Body: "c"},
			"{\"id\":\"a\",\"ts\":5,\"workspaceId\":\"ws\",\"comments\":\"\xff \\u0000 \\ud800\"}": {
				Body: "\uFFFD \uFFFD \uFFFD"},
			`{"id":"a","ts":5,"workspaceId":"ws","comments":"c","docs":[{"path":""},{"path":"x"}]}`: {
				Body: "c", Docs: []mail.Doc{{Path: "x"}}},
		} {
			it, err := readItem([]byte(line))
			want.ID, want.Type, want.From, want.To, want.Sent = "a", mail.Custom, "agent:ws",
				[]mail.Address{mail.ToUser}, 5
			it.Metadata = nil
			if err != nil || !cmp.Equal(it.Message, want) {
				t.Errorf("%s: %v\n%s", line, err, cmp.Diff(want, it.Message))
			}
		}
	})
	t.Run("what cannot be mail", func(t *testing.T) {
		for _, line := range []string{
			``, `null`, `[]`, `"x"`, `{}`, `{"id":"a"`, `{"id":"","ts":5,"workspaceId":"ws"}`,
			`{"id":"a","ts":0,"workspaceId":"ws"}`,
			`{"id":"a","ts":"5","workspaceId":"ws"}`, `{"id":"a","ts":5.5,"workspaceId":"ws"}`,
			`{"id":"a","ts":5,"workspaceId":"user"}`,
			`{"id":"a","ts":5,"workspaceId":"ws\n"}`, `{"id":"a\u0000","ts":5,"workspaceId":"ws"}`,
			`{"id":"a","ts":5,"workspaceId":"ws","docs":"x"}`,
			`{"id":"a","ts":5,"workspaceId":"ws","comments":"` + strings.Repeat("x", maxImport+1) + `"}`,
			`{"id":"a","ts":9e18,"workspaceId":"ws"}`,
		} {
			if it, err := readItem([]byte(line)); err == nil {
				t.Errorf("%.80s is %+v", line, it.Message)
			}
		}
	})
	t.Run("labels have limits", func(t *testing.T) {
		line := `{"id":"a","ts":5,"workspaceId":"ws","workspaceLabel":"` + strings.Repeat("ü", 40_000) + `","x":"` +
			strings.Repeat("x", mail.MaxKept) + `"}`
		it, err := readItem([]byte(line))
		label := labelIn(it.Metadata)
		if err != nil || len(label) > mail.MaxSubject || !strings.HasSuffix(label, "ü…") ||
			len(it.Metadata) > mail.MaxKept {
			t.Errorf("%v: label of %d bytes, metadata of %d", err, len(label), len(it.Metadata))
		}
	})
	t.Run("mail that was sent with other tools", func(t *testing.T) {
		labels := map[mail.Name]string{"ws": "L"}
		m := mail.Message{ID: "a", Sent: 5, From: "agent:ws", To: []mail.Address{"agent:x", mail.ToUser}, Subject: "S",
			Body: "B", Metadata: mail.Metadata(`{"k":1}`)}
		label, ok := labelOf(&m, labels)
		e := entryOf(&m, label)
		if got, err := e.encode(); !ok || err != nil ||
			string(got) != `{"id":"a","ts":5,"workspaceId":"ws","workspaceLabel":"L","comments":"**S**\n\nB"}` {
			t.Errorf("%s, %v, %v", got, ok, err)
		}
		for _, change := range []func(*mail.Message){
			func(m *mail.Message) { m.From = "agent:other" },
			func(m *mail.Message) { m.From = mail.ToUser },
			func(m *mail.Message) { m.From = mail.FromSystem },
			func(m *mail.Message) { m.To = m.To[:1] },
			func(m *mail.Message) { m.Metadata = mail.Metadata(notification) },
		} {
			other := m
			change(&other)
			if label, ok := labelOf(&other, labels); ok {
				t.Errorf("%+v is an entry of %q", other, label)
			}
		}
	})
}

func TestMarks(t *testing.T) {
	for text, want := range map[string]string{
		"":                        "{\n  \"version\": 1,\n  \"read\": {\n    \"a\": 5\n  }\n}\n",
		"{}":                      "{\n  \"read\": {\n    \"a\": 5\n  }\n}\n",
		`{"version":1,"read":{}}`: "{\n  \"version\": 1,\n  \"read\": {\n    \"a\": 5\n  }\n}\n",
		`{"read":{"z":1,"b":2},"more":[ 1 ]}`: "{\n  \"read\": {\n    \"z\": 1,\n    \"b\": 2,\n    \"a\": 5\n  " +
			"},\n  \"more\": [ 1 ]\n}\n",
	} {
		m, err := parseMarks([]byte(text))
		if err != nil || !m.set("a", 5) || m.set("a", 6) {
			t.Errorf("%s: %v", text, err)
		}
		if got := string(m.encode()); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
		if !m.drop("a") || m.drop("a") || bytes.Contains(m.encode(), []byte(`"a"`)) {
			t.Errorf("%q: a marker that is dropped stays: %s", text, m.encode())
		}
	}
	empty, _ := parseMarks(nil)
	if got, want := string(empty.encode()), "{\n  \"version\": 1,\n  \"read\": {}\n}\n"; got != want {
		t.Errorf("no markers are %q, want %q", got, want)
	}
	for _, text := range []string{"x", "[]", `{"read":[]}`, `{"read":`, `{"read":{}} x`} {
		if _, err := parseMarks([]byte(text)); err == nil {
			t.Errorf("%q was understood", text)
		}
	}
}

// TestFixtures reads the documents' examples, if they are available.
func TestFixtures(t *testing.T) {
	fixture := func(t *testing.T, name string) []byte {
		dir := os.Getenv("PENNYPOST_FIXTURES")
		if dir == "" {
			dir = filepath.Join("..", "..", "..", "..", "..", "shared", "fixtures")
		}
		text, err := os.ReadFile(filepath.Join(dir, "seed-examples", name))
		if err != nil {
			t.Skip(err)
		}
		return text
	}
	t.Run("OA-12 entries.jsonl", func(t *testing.T) {
		for line := range bytes.Lines(fixture(t, "openalice-inbox-entries.jsonl")) {
			it, err := readItem(line)
			if err != nil {
				t.Fatal(err)
			}
			label, _ := labelOf(&it.Message, nil)
			e := entryOf(&it.Message, label)
			if got, err := e.encode(); string(got)+"\n" != string(line) || err != nil {
				t.Errorf("%s becomes %s, %v", line, got, err)
			}
		}
	})
	t.Run("O2 read-state.json", func(t *testing.T) {
		text := fixture(t, "openalice-read-state.json")
		m, err := parseMarks(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := m.encode(); !bytes.Equal(got, text) {
			t.Errorf("%q becomes %q", text, got)
		}
	})
}

func FuzzLine(f *testing.F) {
	for _, s := range samples {
		f.Add([]byte(s))
	}
	f.Add([]byte(`{"id":"a","ts":5,"workspaceId":"ws","body":"b","notification":true,"workspaceLabel":""}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		it, err := readItem(line)
		if err != nil {
			return
		}
		if _, err := jsonx.Marshal(it); err != nil {
			t.Fatalf("the room could not write it: %v", err)
		}
		label, ok := labelOf(&it.Message, nil)
		if !ok {
			t.Fatalf("%+v is no entry any more", it.Message)
		}
		e := entryOf(&it.Message, label)
		text, err := e.encode()
		if err != nil || bytes.ContainsAny(text, "\n\r") || !json.Valid(text) {
			t.Fatalf("%q, %v", text, err)
		}
		again, err := readItem(text)
		if err != nil || !cmp.Equal(again, it) {
			t.Fatalf("%+v\nis read back as %+v, %v", it, again, err)
		}
	})
}

func FuzzMarks(f *testing.F) {
	f.Add([]byte("{\n  \"version\": 1,\n  \"read\": {\n    \"a\": 5\n  }\n}\n"), "b")
	f.Add([]byte(`{"read":{"a":"x"},"k":{"b":[1, 2]}}`), "a")
	f.Fuzz(func(t *testing.T, text []byte, id string) {
		m, err := parseMarks(text)
		if err != nil {
			return
		}
		first := m.encode()
		again, err := parseMarks(first)
		if err != nil || !bytes.Equal(again.encode(), first) {
			t.Fatalf("%q is read back as %v, %v", first, again, err)
		}
		if _, err := mail.ParseID(id); err != nil {
			return
		}
		fresh := m.set(mail.ID(id), 1)
		if !m.drop(mail.ID(id)) || fresh && !bytes.Equal(m.encode(), first) {
			t.Fatalf("set and drop of %q make %q of %q", id, m.encode(), first)
		}
	})
}

func FuzzCheckPath(f *testing.F) {
	for _, s := range []string{"a/b.md", "../x", "/etc", `a\..\b`, "C:x", "a/..b", "...", "~"} {
		f.Add(s)
	}
	root := "/srv/space"
	f.Fuzz(func(t *testing.T, path string) {
		if checkPath(path) != "" {
			return
		}
		for _, p := range []string{path, strings.ReplaceAll(path, `\`, "/")} {
			if joined := filepath.Join(root, p); joined != root && !strings.HasPrefix(joined, root+"/") ||
				filepath.IsAbs(p) {
				t.Errorf("%q leads to %s", path, joined)
			}
		}
	})
}

// A line cut inside an emoji keeps the members that mail has no field for.
func TestHalfOfAnEmoji(t *testing.T) {
	e, err := parse([]byte(`{"id":"a","ts":5,"workspaceId":"ws","comments":"half \ud83d","origin":{"kind":"agent"}}`))
	if err != nil || e.Comments != "half \uFFFD" || len(e.more) != 1 || e.more[0].Name != "origin" {
		t.Errorf("%+v, %v", e, err)
	}
}
