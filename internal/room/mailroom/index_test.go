package mailroom

import (
	"fmt"
	"testing"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
	"pennypost/internal/room/fold/foldtest"
)

// TestCountsFollow checks that counts follow changes that no message and no mark records: a role that changes whom
// mail wakes, a pause that lengthens lives, and mail that goes while its neighbour, which lives shorter, stays.
func TestCountsFollow(t *testing.T) {
	now := time.UnixMilli(1_000_000_000_000)
	room, _ := openRoom(t, "lab", Options{Now: func() time.Time { return now }, Retention: policy.Retention{Count: 2}})
	user := room.As(mail.User)
	check := func(what string) {
		t.Helper()
		if wrong := foldtest.Miscounted(room.state, mail.TimeOf(now)); wrong != "" {
			t.Errorf("%s: %s", what, wrong)
		}
	}
	register := func(p mail.Presence) {
		t.Helper()
		if _, err := user.Register(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	register(mail.Presence{Name: "ann"})
	for i, hours := range []int{100, 9, 50, 20} {
		d := mail.Draft{To: mail.Recipients{"ann"}, Type: "task-done", Body: fmt.Sprint(i),
			TTLSeconds: int64(hours) * 3600}
		if _, err := user.Send(t.Context(), d); err != nil {
			t.Fatal(err)
		}
	}
	check("sent")
	register(mail.Presence{Name: "ann", Update: true, Roles: []string{"orchestrator"}})
	check("made the orchestrator")
	if n := len(room.state.Members["ann"].Calling); n != 4 {
		t.Errorf("%d messages wake the orchestrator, want 4", n)
	}
	register(mail.Presence{Name: "ann", Update: true, State: mail.Frozen})
	now = now.Add(time.Hour)
	register(mail.Presence{Name: "ann", Update: true, State: mail.Idle})
	check("thawed")
	now = now.Add(21 * time.Hour)
	if _, err := user.Archive(t.Context()); err != nil {
		t.Fatal(err)
	}
	check("trimmed")
	if left := len(room.state.Order); left == 0 || left == 4 {
		t.Errorf("retention left %d messages, want some", left)
	}
}
