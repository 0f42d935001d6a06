package mailroom

import (
	"testing"

	"pennypost/internal/mail"
)

// Mail in the mailbox of the recipient's own client is told by no hook and rings no one, until the client is known to
// hand it over no longer.
func TestClientsOwnInbox(t *testing.T) {
	room, err := Open(t.Context(), "lab", newStore(t).Open(),
		Options{Door: func(mail.Name, []string) string { return "door" }})
	if err != nil {
		t.Fatal(err)
	}
	defer room.Close()
	turn := func(m mail.Moment) mail.Briefing {
		t.Helper()
		b, err := room.As("ann").Turn(t.Context(), mail.Turn{Moment: m, Session: "s"})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	const to mail.Address = "agent:ann"
	it := mail.Item{Message: mail.Message{ID: "m-1", Type: mail.Question, From: "agent:bob", To: []mail.Address{to},
		Body: "x", Sent: room.now()}}
	it.Deliveries = []mail.Delivery{{Address: to, Agent: "ann", State: mail.Notified, Door: mail.InboxDoor}}
	if _, err := room.As(mail.User).Import(t.Context(), []mail.Item{it}); err != nil {
		t.Fatal(err)
	}
	unwoken := func() int { return len(room.Unwoken(func(mail.Name, []string) bool { return true })) }
	for _, m := range []mail.Moment{mail.SessionStart, mail.TurnStart, mail.AfterTool, mail.TurnEnd} {
		if b := turn(m); len(b.Items) != 0 || b.Continue || b.Unread != 1 {
			t.Errorf("%s: %+v", m, b)
		}
	}
	if n := unwoken(); n != 0 {
		t.Errorf("%d are to be woken", n)
	}
	untold := []mail.Receipt{{Message: "m-1", Reader: to, Mark: mail.MarkUntold}}
	for want := 1; want >= 0; want-- { // the second time it changes nothing
		if n, err := room.Note(t.Context(), untold); err != nil || n != want {
			t.Errorf("%d noted, want %d, %v", n, want, err)
		}
	}
	if n := unwoken(); n != 1 {
		t.Errorf("%d are to be woken", n)
	}
	if b := turn(mail.TurnStart); len(b.Items) != 1 {
		t.Errorf("not told: %+v", b)
	}
}
