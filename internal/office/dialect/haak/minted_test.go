package haak_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pennypost/internal/mail"
)

// TestNativeMailIsMinted: mail sent outside HAAK has the required form in HAAK's file, for every kind of recipient:
// a version 4 UUID as id, and the document's default time to live, written as null.
func TestNativeMailIsMinted(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.register("bob", "--role", "steward", "--tags", "project:x")
	for _, to := range []string{"bob", "role:steward", "project:x", "all", "user", "bob,role:steward"} {
		d.Send("alice", mail.Draft{To: mail.Recipients{to}, Body: "to " + to})
	}
	d.Send(mail.User, mail.Draft{To: mail.Recipients{"bob"}, Body: "from the console"})
	d.Send(mail.User, mail.Draft{To: mail.Recipients{"bob"}, Body: "for an hour", TTLSeconds: 3600})
	all := d.file(mailbox)
	for _, m := range all {
		if !uuid4.MatchString(m["id"].(string)) {
			t.Errorf("the id %v is no UUID, version 4", m["id"])
		}
		want := any(nil)
		if m["content"] == "for an hour" {
			want = 1.0
		}
		if diff := cmp.Diff(want, m["ttl_hours"]); diff != "" {
			t.Errorf("ttl_hours of %q (-want +got):\n%s", m["content"], diff)
		}
	}
	if len(all) != 8 {
		t.Errorf("%d lines, want 8", len(all))
	}
	d.Advance(24 * time.Hour)
	d.wantUnread("bob", "to role:steward", "to bob,role:steward") // the room agrees
}
