package mailroom

import (
	"testing"

	"pennypost/internal/mail"
)

// TestMarksSurviveRenaming checks that the acts of an agent under two names are one agent's, even when compaction has
// taken the renaming itself out of the journal.
func TestMarksSurviveRenaming(t *testing.T) {
	room, store := openRoom(t, "lab", Options{})
	ctx := t.Context()
	user := room.As(mail.User)
	do := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	do(user.Register(ctx, mail.Presence{Name: "a"}))
	do(user.Register(ctx, mail.Presence{Name: "z"}))
	letter, err := user.Send(ctx, mail.Draft{To: mail.Recipients{"a"}, Body: "x"})
	do(letter, err)
	draft := mail.Draft{To: mail.Recipients{"z"}, Body: "from a", Key: "once"}
	first, err := room.As("a").Send(ctx, draft)
	do(first, err)
	do(room.As("a").Mark(ctx, mail.Marking{IDs: []mail.ID{letter.ID}, Mark: mail.MarkPresented, Door: "mcp"}))
	do(user.Rename(ctx, "a", "b"))
	do(room.As("b").Mark(ctx, mail.Marking{IDs: []mail.ID{letter.ID}, Mark: mail.MarkRead}))
	check := func(when string, r *Room) {
		t.Helper()
		page, err := r.As("b").Inbox(ctx, mail.InboxQuery{})
		do(page, err)
		if page.Unread != 0 || len(page.Messages) != 0 {
			t.Errorf("%s, %d are unread again", when, page.Unread)
		}
		it, err := r.As(mail.User).Message(ctx, letter.ID)
		do(it, err)
		if len(it.Deliveries) != 1 || it.Deliveries[0].Agent != "b" || it.Deliveries[0].State != mail.Read {
			t.Errorf("%s, the letter stands so: %+v", when, it.Deliveries)
		}
		for _, name := range []mail.Name{"a", "b"} {
			again, err := r.As(name).Send(ctx, draft)
			do(again, err)
			if !again.Duplicate || again.ID != first.ID {
				t.Errorf("%s, sent again as %s with the same key it is %s, want %s", when, name, again.ID, first.ID)
			}
		}
	}
	check("renamed", room)
	do(user.Archive(ctx))
	check("archived", room)
	for range 2 {
		r := reopen(t, store, "lab", Options{})
		check("opened again", r)
		do(r.As(mail.User).Archive(ctx))
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	do(user.Send(ctx, mail.Draft{To: mail.Recipients{"z"}, Body: "by now room has seen what the others wrote"}))
}
