package haak_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pennypost/internal/mail"
)

func TestRosterAndTags(t *testing.T) {
	t.Parallel()
	t.Run("HK-18 tags are set by update, and shown", func(t *testing.T) {
		d := newDesk(t)
		d.register("architect-new")
		d.ok("roster", "update", "--session-id", "architect-new", "--tags",
			"project:inscription,concern:governance,domain:architecture/files,role:architect")
		var entry map[string]any
		if err := json.Unmarshal([]byte(d.ok("roster", "show", "--json", "--session-id", "architect-new")),
			&entry); err != nil {
			t.Fatal(err)
		}
		want := map[string]any{
			"session_id": "architect-new", "state": "live", "role": "architect", "summary": "",
			"tags":       []any{"project:inscription", "concern:governance", "domain:architecture/files"},
			"registered": "2026-05-10T14:00:00Z", "updated": "2026-05-10T14:00:00Z",
		}
		if diff := cmp.Diff(want, entry); diff != "" {
			t.Errorf("roster show (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(want, d.last(roster)); diff != "" {
			t.Errorf("roster file (-want +got):\n%s", diff)
		}
		d.ok("roster", "update", "--session-id", "architect-new", "--tags", "")
		if got := d.last(roster)["tags"]; len(got.([]any)) != 0 {
			t.Errorf("tags cleared: %v", got)
		}
		d.refused(mail.NotFound, "roster", "update", "--session-id", "nobody", "--tags", "project:x")
	})
	t.Run("HK-19 send with the flags of the document", func(t *testing.T) {
		d := newDesk(t)
		out := d.ok("mailbox", "send", "--from", "architect-new", "--to", "project:inscription", "--subject", "S",
			"--body", "B")
		if !strings.HasPrefix(out, "sent ") {
			t.Error(out)
		}
		m := d.last(mailbox)
		if m["sender"] != "architect-new" || m["recipient"] != "project:inscription" || m["subject"] != "S" ||
			m["content"] != "B" {
			t.Errorf("stored %v", m)
		}
	})
	t.Run("HK-20 the recipient is the tag; send says whom it would reach", func(t *testing.T) {
		d := newDesk(t)
		d.register("a", "--tags", "project:x")
		d.register("b", "--tags", "project:x,concern:y")
		d.register("c", "--tags", "project:x")
		d.ok("roster", "bury", "--session-id", "c")
		for _, tag := range []string{"project:x", "concern:y", "domain:z"} {
			d.send("s", tag, "m")
			if got := d.last(mailbox)["recipient"]; got != tag {
				t.Errorf("recipient %v, want %s", got, tag)
			}
		}
		if out := d.ok("mailbox", "send", "--from", "s", "--to", "concern:y", "--body", "m"); !strings.Contains(out,
			"would reach: b\n") {
			t.Error(out)
		}
		if errs := d.notes("mailbox", "send", "--from", "s", "--to", "domain:z", "--body",
			"m"); !strings.Contains(errs, "no living session carries domain:z") {
			t.Error(errs)
		}
	})
	t.Run("HK-21 who carries the tag when it looks sees the message", func(t *testing.T) {
		d := newDesk(t)
		d.register("joins")
		d.register("leaves", "--tags", "project:x")
		d.send("s", "project:x", "m")
		d.ok("roster", "update", "--session-id", "joins", "--tags", "project:x")
		d.ok("roster", "update", "--session-id", "leaves", "--tags", "project:other")
		d.wantUnread("joins", "m")
		d.wantUnread("leaves")
		d.Advance(24 * time.Hour)
		d.wantUnread("joins")
	})
	t.Run("HK-22 several tags are a union, each gets it once", func(t *testing.T) {
		d := newDesk(t)
		d.register("a", "--tags", "project:a")
		d.register("b", "--tags", "concern:b")
		d.register("both", "--tags", "project:a,concern:b")
		d.register("none")
		d.send("s", "project:a, concern:b", "m")
		for _, id := range []string{"a", "b", "both"} {
			d.wantUnread(id, "m")
		}
		d.wantUnread("none")
		if got := d.last(mailbox)["recipient"]; got != "project:a,concern:b" {
			t.Errorf("recipient %v", got)
		}
	})
	t.Run("HK-23 other namespaces are refused", func(t *testing.T) {
		d := newDesk(t)
		d.refused(mail.NotFound, "mailbox", "send", "--from", "s", "--to", "foo:bar", "--body", "m")
		d.refused(mail.Invalid, "roster", "register", "--session-id", "s", "--tags", "foo:bar")
		if text := d.text(mailbox); text != "" {
			t.Errorf("stored: %s", text)
		}
		d.register("foo:bar")
		d.send("s", "foo:bar", "m")
		d.wantUnread("foo:bar", "m")
	})
	t.Run("H11 all, namespace, whole id, beginning of an id, role", func(t *testing.T) {
		d := newDesk(t)
		d.register("a1b2c3d4-0000")
		d.register("b1b2c3d4-0000")
		d.register("b1b2c3d4-1111")
		d.register("architect")
		d.register("librarian-new", "--role", "librarian")
		for typed, want := range map[string][2]string{
			"a1b2c3d4":   {"a1b2c3d4-0000", "agent:a1b2c3d4-0000"},
			"a1b2c3d":    {"a1b2c3d", "role:a1b2c3d"},
			"architect":  {"architect", "agent:architect"},
			"steward":    {"steward", "role:steward"},
			"librarian":  {"librarian", "role:librarian"}, // the role's holder, not a session of that name
			"librarian-": {"librarian-", "role:librarian-"},
			"all":        {"all", "all"},
			"user":       {"user", "user"},
		} {
			id := d.send("s", typed, "m")
			if got := d.last(mailbox)["recipient"]; got != want[0] {
				t.Errorf("%s: recipient %v, want %s", typed, got, want[0])
			}
			it, err := d.As(mail.User).Message(t.Context(), id)
			if err != nil || string(it.To[0]) != want[1] {
				t.Errorf("%s: to %v, want %s (%v)", typed, it.To, want[1], err)
			}
		}
		d.refused(mail.NotFound, "mailbox", "send", "--from", "s", "--to", "b1b2c3d4", "--body", "two begin so")
		d.send("s", "role:architect", "m")
		if got := d.last(mailbox)["recipient"]; got != "role:architect" {
			t.Errorf("recipient %v", got)
		}
		if out := d.ok("mailbox", "read", "--session-id", "a1b2c3d4"); !strings.Contains(out, "\nm\n") {
			t.Errorf("a session reads under the beginning of its id: %q", out)
		}
	})
	t.Run("mail to a word reaches the session that bears it later", func(t *testing.T) {
		d := newDesk(t)
		d.send("s", "lina", "early")
		if out := d.ok("check-mailbox", "--session-id", "lina"); !strings.Contains(out, "early") {
			t.Errorf("not shown: %q", out)
		}
		if got := d.last(roster)["role"]; got != nil {
			t.Errorf("the file gives it the role %v", got)
		}
	})
	t.Run("only the person wakes a frozen session", func(t *testing.T) {
		d := newDesk(t)
		d.register("bob")
		d.ok("roster", "freeze", "--session-id", "bob")
		d.refused(mail.Denied, "roster", "update", "--as", "alice", "--session-id", "bob", "--state", "live")
		d.refused(mail.Denied, "roster", "register", "--as", "bob", "--session-id", "bob")
		d.ok("roster", "register", "--session-id", "bob")
		if got := d.last(roster)["state"]; got != "live" {
			t.Errorf("state %v", got)
		}
	})
	t.Run("H10 mail to the dead and the frozen is taken, with a note", func(t *testing.T) {
		d := newDesk(t)
		d.register("bob")
		d.ok("roster", "freeze", "--session-id", "bob")
		if errs := d.notes("mailbox", "send", "--from", "s", "--to", "bob", "--body", "m"); !strings.Contains(errs,
			"frozen") {
			t.Error(errs)
		}
		d.ok("roster", "bury", "--session-id", "bob", "--summary", "done")
		if errs := d.notes("mailbox", "send", "--from", "s", "--to", "bob", "--body", "m"); !strings.Contains(errs,
			"dead letter") {
			t.Error(errs)
		}
		if m := d.last(roster); m["state"] != "dead" || m["final_summary"] != "done" {
			t.Errorf("buried: %v", m)
		}
	})
	t.Run("clean takes dead sessions off, and they stay off", func(t *testing.T) {
		d := newDesk(t)
		d.register("bob")
		d.Register("native")
		for _, n := range []mail.Name{"bob", "native"} {
			if _, err := d.As(n).Register(t.Context(), mail.Presence{State: mail.Gone}); err != nil {
				t.Fatal(err)
			}
		}
		if out := d.ok("roster", "clean"); out != "removed bob\n" {
			t.Errorf("%q", out)
		}
		d.Stop()
		d.Start()
		d.Sync()
		if out := d.ok("roster", "show"); strings.Contains(out, "bob") || !strings.Contains(out, "native") {
			t.Errorf("roster:\n%s", out)
		}
	})
}

func TestArchive(t *testing.T) {
	t.Parallel()
	old := func(n int) []string {
		var all []string
		for i := range n {
			month := "2026-03"
			if i%2 == 1 {
				month = "2026-04"
			}
			all = append(all, foreign(fmt.Sprintf("old-%d", i), "alice", "bob", month+"-16T14:30:00Z",
				fmt.Sprintf("expired %d", i)))
		}
		return all
	}
	t.Run("HK-24 settled messages over 1,000 move by month; the rest stays", func(t *testing.T) {
		d := newDesk(t)
		d.register("bob", "--role", "architect")
		d.stranger(mailbox, old(999)...)
		if err := os.WriteFile(d.path(reads),
			[]byte(`{"message_id":"old-0","reader_session_id":"bob","timestamp":"2026-03-17T00:00:00Z"}`+"\n"+
				"garbage\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		waits := d.send("alice", "steward", "waits")
		d.ok("mailbox", "archive")
		if n := len(d.file(mailbox)); n != 1000 {
			t.Fatalf("1,000 messages, and %d stay", n)
		}
		d.stranger(mailbox, "not JSON")
		kept := d.send("alice", "bob", "fresh")
		out := d.ok("mailbox", "archive")
		if !strings.Contains(out, "now") {
			t.Error(out)
		}
		lines := strings.Split(strings.TrimSuffix(d.text(mailbox), "\n"), "\n")
		if len(lines) != 3 || !strings.Contains(lines[0], string(waits)) || lines[1] != "not JSON" ||
			!strings.Contains(lines[2], string(kept)) {
			t.Fatalf("the mailbox holds %q", lines)
		}
		march, april := d.text("agent-mailbox-archive/2026-03.jsonl"), d.text("agent-mailbox-archive/2026-04.jsonl")
		if strings.Count(march, "\n") != 500 || strings.Count(april, "\n") != 499 ||
			!strings.HasPrefix(march, old(1)[0]+"\n") {
			t.Errorf("archived %d and %d lines", strings.Count(march, "\n"), strings.Count(april, "\n"))
		}
		if got := d.text("agent-mailbox-archive/2026-03-reads.jsonl"); !strings.Contains(got, `"old-0"`) {
			t.Errorf("archived reads: %q", got)
		}
		if got := d.text(reads); got != "garbage\n" {
			t.Errorf("reads that stay: %q", got)
		}
		if out := d.ok("mailbox", "query", "--archive", "expired 998"); !strings.Contains(out, "old-998") {
			t.Errorf("query: %q", out)
		}
		if out := d.ok("check-mailbox", "--session-id", "bob"); strings.Contains(out, "expired") ||
			!strings.Contains(out, "fresh") {
			t.Errorf("polled: %q", out)
		}
	})
	t.Run("HK-24 a crash at any step loses and doubles nothing", func(t *testing.T) {
		d := newDesk(t)
		d.register("bob")
		d.Stop()
		all := append(old(1001), foreign("role-1", "alice", "architect", "2026-03-16T14:30:00Z", "unsettled"))
		// A rotation that died left half of March and none of April in the archive.
		var march []string
		for _, l := range all[:500] {
			if strings.Contains(l, "2026-03-16") {
				march = append(march, l)
			}
		}
		if err := os.MkdirAll(d.path("agent-mailbox-archive"), 0o755); err != nil {
			t.Fatal(err)
		}
		torn := strings.Join(march, "\n") + "\n" + all[998][:40]
		if err := os.WriteFile(d.path("agent-mailbox-archive/2026-03.jsonl"), []byte(torn), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(d.path(mailbox), []byte(strings.Join(all, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		d.Start()
		d.Sync()
		d.Sync()
		seen := make(map[string]int)
		for _, name := range []string{mailbox, "agent-mailbox-archive/2026-03.jsonl",
			"agent-mailbox-archive/2026-04.jsonl"} {
			for l := range strings.Lines(d.text(name)) {
				seen[strings.TrimSuffix(l, "\n")]++
			}
		}
		for _, l := range all {
			if seen[l] != 1 {
				t.Fatalf("%d times: %s", seen[l], l)
			}
		}
		if n := len(d.file(mailbox)); n > 1000 || !strings.Contains(d.text(mailbox), "unsettled") {
			t.Errorf("%d messages stay, or not the unsettled one", n)
		}
		if st, err := d.As(mail.User).Status(t.Context()); err != nil || st.Messages != 1002 {
			t.Errorf("the room has %d messages, want 1002 (%v)", st.Messages, err)
		}
	})
	t.Run("H13 over 1,000 unsettled messages stay, and that is told", func(t *testing.T) {
		d := newDesk(t)
		var all []string
		for i := range 1001 {
			all = append(all, foreign(fmt.Sprintf("m-%d", i), "alice", "architect", "2026-05-10T13:00:00Z", "office"))
		}
		d.stranger(mailbox, all...)
		if st := d.Sync(); !strings.Contains(st.Notice, "1001 messages") {
			t.Errorf("notice %q", st.Notice)
		}
		if n := len(d.file(mailbox)); n != 1001 {
			t.Errorf("%d stay", n)
		}
	})
	t.Run("an archive that was there is found, and not polled", func(t *testing.T) {
		d := newDesk(t)
		d.Stop()
		if err := os.MkdirAll(d.path("agent-mailbox-archive"), 0o755); err != nil {
			t.Fatal(err)
		}
		line := foreign("a-1", "alice", "architect", "2026-01-16T14:30:00Z", "from the archive")
		if err := os.WriteFile(d.path("agent-mailbox-archive/2026-01.jsonl"), []byte(line+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		d.Start()
		d.Sync()
		d.register("lina", "--role", "architect")
		d.wantUnread("lina")
		if out := d.ok("mailbox", "query", "--archive", "from the archive"); !strings.Contains(out, "a-1") {
			t.Errorf("query: %q", out)
		}
	})
}

func TestPeople(t *testing.T) {
	t.Parallel()
	t.Run("HK-25 recent, pending and threaded messages are to be had", func(t *testing.T) {
		d := newDesk(t)
		d.register("bob")
		a := d.send("alice", "bob", "question")
		d.send("bob", "alice", "answer", "--thread", string(a))
		if out := d.ok("mailbox", "list", "--limit", "1"); !strings.Contains(out, "answer") ||
			strings.Contains(out, "question") {
			t.Errorf("recent: %s", out)
		}
		page, err := d.As("bob").Inbox(t.Context(), mail.InboxQuery{})
		if err != nil || page.Unread != 1 {
			t.Errorf("pending: %d, %v", page.Unread, err)
		}
		if out := d.ok("mailbox", "list", "--session-id", "bob"); strings.Count(out, "\n") != 2 {
			t.Errorf("of one agent: %s", out)
		}
	})
	t.Run("HK-26 the person reads everything and answers anyone", func(t *testing.T) {
		d := newDesk(t)
		d.register("bob")
		d.send("alice", "bob", "between us")
		d.send("user", "bob", "stop that")
		d.wantUnread("bob", "between us", "stop that")
		if got := d.last(mailbox)["sender"]; got != "user" {
			t.Errorf("sender %v", got)
		}
		d.send("bob", "user", "yes")
		d.wantUnread("user", "yes")
		if out := d.ok("mailbox", "read", "--session-id", "user"); !strings.Contains(out, "yes") ||
			d.last(reads)["reader_session_id"] != "user" {
			t.Errorf("%q", out)
		}
	})
	t.Run("HK-28 rows for the entity graph", func(t *testing.T) {
		d := newDesk(t)
		d.register("bob")
		id := d.send("alice", "bob", "m")
		want := fmt.Sprintf(`entity: situation:mailbox-msg-%[1]s
  type: situation

agent:alice  belongs-to  situation:mailbox-msg-%[1]s  quality: "actor"
agent:bob  belongs-to  situation:mailbox-msg-%[1]s  quality: "actor"
message-content  belongs-to  situation:mailbox-msg-%[1]s  quality: "materialization"

`, id)
		if diff := cmp.Diff(want, d.ok("entities", string(id))); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		d.send("alice", "architect", "m")
		out := d.ok("entities", "--json")
		if !strings.Contains(out, `{"subject":"role:architect","relation":"belongs-to"`) {
			t.Error(out)
		}
	})
	t.Run("HK-29 bye and checkpoint send what waits, show the last mail, bury and freeze", func(t *testing.T) {
		d := newDesk(t)
		d.register("bob", "--role", "steward")
		d.register("carol")
		d.ok("mailbox", "send", "--later", "--from", "bob", "--to", "carol", "--subject", "S", "--body",
			"parting words", "--ttl-hours", "3")
		d.ok("mailbox", "send", "--later", "--from", "bob", "--to", "foo:bar", "--body", "to nobody")
		d.ok("mailbox", "send", "--later", "--from", "carol", "--to", "bob", "--body", "another's")
		d.send("carol", "bob", "last mail")
		if n := len(d.file(mailbox)); n != 1 {
			t.Fatalf("drafts were sent: %d", n)
		}
		out, errs, err := d.Verb("checkpoint", "--session-id", "bob")
		if err != nil || !strings.Contains(out, "last mail") ||
			!strings.Contains(errs, "not sent to foo:bar, and kept") {
			t.Fatalf("%v\n%s\n%s", err, out, errs)
		}
		if got := d.last(roster); got["session_id"] != "bob" || got["state"] != "frozen" {
			t.Errorf("roster %v", got)
		}
		if m := d.last(mailbox); m["content"] != "parting words" || m["ttl_hours"] != 3.0 || m["subject"] != "S" {
			t.Errorf("sent %v", m)
		}
		d.wantUnread("carol", "parting words")
		d.ok("roster", "update", "--session-id", "bob", "--state", "live")
		out, errs, err = d.Verb("bye", "--session-id", "bob", "--summary", "all done")
		if err != nil || !strings.Contains(errs, "vacancy: bob") || strings.Contains(out, "last mail") {
			t.Errorf("%v\n%s\n%s", err, out, errs)
		}
		if got := d.last(roster); got["state"] != "dead" || got["final_summary"] != "all done" {
			t.Errorf("roster %v", got)
		}
		if n := len(d.file(mailbox)); n != 2 {
			t.Errorf("%d messages: a draft was sent twice, or another's", n)
		}
	})
	t.Run("HK-30 channels: list, read, post to the tag", func(t *testing.T) {
		d := newDesk(t)
		d.register("a", "--tags", "project:inscription,concern:governance")
		d.register("b", "--tags", "project:inscription")
		out := d.ok("channels")
		if !strings.Contains(out, "#inscription  project:inscription  a, b\n") ||
			!strings.Contains(out, "#governance  concern:governance  a\n") {
			t.Errorf("channels:\n%s", out)
		}
		d.send("user", "#inscription", "typed into it")
		if got := d.last(mailbox)["recipient"]; got != "project:inscription" {
			t.Errorf("recipient %v", got)
		}
		d.send("a", "concern:governance", "elsewhere")
		if out := d.ok("mailbox", "list", "--channel", "#inscription"); !strings.Contains(out, "typed into it") ||
			strings.Contains(out, "elsewhere") {
			t.Errorf("read:\n%s", out)
		}
		d.wantUnread("b", "typed into it")
	})
	t.Run("H17 a channel's name that two tags share is written out", func(t *testing.T) {
		d := newDesk(t)
		d.register("a", "--tags", "project:x,concern:x,domain:y")
		out := d.ok("channels")
		for _, name := range []string{"#project:x ", "#concern:x ", "#y "} {
			if !strings.Contains(out, name) {
				t.Errorf("%s is not listed:\n%s", name, out)
			}
		}
		if msg := d.refused(mail.Invalid, "mailbox", "send", "--from", "s", "--to", "#x", "--body",
			"m"); !strings.Contains(msg, "#concern:x or #project:x") {
			t.Error(msg)
		}
		d.send("s", "#concern:x", "m")
		if got := d.last(mailbox)["recipient"]; got != "concern:x" {
			t.Errorf("recipient %v", got)
		}
		d.refused(mail.NotFound, "mailbox", "list", "--channel", "#nope")
	})
}

func TestTools(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.register("bob")
	if _, err := d.Call("alice", "send_message", `{"to":"bob","body":"no subject"}`); mail.CodeOf(
		err) != mail.Invalid {
		t.Errorf("without a subject: %v", err)
	}
	out, err := d.Call("alice", "send_message", `{"to":"bob","subject":"S","body":"B"}`)
	if err != nil || !strings.Contains(out, `"recipient":"bob","reaches":["bob"]`) {
		t.Fatalf("%s, %v", out, err)
	}
	out, err = d.Call("bob", "read_mailbox", "")
	if err != nil || !strings.Contains(out, `"from":"alice","to":"bob","subject":"S","body":"B"`) ||
		!strings.Contains(out, `"unread":1`) {
		t.Fatalf("read_mailbox: %s, %v", out, err)
	}
	if it := d.History()[0]; it.Via != "" {
		t.Errorf("via %q", it.Via)
	}
	if out, err := d.Call("newcomer", "read_mailbox", "{}"); err != nil || out != `{"messages":[],"unread":0}` {
		t.Errorf("a newcomer: %s, %v", out, err)
	}
	var names []string
	for _, tool := range d.Dialect.Endpoints[0].Tools {
		names = append(names, tool.Name)
	}
	if !slices.Equal(names, []string{"send_message", "read_mailbox"}) {
		t.Errorf("tools %v", names)
	}
}
