package haak_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"pennypost/internal/mail"
)

// TestHoldersSeeRoleMail covers H4 and H5: all live holders of a role see its mail until one has read it, however it
// arrived; the first read takes it.
func TestHoldersSeeRoleMail(t *testing.T) {
	t.Parallel()
	t.Run("sent by the verb, and in a file", func(t *testing.T) {
		d := newDesk(t)
		d.register("ann", "--role", "steward")
		d.register("bob", "--role", "steward")
		out := d.ok("mailbox", "send", "--from", "cy", "--to", "steward", "--body", "one")
		if !strings.Contains(out, "would reach: ann, bob") {
			t.Errorf("send says %q", out)
		}
		d.stranger(mailbox, foreign("f1", "cy", "role:steward", "2026-05-10T14:00:00Z", "two"))
		d.wantUnread("ann", "one", "two")
		d.wantUnread("bob", "one", "two")
		d.ok("check-mailbox", "--session-id", "bob")
		d.wantUnread("ann")
		if out := d.ok("mailbox", "list"); strings.Count(out, "[read by bob]") != 2 {
			t.Errorf("list says\n%s", out)
		}
		d.Stop()
		d.Start()
		d.wantUnread("ann")
		d.register("dan", "--role", "steward")
		d.wantUnread("dan")
	})
	t.Run("who comes later sees it too, who goes or freezes leaves it to the others", func(t *testing.T) {
		d := newDesk(t)
		d.register("ann", "--role", "steward")
		d.send("cy", "steward", "one")
		d.register("bob", "--role", "steward")
		d.ok("roster", "freeze", "--session-id", "ann")
		d.send("cy", "steward", "two")
		d.wantUnread("bob", "one", "two")
		d.ok("roster", "update", "--session-id", "ann", "--state", "live")
		d.wantUnread("ann", "one", "two")
		d.ok("roster", "bury", "--session-id", "ann")
		d.ok("roster", "bury", "--session-id", "bob")
		d.register("dan", "--role", "steward")
		d.wantUnread("dan", "one", "two")
		d.stranger(reads, `{"message_id":"`+string(d.Inbox("dan")[0].ID)+`","reader_session_id":"elsewhere"}`)
		d.wantUnread("dan", "two")
	})
	t.Run("a read that is taken back offers it again", func(t *testing.T) {
		d := newDesk(t)
		d.register("ann", "--role", "steward")
		d.register("bob", "--role", "steward")
		id := d.send("cy", "steward", "one")
		ann := d.As("ann")
		for _, m := range []mail.Mark{mail.MarkRead, mail.MarkUnread} {
			if _, err := ann.Mark(t.Context(), mail.Marking{IDs: []mail.ID{id}, Mark: m}); err != nil {
				t.Fatal(err)
			}
		}
		d.wantUnread("ann", "one")
		d.wantUnread("bob", "one")
	})
	t.Run("of two that read at once one takes it, and the other is told who", func(t *testing.T) {
		d := newDesk(t)
		readers := []string{"ann", "bob", "eve"}
		for _, id := range readers {
			d.register(id, "--role", "steward")
		}
		id := d.send("cy", "steward", "one")
		errs := make([]error, len(readers))
		var all sync.WaitGroup
		for i, name := range readers {
			as := d.As(mail.Name(name))
			all.Go(func() {
				_, errs[i] = as.Mark(t.Context(), mail.Marking{IDs: []mail.ID{id}, Mark: mail.MarkRead})
			})
		}
		all.Wait()
		won := slices.Index(errs, nil)
		for i, err := range errs {
			if want := fmt.Sprintf("taken by %s", readers[max(won, 0)]); i != won &&
				(mail.CodeOf(err) != mail.Denied || !strings.Contains(err.Error(), want)) {
				t.Errorf("%s is told %v, want %q", readers[i], err, want)
			}
		}
		if n := len(d.file(reads)); won < 0 || n != 1 {
			t.Errorf("%v; the file has %d reads", errs, n)
		}
	})
	t.Run("native mail to a role keeps its rotation", func(t *testing.T) {
		d := newDesk(t)
		d.register("ann", "--role", "steward")
		d.register("bob", "--role", "steward")
		for range 2 {
			if _, err := d.As("cy").Send(t.Context(), mail.Draft{To: mail.Recipients{"role:steward"}, Body: "x",
				Again: true}); err != nil {
				t.Fatal(err)
			}
		}
		d.wantUnread("ann", "x")
		d.wantUnread("bob", "x")
	})
}
