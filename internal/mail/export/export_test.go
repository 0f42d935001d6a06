package export

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"pennypost/internal/mail"
)

var noon = time.Date(2026, 5, 10, 12, 0, 0, 0, time.UTC)

func item(subject, body string) *mail.Item {
	return &mail.Item{Message: mail.Message{
		ID: "msg_1", Type: mail.Status, From: "agent:a_b", To: []mail.Address{"user", "role:x"}, Subject: subject,
		Body: body, Sent: mail.TimeOf(noon),
		Issue: "LH-9", Docs: []mail.Doc{{Path: "docs/*.md"}},
	}, Deliveries: []mail.Delivery{{Agent: "user", State: mail.Read, At: mail.TimeOf(noon.Add(time.Minute))},
		{Address: "role:x", State: mail.Held}}}
}

func write(t *testing.T, f Format, items ...*mail.Item) string {
	t.Helper()
	var b strings.Builder
	x := New(&b, f, Heading{Title: "shop", Notes: []string{"type *status*"}, Now: noon})
	for _, it := range items {
		if err := x.Add(it); err != nil {
			t.Fatal(err)
		}
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestPrograms(t *testing.T) {
	for n := range 3 {
		var items []*mail.Item
		for range n {
			items = append(items, item("One", "1\n2"))
		}
		if got := strings.Count(write(t, JSONL, items...), "\n"); got != n {
			t.Errorf("JSONL of %d messages has %d lines", n, got)
		}
		var array []mail.Item
		if err := json.Unmarshal([]byte(write(t, JSON, items...)), &array); err != nil || len(array) != n {
			t.Errorf("JSON of %d messages: %d, %v", n, len(array), err)
		}
	}
}

func TestDocument(t *testing.T) {
	got := write(t, Markdown,
		item("# [x](javascript:1) `y`\n## z", "```go\nnever closed\n## Not a heading\x1b[31m\u202e\n"),
		item("", "again"))
	want := "# shop, as of Sunday, 10 May 2026, 12:00\n\n- type \\*status\\*\n\n## Sunday, 10 May 2026\n\n" +
		"### 12:00 \\# \\[x\\](javascript:1) \\`y\\` \\#\\# z\n\n- status from **a\\_b** to user, role:x\n- id " +
		"msg\\_1\n- issue LH-9\n- document docs/\\*.md\n" +
		"- user: read, 2026-05-10 12:01\n- role:x: held\n\n> ```go\n> never closed\n> ## Not a heading[31m\n\n### " +
		"12:00 status\n"
	if !strings.HasPrefix(got, want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := write(t, Markdown); !strings.HasSuffix(got, "\nNo messages.\n") {
		t.Errorf("of nothing: %s", got)
	}
}

// A failing writer is noticed before the end.
func TestWriteFails(t *testing.T) {
	for _, f := range []Format{JSONL, JSON, Markdown} {
		x := New(broken{}, f, Heading{Now: noon})
		var err error
		for n := 0; err == nil && n < 100; n++ {
			err = x.Add(item("", strings.Repeat("x", 10_000)))
		}
		if err == nil || x.Close() == nil {
			t.Errorf("%s: no error", f)
		}
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, mail.Errorf(mail.Unavailable, "the disk is full") }
