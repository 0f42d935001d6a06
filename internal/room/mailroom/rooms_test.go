package mailroom

import (
	"testing"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
)

// TestSendToSeveralRooms checks that mail to several rooms is sent to all or to none while they can be asked, that a
// room which fails after that is reported, and that a retry reaches the rest and doubles nothing.
func TestSendToSeveralRooms(t *testing.T) {
	o := newOffice(t, Options{})
	ctx := t.Context()
	mailboxes := map[mail.RoomName]mail.Service{}
	for _, room := range []mail.RoomName{"lab-1.ü", "one", "two"} {
		v, err := o.Room(ctx, room, "ann")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := v.Register(ctx, mail.Presence{}); err != nil {
			t.Fatal(err)
		}
		mailboxes[room] = v
	}
	want := func(when string, here, one, two int) {
		t.Helper()
		for room, n := range map[mail.RoomName]int{"lab-1.ü": here, "one": one, "two": two} {
			page, err := mailboxes[room].Inbox(ctx, mail.InboxQuery{})
			if err != nil || page.Unread != n {
				t.Errorf("%s, room %s has %d messages (%v), want %d", when, room, page.Unread, err, n)
			}
		}
	}
	bob, _ := o.Room(ctx, "lab-1.ü", "bob")
	draft := mail.Draft{To: mail.Recipients{"ann", "ann@one", "ann@two", "nobody@two"}, Body: "x",
		Key: mail.MadeKey + "k"}
	if _, err := bob.Send(ctx, draft); mail.CodeOf(err) != mail.NotFound {
		t.Errorf("to somebody whom room two does not know: %v, want NotFound", err)
	}
	want("refused", 0, 0, 0)

	draft.To = draft.To[:3]
	o.fill("two", true)
	sent, err := bob.Send(ctx, draft)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(sent.Recipients); n != 3 || sent.Recipients[n-1].State != mail.NotSent ||
		sent.Recipients[n-1].Address != "ann@two" || sent.Recipients[n-1].Why != "the disk is full" {
		t.Errorf("while room two fails, the answer is %+v", sent.Recipients)
	}
	want("with room two failing", 1, 1, 0)

	draft.Key = "" // sending the same text again means the same message
	if _, err := bob.Send(ctx, draft); err != nil {
		t.Fatal(err)
	}
	want("sent again, still failing", 1, 1, 0)
	o.fill("two", false)
	draft.Key = mail.MadeKey + "k"
	for range 2 {
		sent, err = bob.Send(ctx, draft)
		if err != nil || !sent.Duplicate || mail.CountStates(sent.Recipients)[mail.NotSent] > 0 {
			t.Errorf("sent again: %+v, %v", sent, err)
		}
		want("sent again", 1, 1, 1)
	}

	o.fill("two", true)
	if _, err := bob.Send(ctx, mail.Draft{To: mail.Recipients{"ann@two"}, Body: "y"}); mail.CodeOf(
		err) != mail.Unavailable {
		t.Errorf("to a room that fails and no other: %v, want Unavailable", err)
	}
}

// TestSendAgainUnderAnotherName checks that a retry by a sender that was renamed since is doubled in no room, even
// when the others have archived the message.
func TestSendAgainUnderAnotherName(t *testing.T) {
	a := askAcross(t)
	d := mail.Draft{To: mail.Recipients{"ann", "bea@here"}, Body: "x", Key: "once"}
	first := a.send(a.ann, d)
	if _, err := a.rooms["lab"].As(mail.User).Rename(t.Context(), "ann", "anna"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		again := a.send(a.rooms["lab"].As("anna"), d)
		page, err := a.bea.History(t.Context(), mail.HistoryQuery{Archive: true})
		if err != nil || len(page.Messages) != 2 || !again.Duplicate || again.ID != first.ID {
			t.Errorf("sent again: %+v; there are %+v, %v", again, page.Messages, err)
		}
		a.rooms["here"].opts.Retention = policy.Retention{Age: 1}
		if _, err := a.rooms["here"].As(mail.User).Archive(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}
