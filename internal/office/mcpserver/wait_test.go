package mcpserver

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pennypost/internal/fence/fencetest"
	"pennypost/internal/mail"
	"pennypost/internal/office/wake"
	"pennypost/internal/room/journal/journaltest"
	"pennypost/internal/room/mailroom"
)

// TestWaitReturnsNews: a wait does not return mail that was handed over in this session, by a wait, a read or a hook.
// It does return mail that another session was handed, and an answer it asks for.
func TestWaitReturnsNews(t *testing.T) {
	room := openRoom(t)
	v := room.As("ann")
	turn := func(session string) {
		t.Helper()
		if _, err := v.Turn(t.Context(), mail.Turn{Moment: mail.SessionStart, Session: session}); err != nil {
			t.Fatal(err)
		}
	}
	send := func(d mail.Draft) mail.ID {
		t.Helper()
		d.To = []string{"ann"}
		sent, err := room.As("bea").Send(t.Context(), d)
		if err != nil {
			t.Fatal(err)
		}
		return sent.ID
	}
	ann := connectNative(t, room, "ann")
	wait := func(args string, want ...mail.ID) {
		t.Helper()
		text, failed := use(t, ann, "wait_for_messages", args)
		got, _, err := fencetest.Parse(text)
		if failed != "" || err != nil || len(got) != len(want) || len(want) > 0 && got[0].ID != want[0] {
			t.Errorf("wait_for_messages(%s) = %s%s; want %v", args, text, failed, want)
		}
	}
	const briefly = `{"timeout_seconds":0.05}`
	turn("s1")
	one := send(mail.Draft{Body: "one"})
	wait(briefly, one)
	wait(briefly)
	two := send(mail.Draft{Body: "two"})
	use(t, ann, "read_messages", "{}")
	wait(briefly)
	question, err := v.Send(t.Context(), mail.Draft{To: []string{"bea"}, Type: string(mail.Question), Body: "?"})
	if err != nil {
		t.Fatal(err)
	}
	answer := send(mail.Draft{Type: string(mail.Answer), ReplyTo: question.ID, Body: "!"})
	if _, err := v.Mark(t.Context(), mail.Marking{IDs: []mail.ID{answer}, Mark: mail.MarkPresented,
		Door: mail.HookDoor}); err != nil {
		t.Fatal(err)
	}
	wait(briefly)
	wait(`{"timeout_seconds":0.05,"reply_to":"`+string(question.ID)+`"}`, answer)
	if _, err := v.Turn(t.Context(), mail.Turn{Moment: mail.SessionEnd, Session: "s1"}); err != nil {
		t.Fatal(err)
	}
	turn("s2")
	wait(briefly, one)
	wait(briefly, two)
}

// bell is a door that counts its rings.
type bell struct{ rings atomic.Int32 }

func (*bell) Door() string                            { return "bell" }
func (b *bell) Ring(context.Context, wake.Ring) error { b.rings.Add(1); return nil }

// P8: a waiting call is a door. The sender is told that the recipient waits; the message that ended the wait was
// handed over, no other door rings, and the roster says that this door has worked.
func TestP8_WaitIsADoor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		other := new(bell)
		doors := wake.NewDoors(wake.Entry{For: "agent:ann", Wakers: []wake.Waker{other}})
		room, err := mailroom.Open(context.Background(), "lab", new(journaltest.Store).Open(),
			mailroom.Options{Door: doors.Name})
		if err != nil {
			t.Fatal(err)
		}
		defer room.Close()
		if _, err := room.As("ann").Register(t.Context(), mail.Presence{Session: "s1"}); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		rung := make(chan error)
		go func() { rung <- wake.New(wake.Options{Room: room, Doors: doors}).Run(ctx) }()
		ann := connectNative(t, room, "ann")
		ended := make(chan string)
		go func() {
			text, failed := use(t, ann, "wait_for_messages", `{"timeout_seconds":3600}`)
			ended <- text + failed
		}()
		time.Sleep(30 * time.Minute)
		sent, err := room.As(mail.User).Send(t.Context(), mail.Draft{To: []string{"ann"}, Type: string(mail.Question),
			Body: "how far?"})
		if err != nil || sent.Recipients[0].Wake != mail.WakeWaiting {
			t.Errorf("Send = %+v, %v; want that ann waits for it", sent.Recipients, err)
		}
		text := <-ended
		if got, _, err := fencetest.Parse(text); err != nil || len(got) != 1 || got[0].ID != sent.ID {
			t.Errorf("the wait ended with %s", text)
		}
		time.Sleep(time.Hour)
		it, err := room.As(mail.User).Message(t.Context(), sent.ID)
		if err != nil || it.Deliveries[0].State != mail.Presented || it.Deliveries[0].Door != mail.WaitDoor {
			t.Errorf("the message is %+v, %v", it.Deliveries, err)
		}
		if list, err := mail.Roster(t.Context(), room.As(mail.User)); err != nil || list[0].Door != mail.WaitDoor ||
			list[0].DoorAt == 0 {
			t.Errorf("the roster is %+v, %v", list, err)
		}
		if n := other.rings.Load(); n != 0 {
			t.Errorf("ann was rung %d times besides", n)
		}
		stop()
		if err := <-rung; err != nil {
			t.Error(err)
		}
	})
}
