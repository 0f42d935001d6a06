package haak_test

import (
	"os"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pennypost/internal/mail"
)

// ingest runs the librarian's command and returns the messages in its output.
func (d desk) ingest(flags ...string) []mail.ID {
	d.T.Helper()
	var ids []mail.ID
	for _, m := range regexp.MustCompile(`"entity":"situation:mailbox-msg-([^"]*)"`).
		FindAllStringSubmatch(d.ok(append([]string{"entities", "--new", "--json"}, flags...)...), -1) {
		ids = append(ids, mail.ID(m[1]))
	}
	return ids
}

// The graph gets each message once, whichever session is the librarian and however the message arrived.
func TestIngestion(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	want := func(about string, got []mail.ID, want ...mail.ID) {
		t.Helper()
		if diff := cmp.Diff(slices.Concat([]mail.ID{}, want), slices.Concat([]mail.ID{}, got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", about, diff)
		}
	}
	d.register("bob")
	want("nothing", d.ingest())
	a, b, c := d.send("alice", "bob", "a"), d.send("bob", "all", "b"), d.send("alice", "architect", "c")
	want("the oldest", d.ingest("--limit", "2"), a, b)
	want("the rest", d.ingest(), c)
	want("no more", d.ingest())

	// Marks, deaths and roster changes are no news. A stranger's new line is, however old its message.
	d.ok("mailbox", "read", "--session-id", "bob")
	d.ok("roster", "bury", "--session-id", "bob")
	want("marks", d.ingest())
	old := "0b9d2c11-7b1e-4c57-9d11-2b8f3b1b2c3d"
	d.stranger(mailbox, foreign(old, "carol", "all", "2026-05-01T10:00:00Z", "old"))
	want("a stranger's", d.ingest("--as", "carol"), mail.ID(old))

	// Expired mail is included, and the graph's last message may be gone.
	d.Advance(30 * time.Hour)
	e := d.send("alice", "all", "e")
	d.Advance(30 * time.Hour)
	want("expired", d.ingest(), e)
	if err := d.As(mail.User).Erase(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	f := d.send("alice", "all", "f")
	want("after one that was erased", d.ingest(), f)

	// Messages that could not be recorded come again, and a foreign line is harmless.
	d.unseen("agent-mailbox-ingested.jsonl", "garbage")
	d.unseen("agent-mailbox-ingested.jsonl", `{"message_id":""}`)
	want("garbage", d.ingest())
	if err := os.Remove(d.path("agent-mailbox-ingested.jsonl")); err != nil {
		t.Fatal(err)
	}
	want("a graph that begins anew", d.ingest(), a, b, c, mail.ID(old), f)
	d.refused(mail.Invalid, "entities", "--new", string(a))
}
