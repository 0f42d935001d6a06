package mailroom

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
)

// TestClockJumps uses a room while its clock is set forward and back: by the hours of a sleep, by years, before 1970
// and to the last year that a line can hold. No message is lost or reordered, no one is kept from sending, and the
// room opened again is the same.
func TestClockJumps(t *testing.T) {
	base := time.Date(2026, 5, 10, 14, 0, 0, 0, time.UTC)
	now := base
	opts := Options{Now: func() time.Time { return now },
		Retention: policy.Retention{Age: 7 * 24 * time.Hour, Count: 40}}
	room, _ := openRoom(t, "lab", opts)
	ctx := t.Context()
	user := room.As(mail.User)
	var sent []mail.ID
	day := func(y int, m time.Month, d int) time.Time { return time.Date(y, m, d, 0, 0, 5, 0, time.UTC) }
	for i, at := range []time.Time{base, base.Add(2 * time.Hour), base.AddDate(0, -1, 0), base.AddDate(2, 0, 0), base,
		day(1969, 12, 31), day(9999, 12, 31), base.Add(time.Minute), day(1970, 1, 1), day(1, 1, 2),
		base.AddDate(0, 0, 8), base.Add(time.Hour)} {
		now = at
		for _, n := range []mail.Name{"ann", "bob"} {
			if _, err := room.As(n).Register(ctx, mail.Presence{Session: string(n), State: mail.Idle,
				Roles: []string{"builder"}}); err != nil {
				t.Fatalf("%v: register: %v", at, err)
			}
		}
		var here []mail.ID
		for _, d := range []mail.Draft{{To: mail.Recipients{"bob"}, Type: "task-assigned"},
			{To: mail.Recipients{"user"}, Type: "question"}, {To: mail.Recipients{"role:builder"}},
			{To: mail.Recipients{"all"}}} {
			d.Body = fmt.Sprint("step ", i, " to ", d.To)
			d.Key = d.Body
			s, err := room.As("ann").Send(ctx, d)
			if err != nil || s.Duplicate {
				t.Fatalf("%v: send: %+v, %v", at, s, err)
			}
			here = append(here, s.ID)
			if again, err := room.As("ann").Send(ctx, d); err != nil || again.ID != s.ID {
				t.Errorf("%v: sent again: %+v, %v", at, again, err)
			}
		}
		sent = append(sent, here...)
		inbox, err := room.As("bob").Inbox(ctx, mail.InboxQuery{Limit: mail.MaxLimit})
		if err != nil || !slices.ContainsFunc(inbox.Messages, func(it mail.Item) bool { return it.ID == here[0] }) {
			t.Errorf("%v: bob does not see his mail: %v, %v", at, bodies(inbox.Messages), err)
		}
		waiting, cancel := context.WithTimeout(ctx, 5*time.Second)
		if got, err := room.As("bob").Wait(waiting, mail.WaitQuery{}); err != nil || got.ID == "" {
			t.Errorf("%v: bob waits for what is there: %v", at, err)
		}
		cancel()
		if _, err := room.As("bob").Mark(ctx, mail.Marking{IDs: here[:1], Mark: mail.MarkRead}); err != nil {
			t.Errorf("%v: mark: %v", at, err)
		}
		if err := room.endLapsed(ctx); err != nil {
			t.Errorf("%v: %v", at, err)
		}
		if _, err := user.Archive(ctx); err != nil {
			t.Errorf("%v: archive: %v", at, err)
		}
	}
	for _, id := range sent {
		if _, err := user.Message(ctx, id); err != nil {
			t.Errorf("%s is nowhere: %v", id, err)
		}
	}
	var all []mail.ID
	for after := mail.Seq(0); ; {
		page, err := user.History(ctx, mail.HistoryQuery{Archive: true, After: after, Limit: mail.MaxLimit})
		if err != nil {
			t.Fatal(err)
		}
		for _, it := range page.Messages {
			if after = it.Seq; slices.Contains(sent, it.ID) {
				all = append(all, it.ID)
			}
		}
		if !page.More {
			break
		}
	}
	if !slices.Equal(all, sent) {
		t.Errorf("the history has %d of %d, or another order", len(all), len(sent))
	}
}
