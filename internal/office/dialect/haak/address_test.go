package haak_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pennypost/internal/mail"
	"pennypost/internal/office/dialect/dialecttest"
	"pennypost/internal/office/dialect/haak"
)

// TestRoleBeforeSession: mail for a role goes to no session of that name, whether the role is typed or in a line of
// the file, and whether or not it has a holder.
func TestRoleBeforeSession(t *testing.T) {
	t.Parallel()
	at := "2026-05-10T14:00:00Z"
	d := newDesk(t)
	d.register("architect-new")
	d.register("a1b2c3d4-0000-4000-8000-000000000000", "--role", "feedface0")
	d.register("feedface-0000-4000-8000-000000000000")
	d.send("s", "architect", "typed")
	d.send("s", "feedface0", "a role before the beginning of an id")
	d.stranger(mailbox, foreign("line-1", "zoe", "architect", at, "in a line"))
	d.wantUnread("architect-new")
	d.wantUnread("a1b2c3d4-0000-4000-8000-000000000000", "a role before the beginning of an id")
	d.wantUnread("feedface-0000-4000-8000-000000000000")
	for _, m := range d.file(mailbox) {
		if m["ttl_hours"] != nil {
			t.Errorf("mail for a role expires: %v", m)
		}
	}
	d.Advance(48 * 60 * 60e9) // longer than the TTL of mail to a session
	d.register("lina", "--role", "architect")
	d.wantUnread("lina", "typed", "in a line")
	d.Stop() // the files give the same without the post office
	if out, _, err := d.offline("check-mailbox", "--session-id", "architect-new"); err != nil || out != "" {
		t.Errorf("from the files: %q, %v", out, err)
	}
}

// TestAbbreviatedSession: people may shorten random ids, but not names.
func TestAbbreviatedSession(t *testing.T) {
	t.Parallel()
	const uuid = "a1b2c3d4-0000-4000-8000-000000000000"
	d := newDesk(t)
	d.register(uuid)
	d.register("librarian-new")
	d.send("s", "a1b2c3d4", "for the session")
	if got := d.last(mailbox)["recipient"]; got != uuid {
		t.Errorf("recipient %v", got)
	}
	d.stranger(reads, `{"message_id":"x","reader_session_id":"a1b2c3d4","timestamp":"2026-05-10T14:00:00Z"}`)
	d.wantUnread(uuid, "for the session")
	d.refused(mail.NotFound, "roster", "show", "--session-id", "librarian")
	d.ok("roster", "show", "--session-id", "a1b2c3d4")
	d.Stop()
	out, _, err := d.offline("check-mailbox", "--json", "--session-id", "a1b2c3d4")
	if err != nil || out == "" {
		t.Fatalf("from the files: %q, %v", out, err)
	}
	if diff := cmp.Diff(uuid, d.last(reads)["reader_session_id"]); diff != "" {
		t.Errorf("reader (-want +got):\n%s", diff)
	}
}

// TestSessionIsNoRole: a session's id, or its first 8 digits, is never taken for a role, whether the session is
// known or not: old mail to it has expired, and a later session with that id does not get it.
func TestSessionIsNoRole(t *testing.T) {
	t.Parallel()
	const uuid = "0f1e2d3c-0000-4000-8000-000000000000"
	d := newDesk(t)
	var lines []string
	for i, to := range []string{uuid, "99887766"} {
		lines = append(lines, foreign(fmt.Sprint("old-", i), "zoe", to, "2026-01-20T14:00:00Z", "old"),
			foreign(fmt.Sprint("new-", i), "zoe", to, "2026-05-10T13:00:00Z", "new"))
	}
	d.stranger(mailbox, lines...)
	if held := d.ok("mailbox", "list", "--all"); strings.Contains(held, "[held]") || !strings.Contains(held, "old") {
		t.Errorf("list:\n%s", held)
	}
	for _, id := range []string{uuid, "99887766"} {
		d.register(id, "--role", "steward")
		d.wantUnread(id, "new")
		if out := d.ok("roster", "show", "--session-id", id); !strings.Contains(out, "role steward") {
			t.Errorf("roster: %s", out)
		}
	}
	d.refused(mail.NotFound, "mailbox", "send", "--from", "s", "--to", "12345678", "--body", "x")
}

// TestShortAndWholeID: a roster's 8 digits and a hook's UUID are one session, in either order.
func TestShortAndWholeID(t *testing.T) {
	t.Parallel()
	const uuid = "a1b2c3d4-0000-4000-8000-000000000000"
	at := "2026-05-10T14:00:00Z"
	entry := func(id, state string) string {
		return fmt.Sprintf(`{"session_id":%q,"state":%q,"role":"steward","registered":%q,"updated":%q}`, id, state, at, at)
	}
	read := func(message, reader string) string {
		return fmt.Sprintf(`{"message_id":%q,"reader_session_id":%q,"timestamp":%q}`, message, reader, at)
	}
	for _, ids := range [][2]string{{uuid[:8], uuid}, {uuid, uuid[:8]}} {
		t.Run("first "+ids[0], func(t *testing.T) {
			d := newDesk(t)
			d.stranger(roster, entry(ids[0], "live"))
			d.stranger(mailbox, foreign("m1", "zoe", ids[0], at, "by the first"),
				foreign("m2", "zoe", ids[1], at, "by the other"), foreign("m3", ids[1], "all", at, "its own"),
				foreign("m4", "zoe", "steward", at, "for the role"))
			want := []string{"by the first", "by the other", "for the role"}
			d.wantUnread(ids[0], want...)
			d.stranger(reads, read("m1", ids[1]))
			out := d.ok("check-mailbox", "--session-id", ids[1])
			if strings.Contains(out, want[0]) || !strings.Contains(out, want[1]) || !strings.Contains(out, want[2]) {
				t.Errorf("check-mailbox prints\n%s", out)
			}
			d.wantUnread(ids[0])
			if out := d.ok("roster", "show"); strings.Count(out, uuid[:8]) != 1 {
				t.Errorf("the roster has\n%s", out)
			}
			d.stranger(roster, entry(ids[1], "dead"))
			if out := d.ok("roster", "show", "--session-id", ids[1]); !strings.Contains(out, ids[0]+"  dead") {
				t.Errorf("roster show prints\n%s", out)
			}
			d.Stop()
			d.Start()
			d.wantUnread(ids[0])
			if out, _, _ := d.offline("check-mailbox", "--session-id", ids[1]); out != "" {
				t.Errorf("from the files:\n%s", out)
			}
		})
	}
}

// TestHookComesFirst: a session is recognised even if its hook runs before the room knows its project's roster.
func TestHookComesFirst(t *testing.T) {
	t.Parallel()
	const uuid = "a1b2c3d4-0000-4000-8000-000000000000"
	d := desk{dialecttest.New(t, haak.Dialect())}
	if err := os.MkdirAll(d.path("."), 0o755); err != nil {
		t.Fatal(err)
	}
	d.unseen(roster, `{"session_id":"a1b2c3d4","state":"live","role":"steward"}`)
	d.unseen(mailbox, foreign("m1", "zoe", "a1b2c3d4", "2026-05-10T14:00:00Z", "for it"))
	if out := d.ok("check-mailbox", "--session-id", uuid); !strings.Contains(out, "for it") {
		t.Errorf("check-mailbox prints %q", out)
	}
	if out := d.ok("roster", "show"); strings.Count(out, "a1b2c3d4") != 1 {
		t.Errorf("the roster has\n%s", out)
	}
}
