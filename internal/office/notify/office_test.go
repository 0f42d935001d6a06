package notify

import (
	"errors"
	"strings"
	"testing"
	"time"

	"pennypost/internal/config"
	"pennypost/internal/mail"
)

// TestAnnounced: an announcement is told immediately, even right after other mail, and once, even across a restart,
// until it is over; its end is told if its beginning was.
func TestAnnounced(t *testing.T) {
	inFixture(t, config.Telling{URL: "https://box.example:8765"}, func(b *fixture) {
		b.send("ann", mail.Question, "Which port?", mail.Draft{})
		b.pass(gather)
		announce := func() {
			b.notify.Announce("silent tower", "The server tower is not heard", "It is not. Start it.")
		}
		announce()
		b.pass(time.Millisecond)
		b.told("ann asks: Which port?", "Urgent: The server tower is not heard")
		if n := b.pad.notes[1]; n.Text != "It is not. Start it." || n.URL != "https://box.example:8765/" ||
			!n.Urgent || !n.Letters[0].Office || n.Letters[0].Room != "" {
			t.Errorf("the note is %+v", n)
		}
		for range 3 {
			announce()
			b.pass(time.Minute)
		}
		b.end()
		b.start()
		announce()
		b.pass(time.Minute)
		b.told("ann asks: Which port?", "Urgent: The server tower is not heard")
		over := b.notify.Announced()
		if len(over) != 1 || over[0] != "silent tower" {
			t.Errorf("announced is %q", over)
		}
		b.notify.Over(over, "All is well", "Again.")
		b.pass(time.Minute)
		b.told("ann asks: Which port?", "Urgent: The server tower is not heard", "Urgent: All is well")
		if left := b.notify.Announced(); len(left) > 0 {
			t.Errorf("announced is still %q", left)
		}
		announce()
		b.pass(time.Minute)
		b.notify.Over(b.notify.Announced(), "All is well", "Again.")
		b.pass(time.Minute)
		if got := len(b.pad.notes); got != 5 {
			t.Errorf("%d notes, want a second pair", got)
		}
	})
}

// TestAnnouncedInVain: an announcement that failed is neither lost nor recorded as told, and its end is not told.
func TestAnnouncedInVain(t *testing.T) {
	no := false
	inFixture(t, config.Telling{Text: &no}, func(b *fixture) {
		b.pad.set(errors.New("no network"))
		b.notify.Announce("silent tower", "The server tower is not heard", "It is not.")
		b.pass(time.Hour)
		b.told()
		b.notify.Over([]string{"silent tower"}, "All is well", "Again.")
		b.pad.set(nil)
		b.pass(time.Hour)
		b.told()
		b.notify.Announce("silent desk", "The server desk is not heard", "It is not.")
		b.pass(time.Hour)
		b.told("Urgent: The server desk is not heard")
		if n := b.pad.notes[0]; strings.Contains(n.Text, "It is not.") || strings.Contains(n.Text, "room") {
			t.Errorf("the note is %+v", n)
		}
	})
}
