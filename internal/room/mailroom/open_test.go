package mailroom

import (
	"testing"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
)

// TestP13_RetentionKeepsWhatIsOpen makes everything expire and go to the archive except an open question, and then
// only the answer to a question that the person has put off.
func TestP13_RetentionKeepsWhatIsOpen(t *testing.T) {
	now := time.UnixMilli(1_000_000_000_000)
	opts := Options{Now: func() time.Time { return now }, Retention: policy.Retention{Age: time.Hour, Count: 1}}
	room, store := openRoom(t, "lab", opts)
	ctx := t.Context()
	ann, bea, user := room.As("ann"), room.As("bea"), room.As(mail.User)
	for _, n := range []mail.Name{"ann", "bea"} {
		if _, err := user.Register(ctx, mail.Presence{Name: n}); err != nil {
			t.Fatal(err)
		}
	}
	send := func(v mail.Service, d mail.Draft) mail.ID {
		t.Helper()
		sent, err := v.Send(ctx, d)
		if err != nil {
			t.Fatal(err)
		}
		return sent.ID
	}
	trim := func(kept int) {
		t.Helper()
		now = now.Add(30 * 24 * time.Hour)
		if got, err := user.Archive(ctx); err != nil || got.Kept != kept {
			t.Errorf("Archive = %+v, %v; want %d kept", got, err, kept)
		}
	}
	q := send(ann, mail.Draft{To: mail.Recipients{"bea"}, Type: "question", Body: "why?"})
	put := send(ann, mail.Draft{To: mail.Recipients{"user"}, Type: "question", Body: "when?"})
	send(ann, mail.Draft{To: mail.Recipients{"bea"}, Type: "status", Body: "goes"})
	for _, k := range []mail.Mark{mail.MarkRead, mail.MarkArchived} {
		if _, err := bea.Mark(ctx, mail.Marking{IDs: []mail.ID{q}, Mark: k}); err != nil {
			t.Fatal(err)
		}
	}
	trim(2)
	a := send(user, mail.Draft{To: mail.Recipients{"ann"}, Body: "soon", ReplyTo: put})
	if _, err := user.Mark(ctx, mail.Marking{IDs: []mail.ID{put}, Mark: mail.MarkSnoozed,
		Until: mail.TimeOf(now.Add(300 * 24 * time.Hour))}); err != nil {
		t.Fatal(err)
	}
	trim(2) // the answer has gone
	again := reopen(t, store, "lab", opts)
	defer again.Close()
	for _, r := range []*Room{room, again} {
		page, err := r.As("bea").Inbox(ctx, mail.InboxQuery{Open: true})
		if err != nil || len(page.Messages) != 1 || page.Messages[0].ID != q {
			t.Errorf("open to bea: %+v, %v", page, err)
		}
		it, err := r.As(mail.User).Message(ctx, put)
		if err != nil || it.Settled == nil || it.Settled.Answer != a || it.Settled.As != mail.Answered {
			t.Errorf("the question whose answer has gone: %+v, %v", it.Settled, err)
		}
	}
	send(room.As("bea"), mail.Draft{To: mail.Recipients{"ann"}, Body: "because", ReplyTo: q})
	trim(1) // except the message that the person has put off, all go now
}
