package haak_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pennypost/internal/mail"
	"pennypost/internal/office/dialect/dialecttest"
	"pennypost/internal/office/dialect/haak"
)

func TestStrangers(t *testing.T) {
	t.Parallel()
	t.Run("a stranger's message comes into the room once, with its id and time", func(t *testing.T) {
		d := newDesk(t)
		d.register("bob")
		d.stranger(mailbox, foreign("x-1", "zoe", "bob", "2026-05-10T13:59:59.123456+00:00", "hi"))
		d.Stop()
		d.Start()
		d.Sync()
		all := d.History()
		if len(all) != 1 {
			t.Fatalf("%d messages", len(all))
		}
		want := mail.Message{
			ID: "x-1", Type: mail.Custom, From: "agent:zoe", To: []mail.Address{"agent:bob"}, Body: "hi",
			TTLSeconds: 24 * 3600,
			Metadata:   mail.Metadata(`{"haak":{"timestamp":"2026-05-10T13:59:59.123456+00:00"}}`),
			Via:        "haak", Sent: mail.TimeOf(dialecttest.Began.Add(-877 * time.Millisecond)),
		}
		if diff := cmp.Diff(want, all[0].Message); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if n := strings.Count(d.text(mailbox), "\n"); n != 1 {
			t.Errorf("%d lines", n)
		}
		d.send("bob", "zoe", "who writes is a session")
		d.wantUnread("zoe", "who writes is a session")
	})
	t.Run("what cannot be understood stays, and is counted", func(t *testing.T) {
		d := newDesk(t)
		garbage := []string{
			"", "not JSON", `{"id":"a"`, `[]`, `{"id":1}`,
			foreign("", "a", "b", "2026-05-10T14:00:00Z", "no id"),
			foreign("g-1", "a", "foo:bar", "2026-05-10T14:00:00Z", "no such namespace"),
			foreign("g-2", "all", "b", "2026-05-10T14:00:00Z", "nobody is called all"),
			foreign("g-3", "a", "b", "yesterday", "no time"),
			`{"id":"g-4","id":"g-4","sender":"a","recipient":"b","timestamp":"2026-05-10T14:00:00Z","content":"twice"}`,
			"{\"id\":\"g-5\xff\",\"sender\":\"a\",\"recipient\":\"all\",\"timestamp\":\"2026-05-10T14:00:00Z\"," +
				"\"content\":\"not UTF-8: \xff\"}",
		}
		st := d.stranger(mailbox, append(garbage, foreign("ok-1", "a", "all", "2026-05-10T14:00:00Z", "fine"))...)
		if st.Rejected != len(garbage)-1 || st.Failing != "" {
			t.Errorf("rejected %d, want %d; failing %q", st.Rejected, len(garbage)-1, st.Failing)
		}
		before := d.text(mailbox)
		d.send("a", "all", "ours")
		if !strings.HasPrefix(d.text(mailbox), before) {
			t.Error("the file was not only appended to")
		}
		var bodies []string
		for _, it := range d.History() {
			bodies = append(bodies, it.Body)
		}
		if diff := cmp.Diff([]string{"not UTF-8: \uFFFD", "fine", "ours"}, bodies); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
	t.Run("H1 H3 other spellings of the members are read", func(t *testing.T) {
		d := newDesk(t)
		d.register("bob")
		d.stranger(mailbox,
			`{"id":"s-1","from":"ann","to":"bob","subject":"S","body":"B","timestamp":"2026-05-10T14:00:00Z"}`)
		d.wantUnread("bob", "B")
		d.stranger(reads, `{"messageid":"s-1","readersession_id":"bob","timestamp":"2026-05-10T14:00:00Z"}`)
		d.wantUnread("bob")
	})
	t.Run("H2 read_by in a line counts", func(t *testing.T) {
		d := newDesk(t)
		d.register("bob")
		d.register("carol")
		d.stranger(mailbox,
			`{"id":"r-1","sender":"a","recipient":"all","timestamp":"2026-05-10T14:00:00Z","content":"m","thread":null,"ttl_hours":null,"read_by":["bob"]}`)
		d.wantUnread("bob")
		d.wantUnread("carol", "m")
	})
	t.Run("threads are found through the file, in any order", func(t *testing.T) {
		d := newDesk(t)
		reply := func(id, parent string) string {
			return strings.Replace(foreign(id, "a", "all", "2026-05-10T14:00:00Z", id), `"thread":null`,
				fmt.Sprintf(`"thread":%q`, parent), 1)
		}
		d.stranger(mailbox, foreign("t-1", "a", "all", "2026-05-10T14:00:00Z", "root"), reply("t-2", "t-1"),
			reply("t-3", "t-2"), reply("c-1", "c-2"), reply("c-2", "c-1"), reply("o-1", "lost"))
		threads := make(map[mail.ID]mail.ID)
		for _, it := range d.History() {
			threads[it.ID] = it.Thread
		}
		for id, want := range map[mail.ID]mail.ID{"t-1": "", "t-2": "t-1", "t-3": "t-1", "o-1": "lost"} {
			if threads[id] != want {
				t.Errorf("%s is in thread %q, want %q", id, threads[id], want)
			}
		}
	})
	t.Run("a claim of held role mail by a stranger counts", func(t *testing.T) {
		d := newDesk(t)
		id := d.send("alice", "architect", "plan")
		d.stranger(reads, fmt.Sprintf(
			`{"message_id":%q,"reader_session_id":"outsider","timestamp":"2026-05-10T14:00:01Z"}`, id))
		d.register("lina", "--role", "architect")
		d.wantUnread("lina")
	})
	t.Run("old senders are not taken for alive", func(t *testing.T) {
		d := newDesk(t)
		d.stranger(mailbox, foreign("o-1", "old", "all", "2026-05-08T14:00:00Z", "m"),
			foreign("o-2", "new", "all", "2026-05-10T13:00:00Z", "m"))
		out := d.ok("roster", "show")
		if !strings.Contains(out, "old  dead") || !strings.Contains(out, "new  live") {
			t.Errorf("roster:\n%s", out)
		}
	})
}

func TestReads(t *testing.T) {
	t.Parallel()
	t.Run("an unread mark is not undone by the line that stands", func(t *testing.T) {
		d := newDesk(t)
		d.register("bob")
		id := d.send("alice", "bob", "m")
		mark := func(k mail.Mark) {
			if _, err := d.As("bob").Mark(t.Context(), mail.Marking{IDs: []mail.ID{id}, Mark: k}); err != nil {
				t.Fatal(err)
			}
		}
		again := func() {
			d.Stop()
			d.Start()
			d.Sync()
		}
		mark(mail.MarkRead)
		mark(mail.MarkUnread)
		again()
		d.wantUnread("bob", "m")
		mark(mail.MarkRead)
		again()
		d.wantUnread("bob")
		if n := strings.Count(d.text(reads), "\n"); n != 1 {
			t.Errorf("%d reads lines", n)
		}
	})
	t.Run("archived mail is read for strangers", func(t *testing.T) {
		d := newDesk(t)
		d.register("bob")
		id := d.send("alice", "bob", "m")
		if _, err := d.As("bob").Mark(t.Context(),
			mail.Marking{IDs: []mail.ID{id}, Mark: mail.MarkArchived}); err != nil {
			t.Fatal(err)
		}
		if got := d.last(reads)["message_id"]; got != string(id) {
			t.Errorf("reads %v", got)
		}
	})
}

func TestRosterFile(t *testing.T) {
	t.Parallel()
	entry :=
		`{"session_id":"lina","model":"opus","context_pct":41,"state":"live","role":"architect","tags":["project:x","role:steward"],"summary":"drafting","registered":"2026-05-01T00:00:00Z","updated":"2026-05-10T13:00:00Z"}`
	t.Run("a stranger's entry becomes an agent; unknown keys stay", func(t *testing.T) {
		d := newDesk(t)
		d.stranger(roster, entry, "garbage")
		agents, err := mail.Roster(t.Context(), d.As(mail.User))
		if err != nil || len(agents) != 1 {
			t.Fatalf("%v, %v", agents, err)
		}
		a := agents[0]
		if diff := cmp.Diff([]any{mail.Name("lina"), []string{"architect", "steward"}, []string{"project:x"},
			"drafting", mail.Idle}, []any{a.Name, a.Roles, a.Tags, a.Task, a.State}); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if text := d.text(roster); text != entry+"\ngarbage\n" {
			t.Errorf("nothing had to be written: %s", text)
		}
		d.Advance(time.Minute)
		d.ok("roster", "freeze", "--session-id", "lina")
		want := strings.Replace(strings.Replace(entry, `"live"`, `"frozen"`, 1), "13:00:00Z", "14:01:00Z", 1)
		if diff := cmp.Diff(entry+"\ngarbage\n"+want+"\n", d.text(roster)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
	t.Run("what the room changed while nobody looked is not undone by old lines", func(t *testing.T) {
		d := newDesk(t)
		d.stranger(roster, entry)
		d.Sync()
		d.register("bob", "--role", "steward")
		d.Stop()
		for _, name := range []mail.Name{"lina", "bob"} {
			if _, err := d.As(mail.User).Register(t.Context(),
				mail.Presence{Name: name, Update: true, State: mail.Gone, Roles: []string{}}); err != nil {
				t.Fatal(err)
			}
		}
		d.Start()
		d.Sync()
		out := d.ok("roster", "show")
		if !strings.Contains(out, "lina  dead  role -") || !strings.Contains(out, "bob  dead  role -") {
			t.Errorf("roster:\n%s", out)
		}
		if got := d.last(roster)["state"]; got != "dead" {
			t.Errorf("file: %v", got)
		}
	})
	t.Run("what a stranger changed while nobody looked counts", func(t *testing.T) {
		d := newDesk(t)
		d.register("bob", "--role", "steward")
		d.Stop()
		d.unseen(roster, `{"session_id":"bob","state":"frozen","role":null,"tags":["domain:y"]}`)
		d.Start()
		d.Sync()
		if out := d.ok("roster", "show"); !strings.Contains(out, "bob  frozen  role -  tags domain:y") {
			t.Errorf("roster:\n%s", out)
		}
	})
	t.Run("agents from before the bridge are written, and their mail", func(t *testing.T) {
		d := desk{dialecttest.New(t, haak.Dialect())}
		d.Register("native", "builder", "project:x")
		d.Send("native", mail.Draft{To: mail.Recipients{"project:x"}, Type: "status", Subject: "S", Body: "B",
			Docs: []mail.Doc{{Path: "a.md", Revision: "r1"}}})
		d.Bridge(mail.BridgeBoth)
		if m := d.last(roster); m["session_id"] != "native" || m["role"] != "builder" {
			t.Errorf("roster %v", m)
		}
		if m := d.last(mailbox); m["content"] != "B\n\nDocuments:\n- a.md (r1)" || len(m) != 9 {
			t.Errorf("mailbox %v", m)
		}
	})
	t.Run("a partial entry, as in the document", func(t *testing.T) {
		d := newDesk(t)
		d.stranger(roster,
			`{"session_id":"architect-new","tags":["project:inscription","concern:governance","domain:architecture"]}`)
		if out := d.ok("roster", "show"); !strings.Contains(out,
			"architect-new  live  role -  tags project:inscription,concern:governance,domain:architecture") {
			t.Errorf("roster:\n%s", out)
		}
	})
}

func TestModes(t *testing.T) {
	t.Parallel()
	t.Run("mirror writes and takes nothing", func(t *testing.T) {
		d := desk{dialecttest.New(t, haak.Dialect())}
		d.Bridge(mail.BridgeMirror)
		d.stranger(mailbox, foreign("m-1", "zoe", "all", "2026-05-10T14:00:00Z", "theirs"))
		d.register("bob")
		d.send("bob", "all", "ours")
		if n := len(d.History()); n != 1 || strings.Count(d.text(mailbox), "\n") != 2 {
			t.Errorf("%d messages; file:\n%s", n, d.text(mailbox))
		}
	})
	t.Run("follow takes and writes nothing", func(t *testing.T) {
		d := desk{dialecttest.New(t, haak.Dialect())}
		d.Bridge(mail.BridgeFollow)
		d.stranger(mailbox, foreign("m-1", "zoe", "all", "2026-05-10T14:00:00Z", "theirs"))
		d.register("bob")
		d.send("bob", "all", "ours")
		if n := len(d.History()); n != 2 || strings.Count(d.text(mailbox), "\n") != 1 || d.text(roster) != "" {
			t.Errorf("%d messages; file:\n%s", n, d.text(mailbox))
		}
	})
}

func TestFailure(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.register("bob")
	first := d.send("alice", "bob", "one")
	// The mailbox is a dangling link: the send succeeds and is written later.
	aside := d.path(mailbox) + ".aside"
	if err := os.Rename(d.path(mailbox), aside); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(d.path("nowhere/at/all"), d.path(mailbox)); err != nil {
		t.Fatal(err)
	}
	d.send("alice", "bob", "two")
	d.send("alice", "bob", "three")
	if st := d.Sync(); st.Failing == "" {
		t.Errorf("status %+v", st)
	}
	if err := os.Rename(aside, d.path(mailbox)); err != nil {
		t.Fatal(err)
	}
	d.Sync()
	d.Sync()
	var got []string
	for _, m := range d.file(mailbox) {
		got = append(got, m["content"].(string))
	}
	if diff := cmp.Diff([]string{"one", "two", "three"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// After a crash the events are replayed.
	d.Stop()
	if err := os.Remove(filepath.Join(d.State, "haak", "cursor")); err != nil {
		t.Fatal(err)
	}
	before := [3]string{d.text(mailbox), d.text(reads), d.text(roster)}
	d.Start()
	d.Sync()
	if after := [3]string{d.text(mailbox), d.text(reads), d.text(roster)}; after != before {
		t.Errorf("written twice (-want +got):\n%s", cmp.Diff(before, after))
	}
	// Erased mail is in no file.
	if err := d.As(mail.User).Erase(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	if text := d.text(mailbox); strings.Contains(text, `"one"`) || !strings.Contains(text, `"two"`) {
		t.Errorf("after erasing:\n%s", text)
	}
	d.Sync()
	if n := len(d.History()); n != 2 {
		t.Errorf("%d messages after erasing", n)
	}
}
