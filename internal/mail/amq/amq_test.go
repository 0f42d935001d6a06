package amq

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pennypost/internal/mail"
)

// file returns a message in AMQ's format.
func file(id, from, to, more, body string) string {
	return fmt.Sprintf("---json\n{\n  \"schema\": 1,\n  \"id\": %q,\n  \"from\": %q,\n  \"to\": %s,\n"+
		"  \"thread\": \"t\",\n  \"created\": \"2026-05-10T14:00:0%cZ\"%s\n}\n---\n%s",
		id, from, to, id[len(id)-1], more, body)
}

// root writes files below a directory of agents, by box and name.
func root(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		name = filepath.Join(dir, "agents", filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func open(t *testing.T, dir string) (*Queue, []mail.Item) {
	t.Helper()
	q, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	var items []mail.Item
	for it := range q.Items() {
		items = append(items, it)
	}
	return q, items
}

// TestConvert checks a message of AMQ in a room: its type, its thread, the message that it answers, and its
// readers.
func TestConvert(t *testing.T) {
	first := file("m1", "claude", `["codex","user","gone"]`, `, "kind": "todo", "priority": "low", "subject": "S"`,
		"B\n")
	q, items := open(t, root(t, map[string]string{
		"claude/outbox/sent/m1.md": first,
		"codex/inbox/new/m1.md":    strings.ReplaceAll(first, "\n", "\r\n"),
		"codex/inbox/cur/m1.md":    first, // it was read before its other name was removed
		"user/inbox/new/m1.md":     first,
		"claude/inbox/new/m2.md": file("m2", "codex", `["claude"]`,
			`, "refs": ["m1", "elsewhere"], "labels": ["l"], "context": {"n": 1.50}, "kind": "decision"`, ""),
		"codex/inbox/tmp/m3.md": file("m3", "claude", `["codex"]`, "", "not delivered"),
		"codex/inbox/new/.x.md": "hidden",
		"codex/dlq/new/m4.md":   "a report",
	}))
	want := []mail.Item{{
		Message: mail.Message{ID: "m1", Type: mail.TaskAssigned, From: "agent:claude", Subject: "S", Body: "B\n",
			To: []mail.Address{"agent:codex", "user", "agent:gone"}, Via: "amq", Sent: 1778421601000,
			TTLSeconds: ttlSeconds,
			Metadata:   mail.Metadata(`{"amq":{"kind":"todo","priority":"low","thread":"t"}}`)},
		Deliveries: []mail.Delivery{
			{Address: "agent:codex", Agent: "codex", State: mail.Read},
			{Address: "agent:gone", Agent: "gone", State: mail.Archived},
			{Address: "user", Agent: "user", State: mail.Queued}},
	}, {
		Message: mail.Message{ID: "m2", Type: mail.Custom, From: "agent:codex", To: []mail.Address{"agent:claude"},
			Thread: "m1", ReplyTo: "m1", Via: "amq", Sent: 1778421602000,
			TTLSeconds: ttlSeconds, Metadata: mail.Metadata(
				`{"amq":{"kind":"decision","thread":"t","refs":["m1","elsewhere"],"labels":["l"],"context":{"n":1.5}}}`)},
		Deliveries: []mail.Delivery{{Address: "agent:claude", Agent: "claude", State: mail.Queued}},
	}}
	if diff := cmp.Diff(want, items); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	boxes := map[mail.Name]*Box{"claude": {Unread: 1}, "codex": {Read: 1}, "user": {Unread: 1}, "gone": {}}
	if diff := cmp.Diff(boxes, q.Boxes); diff != "" || q.Files != 5 || len(q.Skipped) > 0 {
		t.Errorf("%d files, skipped %v, %s", q.Files, q.Skipped, diff)
	}
	for kind, want := range map[string]mail.Type{"question": mail.Question, "answer": mail.Answer,
		"review_request": mail.ReviewRequest, "review_response": mail.Custom, "status": mail.Status,
		"brainstorm": mail.Custom, "": mail.Custom, "of a later version": mail.Custom} {
		if got := typeOf(kind); got != want {
			t.Errorf("%q is a %s, want %s", kind, got, want)
		}
	}
}

// TestBadFiles checks that each file that is no message is reported, and that the others are imported.
func TestBadFiles(t *testing.T) {
	good := file("m1", "claude", `["codex"]`, "", "good")
	bad := map[string]string{ // by file, part of the error
		"codex/inbox/new/begin.md":   "first line",
		"codex/inbox/new/torn.md":    "has no end",
		"codex/inbox/new/json.md":    "invalid header",
		"codex/inbox/new/twice.md":   "invalid header",
		"codex/inbox/new/schema.md":  "schema 2",
		"codex/inbox/new/utf8.md":    "not valid UTF-8",
		"codex/inbox/new/huge.md":    "larger than 10485760 bytes",
		"codex/inbox/new/large.md":   "body has 1048577 bytes",
		"codex/inbox/new/system.md":  "reserved",
		"codex/inbox/new/name.md":    "U+202E",
		"codex/inbox/new/room.md":    "'@'",
		"codex/inbox/new/nobody.md":  "no recipient",
		"codex/inbox/new/time.md":    "is not a time",
		"codex/inbox/new/id.md":      "message id is empty",
		"codex/inbox/new/subject.md": "one line",
		"codex/inbox/new/other.md":   "not addressed to that agent",
		"codex/outbox/sent/forge.md": "says that claude sent it",
		"codex/inbox/new/same.md":    "files have the id s1 and differ",
		"codex/inbox/cur/same.md":    "files have the id s1 and differ",
	}
	to := `["codex"]`
	dir := root(t, map[string]string{
		"codex/inbox/new/m1.md":      good,
		"codex/inbox/new/begin.md":   "{}",
		"codex/inbox/new/torn.md":    good[:60],
		"codex/inbox/new/json.md":    "---json\n{]\n---\n",
		"codex/inbox/new/twice.md":   file("t1", "claude", to, `, "id": "t2"`, "b"),
		"codex/inbox/new/schema.md":  strings.Replace(good, `"schema": 1`, `"schema": 2`, 1),
		"codex/inbox/new/utf8.md":    file("u1", "claude", to, "", "\xff"),
		"codex/inbox/new/huge.md":    file("h1", "claude", to, "", strings.Repeat("x", MaxFile)),
		"codex/inbox/new/large.md":   file("l1", "claude", to, "", strings.Repeat("x", mail.MaxAccepted+1)),
		"codex/inbox/new/system.md":  file("n1", "system", to, "", "b"),
		"codex/inbox/new/name.md":    file("n2", "a\u202eb", to, "", "b"),
		"codex/inbox/new/room.md":    file("n3", "a@lab", to, "", "b"),
		"codex/inbox/new/nobody.md":  file("n4", "claude", "[]", "", "b"),
		"codex/inbox/new/time.md":    strings.Replace(file("n5", "claude", to, "", "b"), "2026-", "26-", 1),
		"codex/inbox/new/id.md":      strings.Replace(file("n6", "claude", to, "", "b"), `"n6"`, `""`, 1),
		"codex/inbox/new/subject.md": file("n7", "claude", to, `, "subject": "a\nb"`, "b"),
		"codex/inbox/new/other.md":   file("n8", "claude", `["user"]`, "", "b"),
		"codex/outbox/sent/forge.md": file("n9", "claude", to, "", "b"),
		"codex/inbox/new/same.md":    file("s1", "claude", to, "", "one"),
		"codex/inbox/cur/same.md":    file("s1", "claude", to, "", "other"),
	})
	q, items := open(t, dir)
	if len(items) != 1 || items[0].Body != "good" || q.Len() != 1 {
		t.Errorf("imported %d, want m1 alone: %+v", len(items), items)
	}
	got := make(map[string]string)
	for _, s := range q.Skipped {
		got[strings.TrimPrefix(s.File, "agents/")] = s.Why
	}
	for name, why := range bad {
		if !strings.Contains(got[name], why) {
			t.Errorf("%s: %q, want %q", name, got[name], why)
		}
	}
	if len(q.Skipped) != len(bad) {
		t.Errorf("%d named, want %d: %v", len(q.Skipped), len(bad), slices.Sorted(maps.Keys(got)))
	}
}

// TestChanged checks that a message that is read during its import is found, and one that changes is left out.
func TestChanged(t *testing.T) {
	one, two := file("m1", "a", `["b"]`, "", "one"), file("m2", "a", `["b"]`, "", "two")
	dir := root(t, map[string]string{"b/inbox/new/m1.md": one, "b/inbox/new/m2.md": two, "b/inbox/cur/old.md": "x"})
	q, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	box := filepath.Join(dir, "agents", "b", "inbox")
	if err := os.Rename(filepath.Join(box, "new", "m1.md"), filepath.Join(box, "cur", "m1.md")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(box, "new", "m2.md"), []byte(two+"!"), 0o600); err != nil {
		t.Fatal(err)
	}
	var ids []mail.ID
	for it := range q.Items() {
		ids = append(ids, it.ID)
	}
	if !slices.Equal(ids, []mail.ID{"m1"}) || !strings.Contains(q.Skipped[1].Why, "it changed") {
		t.Errorf("imported %v, skipped %v", ids, q.Skipped)
	}
	if _, err := Open(filepath.Join(dir, "agents")); mail.CodeOf(err) != mail.Invalid {
		t.Errorf("a directory that is no root: %v", err)
	}
}

// FuzzParse checks that no input makes parse panic, and that accepted input is a valid message.
func FuzzParse(f *testing.F) {
	f.Add([]byte(file("m1", "claude", `["codex"]`, `, "kind": "todo"`, "text")))
	f.Add([]byte("---json\n{\"schema\":1}\n---\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		h, body, err := parse(text)
		if err != nil {
			return
		}
		if it, err := convert(&h, body); err == nil && (it.Via != Bridge || it.Sent <= 0 || len(it.To) == 0) {
			t.Errorf("%q became %+v", text, it)
		}
	})
}
