package mailroom

import (
	"testing"

	"pennypost/internal/mail"
)

// Mail is presented once to a session, and again to the next one, which has not seen it.
func TestPresentedToEachSession(t *testing.T) {
	room, _ := openRoom(t, "lab", Options{})
	user := room.As(mail.User)
	join := func(session string) {
		t.Helper()
		if _, err := user.Register(t.Context(),
			mail.Presence{Name: "bob", Session: session, TakeOver: true}); err != nil {
			t.Fatal(err)
		}
	}
	join("s1")
	sent, err := user.Send(t.Context(), mail.Draft{To: mail.Recipients{"bob"}, Body: "x"})
	if err != nil {
		t.Fatal(err)
	}
	presented := func(want int) {
		t.Helper()
		got, err := room.As("bob").Mark(t.Context(),
			mail.Marking{IDs: []mail.ID{sent.ID}, Mark: mail.MarkPresented, Door: mail.HookDoor})
		if err != nil || len(got.Marked) != want || len(got.Already) != 1-want {
			t.Errorf("presented: %+v, %v, want %d marked", got, err, want)
		}
	}
	presented(1)
	presented(0)
	join("s2")
	presented(1)
	presented(0)
}
