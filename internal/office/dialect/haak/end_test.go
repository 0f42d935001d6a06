package haak_test

import (
	"strings"
	"testing"
)

// TestSessionEnd: after the session-end hook the session is dead, its unread role mail waits for the next holder,
// and its drafts are sent.
func TestSessionEnd(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	for _, id := range []string{"ann", "bob"} {
		d.register(id, "--role", "steward")
	}
	d.register("cold", "--role", "architect")
	d.send("cy", "steward", "for the role")
	d.send("cy", "ann", "for ann")
	d.ok("mailbox", "send", "--from", "ann", "--to", "cy", "--body", "kept", "--later")
	d.ok("roster", "freeze", "--session-id", "cold")
	for _, id := range []string{"ann", "bob", "cold", "never-seen"} {
		if errs := d.notes("session-end", "--session-id", id); errs != "" {
			t.Errorf("session-end of %s says %q", id, errs)
		}
	}
	out := d.ok("roster", "show")
	for _, want := range []string{"ann  dead", "bob  dead", "cold  frozen"} {
		if !strings.Contains(out, want) {
			t.Errorf("the roster lacks %q:\n%s", want, out)
		}
	}
	if strings.Contains(out, "never-seen") || len(d.file(reads)) != 0 {
		t.Errorf("the roster has\n%s\nand the reads %s", out, d.text(reads))
	}
	d.wantUnread("cy", "kept")
	d.register("dan", "--role", "steward")
	d.wantUnread("dan", "for the role")
	if out := d.ok("check-mailbox", "--session-id", "ann"); !strings.Contains(out, "for ann") {
		t.Errorf("ann comes back to %q", out)
	}
}
