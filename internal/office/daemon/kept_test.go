package daemon

import (
	"strings"
	"testing"

	"pennypost/internal/mail"
	"pennypost/internal/wire"
)

// keepFor makes ann, whose machine is cut off, send a message to each recipient; the messages are kept.
func (f *fleet) keepFor(t *testing.T, to ...string) {
	t.Helper()
	ann := f.near.room(t, "a", "ann")
	f.cable.set(true, false)
	for _, one := range to {
		sent, err := ann.Send(t.Context(), mail.Draft{To: []string{one}, Subject: "To " + one, Body: "Dear " + one})
		if err != nil || sent.Kept == nil {
			t.Fatalf("to %s: %+v, %v, want that it is kept", one, sent, err)
		}
	}
}

// wantRefused waits until the near machine keeps only that many letters, all refused, for a reason that contains
// why.
func (f *fleet) wantRefused(t *testing.T, want int, why string) []mail.Kept {
	t.Helper()
	var kept []mail.Kept
	eventually(t, "the letters are settled", func() bool {
		out, err := f.near.office.Outbox(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		kept = out.Letters
		for _, k := range kept {
			if !k.Refused {
				return false
			}
		}
		return len(kept) == want
	})
	for _, k := range kept {
		if !strings.Contains(k.Why, why) || k.Body == "" {
			t.Errorf("refused is %+v, want its text, and %q", k, why)
		}
	}
	return kept
}

// TestKeptForNobody: mail that was kept for an agent that is gone when the connection is back returns to its sender,
// with its text and the reason, and stays in the outbox until someone dismisses it. Other mail of the sender is
// delivered.
func TestKeptForNobody(t *testing.T) {
	f := newFleet(t)
	f.near.register(t, "a", "ann")
	f.far.register(t, "a", "bob")
	f.keepFor(t, "bob", "user")
	if err := f.far.room(t, "a", mail.User).Retire(t.Context(), "bob"); err != nil {
		t.Fatal(err)
	}
	f.cable.set(false, false)
	refused := f.wantRefused(t, 1, "taken off the roster")
	var box mail.Page
	eventually(t, "the sender is told", func() bool {
		var err error
		box, err = f.near.room(t, "a", "ann").Inbox(t.Context(), mail.InboxQuery{})
		return err == nil && len(box.Messages) == 1
	})
	told := box.Messages[0]
	if told.Subject != "Not sent: To bob" || !strings.Contains(told.Body, "Dear bob") ||
		!strings.Contains(told.Body, "taken off the roster") {
		t.Errorf("the sender is told %q: %s", told.Subject, told.Body)
	}
	box, err := f.far.room(t, "a", mail.User).Inbox(t.Context(), mail.InboxQuery{})
	if err != nil || len(box.Messages) != 1 || box.Messages[0].Body != "Dear user" {
		t.Errorf("the user has %+v, %v", box.Messages, err)
	}
	if err := f.near.office.WithdrawKept(t.Context(), refused[0].Key); err != nil {
		t.Error(err)
	}
	f.wantRefused(t, 0, "")
}

// TestKeptWhereTheRightEnded: while a machine may not send, its kept mail waits, and the outbox says why. Let in
// again, it sends the mail.
func TestKeptWhereTheRightEnded(t *testing.T) {
	f, cfg := newFleet(t), testConfig(t)
	f.near.stop(t)
	f.near = start(t, Options{Config: cfg, Remote: f.remote})
	f.near.register(t, "a", "ann")
	f.keepFor(t, "user")
	if err := f.far.office.Revoke(t.Context(), string(f.remote.Machine)); err != nil {
		t.Fatal(err)
	}
	f.cable.set(false, false)
	eventually(t, "it is said that the machine is revoked", func() bool {
		out, err := f.near.office.Outbox(t.Context(), "")
		return err == nil && len(out.Letters) == 1 && strings.Contains(out.Letters[0].Why, "pennypost invite")
	})
	user := f.far.room(t, "a", mail.User)
	if box, err := user.Inbox(t.Context(), mail.InboxQuery{}); err != nil || len(box.Messages) > 0 {
		t.Errorf("the user has %+v, %v", box.Messages, err)
	}
	f.near.stop(t)
	f.near = start(t, Options{Config: cfg, Remote: f.join(t, "ship-3", wire.Invite{})})
	eventually(t, "it is sent", func() bool {
		box, err := user.Inbox(t.Context(), mail.InboxQuery{})
		return err == nil && len(box.Messages) == 1 && box.Messages[0].Body == "Dear user"
	})
	f.wantRefused(t, 0, "")
}
