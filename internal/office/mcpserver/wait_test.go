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

// bell is a door that counts its rings.
type bell struct{ rings atomic.Int32 }

func (*bell) Door() string                            { return "bell" }
func (b *bell) Ring(context.Context, wake.Ring) error { b.rings.Add(1); return nil }

// P8: a call that waits is a door. The sender is told that the recipient waits; what ended the wait was handed over,
// nobody rings besides, and the roster says that this door has worked.
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
		if list, err := room.As(mail.User).Agents(t.Context()); err != nil || list[0].Door != mail.WaitDoor ||
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
