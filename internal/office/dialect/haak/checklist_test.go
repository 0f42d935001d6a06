package haak_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pennypost/internal/mail"
	"pennypost/internal/office/dialect/dialecttest"
	"pennypost/internal/office/dialect/haak"
)

func TestMessages(t *testing.T) {
	t.Parallel()
	t.Run("HK-01 HK-02 one line, eight keys, in the document's order", func(t *testing.T) {
		d := newDesk(t)
		d.register("bob")
		d.send("alice", "bob", "*Hi* <b>")
		d.send("alice", "bob", "again", "--subject", "S", "--ttl-hours", "5")
		text := strings.SplitAfter(d.text(mailbox), "\n")
		if len(text) != 3 || text[2] != "" {
			t.Fatalf("two messages are %q", text)
		}
		m := d.file(mailbox)[0]
		if !uuid4.MatchString(m["id"].(string)) {
			t.Errorf("the id %v is no UUID, version 4", m["id"])
		}
		want := fmt.Sprintf(
			`{"id":%q,"sender":"alice","recipient":"bob","timestamp":"2026-05-10T14:00:00Z","content":"*Hi* <b>","thread":null,"ttl_hours":null,"read_by":[]}`, m["id"]) + "\n"
		if text[0] != want {
			t.Errorf("line\n%s want\n%s", text[0], want)
		}
		if !strings.HasSuffix(text[1], `"thread":null,"ttl_hours":5,"read_by":[],"subject":"S"}`+"\n") {
			t.Errorf("with a subject: %s", text[1])
		}
	})
	t.Run("HK-03 over 500 words warns, and is refused when strict", func(t *testing.T) {
		d := newDesk(t)
		d.register("bob")
		long := strings.Repeat("word ", 501)
		if errs := d.notes("mailbox", "send", "--from", "alice", "--to", "bob", "--body",
			strings.Repeat("word ", 500)); errs != "" {
			t.Errorf("500 words: %q", errs)
		}
		if errs := d.notes("mailbox", "send", "--from", "alice", "--to", "bob", "--body",
			long); !strings.Contains(errs, "501 words") {
			t.Errorf("501 words: %q", errs)
		}
		if msg := d.refused(mail.TooLarge, "mailbox", "send", "--from", "alice", "--to", "bob", "--strict", "--body",
			long); !strings.Contains(msg, "nothing was sent") {
			t.Error(msg)
		}
		if n := len(d.file(mailbox)); n != 2 {
			t.Errorf("%d messages, want 2", n)
		}
	})
	t.Run("HK-04 thread is the parent, a chain is a tree, an unknown parent is an error", func(t *testing.T) {
		d := newDesk(t)
		d.register("bob")
		a := d.send("alice", "bob", "root")
		b := d.send("bob", "alice", "reply", "--thread", string(a))
		d.send("alice", "bob", "reply to the reply", "--thread", string(b))
		d.send("bob", "alice", "second reply", "--thread", string(a))
		if got := d.file(mailbox)[2]["thread"]; got != string(b) {
			t.Errorf("thread = %v, want the parent %s", got, b)
		}
		var got []string
		for l := range strings.Lines(d.ok("mailbox", "list", "--thread", string(b))) {
			indent := len(l) - len(strings.TrimLeft(l, " "))
			_, text, _ := strings.Cut(l, "]  ")
			got = append(got, fmt.Sprintf("%d %s", indent, strings.TrimSpace(text)))
		}
		want := []string{"0 root", "2 reply", "4 reply to the reply", "2 second reply"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("tree (-want +got):\n%s", diff)
		}
		d.refused(mail.NotFound, "mailbox", "send", "--from", "alice", "--to", "bob", "--body", "x", "--thread",
			"no-such")
		if n := len(d.file(mailbox)); n != 4 {
			t.Errorf("%d messages, want 4", n)
		}
	})
	t.Run("HK-05 HK-06 the mailbox and the reads are only appended to", func(t *testing.T) {
		d := newDesk(t)
		d.register("bob", "--role", "architect")
		d.send("alice", "bob", "one")
		d.send("alice", "all", "two")
		before := map[string]string{mailbox: d.text(mailbox), reads: d.text(reads), roster: d.text(roster)}
		d.ok("mailbox", "read", "--session-id", "bob", "--unread-only")
		if d.text(mailbox) != before[mailbox] {
			t.Error("reading changed the mailbox")
		}
		if got := len(d.file(reads)); got != 2 {
			t.Errorf("reading two messages made %d reads lines", got)
		}
		d.send("bob", "alice", "three")
		d.ok("roster", "freeze", "--session-id", "bob")
		d.ok("roster", "bury", "--session-id", "bob")
		d.ok("roster", "clean")
		d.Stop()
		d.Start()
		d.Sync()
		for name, old := range before {
			if !strings.HasPrefix(d.text(name), old) {
				t.Errorf("%s was not only appended to:\n%s\nwas\n%s", name, d.text(name), old)
			}
		}
	})
	t.Run("HK-07 a reads line of a stranger makes it read for that reader only", func(t *testing.T) {
		d := newDesk(t)
		d.register("bob")
		d.register("carol")
		id := d.send("alice", "all", "news")
		d.stranger(reads, fmt.Sprintf(`{"message_id":%q,"reader_session_id":"bob","timestamp":"2026-05-10T14:00:01Z"}`,
			id))
		d.wantUnread("bob")
		d.wantUnread("carol", "news")
		if n := len(d.file(reads)); n != 1 {
			t.Errorf("%d reads lines, want the stranger's alone", n)
		}
	})
	t.Run("HK-08 list --all shows mail between others, expired mail too", func(t *testing.T) {
		d := newDesk(t)
		d.register("bob")
		d.send("alice", "bob", "direct", "--ttl-hours", "1")
		d.Advance(2 * time.Hour)
		d.send("bob", "alice", "second")
		if out := d.ok("mailbox", "list", "--all"); !strings.Contains(out, "[expired]  direct") ||
			!strings.Contains(out, "second") {
			t.Error(out)
		}
		if out := d.ok("mailbox", "list"); strings.Contains(out, "direct") {
			t.Errorf("without --all: %s", out)
		}
		page, err := d.As(mail.User).History(t.Context(), mail.HistoryQuery{})
		if err != nil || len(page.Messages) != 2 {
			t.Errorf("the user sees %d messages: %v", len(page.Messages), err)
		}
	})
}

func TestAddressing(t *testing.T) {
	t.Parallel()
	t.Run("HK-09 direct mail: next poll, waits while frozen, dead letter", func(t *testing.T) {
		d := newDesk(t)
		for _, id := range []string{"live", "frozen", "dying"} {
			d.register(id)
		}
		d.ok("roster", "freeze", "--session-id", "frozen")
		for _, id := range []string{"live", "frozen", "dying"} {
			d.send("alice", id, "to "+id)
		}
		d.wantUnread("live", "to live")
		d.ok("roster", "bury", "--session-id", "dying")
		if out := d.ok("mailbox", "dead-letters"); !strings.Contains(out, "to dying") ||
			strings.Contains(out, "to live") {
			t.Errorf("dead letters:\n%s", out)
		}
		d.Advance(23 * time.Hour)
		d.wantUnread("live", "to live")
		d.Advance(2 * time.Hour)
		d.wantUnread("live")
		if out := d.ok("mailbox", "dead-letters"); !strings.Contains(out, "to dying") {
			t.Errorf("dead letters after their time:\n%s", out)
		}
		d.Advance(100 * time.Hour)
		d.ok("roster", "update", "--session-id", "frozen", "--state", "live")
		d.wantUnread("frozen", "to frozen")
		d.Advance(25 * time.Hour)
		d.wantUnread("frozen")
	})
	t.Run("HK-10 role mail waits until somebody holds the role", func(t *testing.T) {
		d := newDesk(t)
		if errs := d.notes("mailbox", "send", "--from", "alice", "--to", "architect", "--body",
			"plan"); !strings.Contains(errs, "no such role yet") {
			t.Errorf("note: %q", errs)
		}
		if got := d.last(mailbox)["recipient"]; got != "architect" {
			t.Errorf("recipient %v", got)
		}
		d.Advance(90 * 24 * time.Hour)
		d.register("lina", "--role", "architect")
		d.wantUnread("lina", "plan")
	})
	t.Run("HK-11 role mail survives its holder, and is read once", func(t *testing.T) {
		d := newDesk(t)
		d.register("first", "--role", "steward")
		d.send("alice", "role:steward", "one")
		if got := d.last(mailbox)["recipient"]; got != "role:steward" {
			t.Errorf("recipient %v, want it as it was written", got)
		}
		d.send("alice", "steward", "two")
		d.ok("mailbox", "read", "--session-id", "first", "--unread-only")
		d.send("alice", "steward", "three")
		_, errs, _ := d.Verb("roster", "bury", "--session-id", "first")
		if !strings.Contains(errs, "vacancy: first was the last to hold the role steward; 1 message waits for it") {
			t.Errorf("vacancy notice: %q", errs)
		}
		d.register("second", "--role", "steward")
		d.wantUnread("second", "three")
	})
	t.Run("HK-12 broadcasts reach whoever looks within four hours", func(t *testing.T) {
		d := newDesk(t)
		d.register("a")
		d.register("b")
		d.send("x", "all", "hello")
		d.ok("mailbox", "read", "--session-id", "a")
		if out := d.ok("mailbox", "read", "--session-id", "b", "--json"); !strings.Contains(out, `"read_by":["a"]`) {
			t.Errorf("H2: b reads %s", out)
		}
		var readers []string
		for _, r := range d.file(reads) {
			readers = append(readers, r["reader_session_id"].(string))
		}
		if !slices.Equal(readers, []string{"a", "b"}) {
			t.Errorf("readers %v", readers)
		}
		if out := d.ok("mailbox", "list", "--json"); !strings.Contains(out, `"read_by":["a","b"]`) {
			t.Errorf("H2: %s", out)
		}
		d.Advance(3 * time.Hour)
		d.register("c")
		d.wantUnread("c", "hello")
		d.Advance(61 * time.Minute)
		d.register("d")
		d.wantUnread("d")
	})
	t.Run("HK-13 ttl_hours overrides every default", func(t *testing.T) {
		d := newDesk(t)
		d.register("bob", "--role", "steward", "--tags", "project:x")
		for _, to := range []string{"bob", "steward", "project:x", "all"} {
			d.send("alice", to, "short "+to, "--ttl-hours", "1")
			d.send("alice", to, "long "+to, "--ttl-hours", "48")
		}
		d.Advance(61 * time.Minute)
		d.wantUnread("bob", "long bob", "long steward", "long project:x", "long all")
		d.Advance(46 * time.Hour)
		d.wantUnread("bob", "long bob", "long steward", "long project:x", "long all")
		d.Advance(time.Hour)
		d.wantUnread("bob")
		if got := d.file(mailbox)[0]["ttl_hours"]; got != 1.0 {
			t.Errorf("ttl_hours %v", got)
		}
		d.refused(mail.Invalid, "mailbox", "send", "--from", "alice", "--to", "bob", "--body", "x", "--ttl-hours", "0")
	})
	t.Run("HK-14 expired mail is not shown, and stays", func(t *testing.T) {
		d := newDesk(t)
		d.register("bob")
		d.send("alice", "all", "gone")
		d.Advance(5 * time.Hour)
		if out := d.ok("check-mailbox", "--session-id", "bob"); out != "" {
			t.Errorf("shown: %s", out)
		}
		if !strings.Contains(d.text(mailbox), "gone") || !strings.Contains(d.ok("mailbox", "list", "--all"), "gone") {
			t.Error("it is no longer there")
		}
	})
}

func TestPolling(t *testing.T) {
	t.Parallel()
	t.Run("HK-15 session start shows session, role, tag and all, then marks", func(t *testing.T) {
		d := newDesk(t)
		d.register("bob", "--role", "steward", "--tags", "concern:governance")
		for _, to := range []string{"bob", "steward", "concern:governance", "all"} {
			d.send("alice", to, "for "+to)
		}
		out := d.ok("check-mailbox", "--session-id", "bob")
		for _, to := range []string{"bob", "steward", "concern:governance", "all"} {
			if !strings.Contains(out, "for "+to) {
				t.Errorf("mail to %s is not shown:\n%s", to, out)
			}
		}
		if n := len(d.file(reads)); n != 4 {
			t.Errorf("%d reads lines, want 4", n)
		}
		if again := d.ok("check-mailbox", "--session-id", "bob"); again != "" {
			t.Errorf("the second time: %s", again)
		}
	})
	t.Run("HK-16 HK-17 without a post office, from the files; never an error", func(t *testing.T) {
		d := newDesk(t)
		d.register("bob", "--role", "steward", "--tags", "project:x")
		d.register("carol", "--role", "steward")
		d.send("alice", "bob", "direct")
		d.send("alice", "bob", "old", "--ttl-hours", "1")
		d.send("alice", "project:x", "tagged")
		d.send("bob", "all", "own")
		d.send("alice", "all", "read before")
		d.send("alice", "steward", "office")
		d.Advance(2 * time.Hour)
		d.Stop()
		d.unseen(reads, fmt.Sprintf(`{"messageid":%q,"readersession_id":"bob","timestamp":"2026-05-10T15:00:00Z"}`,
			d.file(mailbox)[4]["id"]))
		before := d.text(mailbox)
		out, errs, err := d.offline("check-mailbox", "--session-id", "bob")
		if err != nil || errs != "" {
			t.Fatalf("%v %s", err, errs)
		}
		var got []string
		for _, body := range []string{"direct", "old", "tagged", "own", "read before", "office"} {
			if strings.Contains(out, "\n"+body+"\n") {
				got = append(got, body)
			}
		}
		if diff := cmp.Diff([]string{"direct", "tagged", "office"}, got); diff != "" {
			t.Errorf("shown (-want +got):\n%s\n%s", diff, out)
		}
		if again, _, _ := d.offline("check-mailbox", "--session-id", "bob"); again != "" {
			t.Errorf("the second time: %s", again)
		}
		if d.text(mailbox) != before {
			t.Error("the mailbox was changed")
		}
		if out, _, _ := d.offline("check-mailbox", "--session-id", "carol"); strings.Contains(out, "office") {
			t.Errorf("role mail that was read is shown to another holder: %s", out)
		}
		for _, id := range []string{"nobody", "", "bad\x01name"} {
			if out, _, err := d.offline("check-mailbox", "--session-id="+id); id != "" && err != nil ||
				strings.Contains(out, "direct") {
				t.Errorf("check-mailbox %q: %v, %s", id, err, out)
			}
		}
		d.Start()
		d.Sync()
		if got := d.unread("bob"); slices.Contains(got, "direct") || slices.Contains(got, "tagged") {
			t.Errorf("the post office did not learn of it: %v", got)
		}
	})
	t.Run("HK-17 an empty project is silent", func(t *testing.T) {
		d := desk{dialecttest.New(t, haak.Dialect())}
		if out, errs, err := d.offline("check-mailbox", "--session-id", "bob"); out+errs != "" || err != nil {
			t.Errorf("%q %q %v", out, errs, err)
		}
		if out, errs, err := d.Verb("check-mailbox", "--session-id", "bob"); out+errs != "" || err != nil {
			t.Errorf("%q %q %v", out, errs, err)
		}
		if _, err := os.Stat(filepath.Join(d.Dir, "data")); !os.IsNotExist(err) {
			t.Errorf("files were made: %v", err)
		}
	})
	t.Run("HK-17 files that the room does not know are connected, or read as they are", func(t *testing.T) {
		d := desk{dialecttest.New(t, haak.Dialect())}
		if err := os.MkdirAll(d.path("."), 0o755); err != nil {
			t.Fatal(err)
		}
		d.unseen(mailbox, foreign("f-1", "alice", "bob", "2026-05-10T13:00:00Z", "from before"))
		if out := d.ok("check-mailbox", "--session-id", "bob"); !strings.Contains(out, "from before") {
			t.Errorf("%q", out)
		}
		if got := d.last(reads)["reader_session_id"]; got != "bob" {
			t.Errorf("reads %v", got)
		}
	})
	t.Run("vacant roles with pending mail are told at session start", func(t *testing.T) {
		d := newDesk(t)
		d.send("alice", "architect", "plan")
		if out := d.ok("check-mailbox", "--session-id",
			"bob"); out != "vacant role architect: 1 message waits for it\n" {
			t.Errorf("%q", out)
		}
	})
}
