package haak_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"pennypost/internal/mail"
)

// TestRoleBeforeSession holds that mail for a role is no session's that is called like it, whether somebody types the
// role or a line of the file names it, and whether anybody holds the role yet.
func TestRoleBeforeSession(t *testing.T) {
	t.Parallel()
	at := "2026-05-10T14:00:00Z"
	d := newDesk(t)
	d.register("architect-new")
	d.register("a1b2c3d4-0000-4000-8000-000000000000", "--role", "feedface")
	d.register("feedface-0000-4000-8000-000000000000")
	d.send("s", "architect", "typed")
	d.send("s", "feedface", "a role before the beginning of an id")
	d.stranger(mailbox, foreign("line-1", "zoe", "architect", at, "in a line"),
		foreign("line-2", "zoe", "a1b2c3d4", at, "a line names exactly whom it names"))
	d.wantUnread("architect-new")
	d.wantUnread("a1b2c3d4-0000-4000-8000-000000000000", "a role before the beginning of an id")
	d.wantUnread("feedface-0000-4000-8000-000000000000")
	for _, m := range d.file(mailbox) {
		if m["ttl_hours"] != nil {
			t.Errorf("mail for a role expires: %v", m)
		}
	}
	d.Advance(48 * 60 * 60e9) // longer than mail to a session waits
	d.register("lina", "--role", "architect")
	d.wantUnread("lina", "typed", "in a line")
	d.Stop() // without the post office the files say the same
	if out, _, err := d.offline("check-mailbox", "--session-id", "architect-new"); err != nil || out != "" {
		t.Errorf("from the files: %q, %v", out, err)
	}
}

// TestAbbreviatedSession holds what people may shorten: random ids, never names.
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
