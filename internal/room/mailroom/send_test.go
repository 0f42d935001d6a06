package mailroom

import (
	"strings"
	"testing"

	"pennypost/internal/mail"
)

// TestSendAllocates limits the allocations of a plain send: the garbage collector limits how many there can be in a
// second. A draft without key, metadata, or addresses of other rooms pays for none of them.
func TestSendAllocates(t *testing.T) {
	if onServers {
		t.Skip("on memory only: it counts what a room allocates, and not its journal")
	}
	opts := keepAll
	opts.Limits.RepeatWindow = 0 // the default, with which the hash of each text is remembered
	room, _ := openRoom(t, "lab", opts)
	if _, err := room.As(mail.User).Register(t.Context(), mail.Presence{Name: "bob"}); err != nil {
		t.Fatal(err)
	}
	draft := mail.Draft{To: mail.Recipients{"bob"}, Body: strings.Repeat("words ", 80), Again: true}
	ann := room.As("ann")
	n := testing.AllocsPerRun(500, func() {
		if _, err := ann.Send(t.Context(), draft); err != nil {
			t.Fatal(err)
		}
	})
	if n > 24 { // 13 without the race detector, 41 before
		t.Errorf("a send makes %v allocations, want at most 24", n)
	}
}
