package door

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/office/wake"
	"pennypost/internal/policy"
	"pennypost/internal/room/journal/journaltest"
	"pennypost/internal/room/mailroom"
)

// fixture is an in-memory room whose ringer rings real doors.
type fixture struct {
	*testing.T
	room   *mailroom.Room
	ringer *wake.Ringer
}

// ringing runs a ringer over a room of agents until the test ends.
func ringing(t *testing.T, doors *wake.Doors, ladder policy.Ladder, agents ...mail.Presence) *fixture {
	t.Helper()
	room, err := mailroom.Open(context.Background(), "lab", new(journaltest.Store).Open(),
		mailroom.Options{Door: doors.Name, PutOff: doors.PutOff})
	b := &fixture{T: t, room: room}
	b.must(err)
	for _, a := range agents {
		_, err := room.As(mail.User).Register(t.Context(), a)
		b.must(err)
	}
	b.ringer = wake.New(wake.Options{Room: room, Doors: doors, Ladder: ladder})
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- b.ringer.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		b.must(<-done)
		b.must(room.Close())
	})
	return b
}

func (b *fixture) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// ask sends an agent a question.
func (b *fixture) ask(to mail.Name) mail.ID {
	b.Helper()
	sent, err := b.room.As("worker").Send(b.Context(), mail.Draft{To: mail.Recipients{string(to)}, Type: "question",
		Body: "body"})
	b.must(err)
	return sent.ID
}

// delivery returns the delivery of a message.
func (b *fixture) delivery(id mail.ID) mail.Delivery {
	b.Helper()
	it, err := b.room.As(mail.User).Message(b.Context(), id)
	b.must(err)
	return it.Deliveries[0]
}

func (b *fixture) state(n mail.Name, s mail.State) {
	b.Helper()
	_, err := b.room.As(n).Register(b.Context(), mail.Presence{State: s})
	b.must(err)
}

// notices returns the notices to the user.
func (b *fixture) notices() []mail.Item {
	b.Helper()
	page, err := b.room.As(mail.User).Inbox(b.Context(), mail.InboxQuery{Limit: mail.MaxLimit})
	b.must(err)
	return slices.DeleteFunc(page.Messages, func(it mail.Item) bool { return it.From != mail.FromSystem })
}

// pass lets time pass in a bubble.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}
