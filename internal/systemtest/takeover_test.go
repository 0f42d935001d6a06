package systemtest

import (
	"strings"
	"testing"

	"pennypost/internal/room/journal/jetstream/natstest"
)

// If the machine that looks after a room is killed, another sends the mail that falls due, once and in order,
// including recurring mail. When the first machine is back, nothing is sent again.
func TestP16_TakenOver(t *testing.T) {
	t.Parallel()
	servers := natstest.Start(t, 3, natstest.Options{Sync: "5s"})
	a, b, c := newOffice(t), newOffice(t), newOffice(t)
	for machine, o := range map[string]*office{"laptop-1": a, "laptop-2": b, "laptop-3": c} {
		onServers(t, o, servers, machine, "jetstream")
	}
	first := a.mustServe(t)
	a.must(t, "agents", "register", "ann", "--room", "lab")
	b.mustServe(t)
	c.mustServe(t)
	for _, o := range []*office{b, c} { // a machine that never had the room open does not know what waits there
		eventually(t, "the room is listed", func() bool { return strings.Contains(o.must(t, "rooms"), "lab") })
		o.must(t, "inbox", "--room", "lab")
	}
	send := func(text string, more ...string) {
		t.Helper()
		a.must(t, append([]string{"send", "ann", "--room", "lab", "--body", text}, more...)...)
	}
	send("second", "--in", "10s")
	send("first", "--in", "9s")
	send("each minute", "--every", "* * * * *", "--zone", "UTC")
	send("by the machine that lives", "--in", "1s")
	count := func(text string) int {
		return strings.Count(b.must(t, "history", "--room", "lab", "--json"), `"body":"`+text+`"`)
	}
	eventually(t, "the first machine has sent what was due", func() bool {
		return count("by the machine that lives") == 1
	})
	first.kill()
	if n := count("first") + count("second"); n > 0 {
		t.Fatalf("%d were sent before the machine was killed", n)
	}
	eventually(t, "another machine sends what is due", func() bool { return count("second") == 1 })
	said := b.must(t, "history", "--room", "lab", "--json")
	if i, j := strings.Index(said, `"body":"first"`), strings.Index(said, `"body":"second"`); i < 0 || i > j {
		t.Errorf("they were not sent in order:\n%s", said)
	}
	if n := strings.Count(b.must(t, "scheduled", "--room", "lab", "--json"), `"draft"`); n != 1 {
		t.Errorf("%d wait still, want that of each minute", n)
	}
	a.mustServe(t)
	eventually(t, "the first machine is back", func() bool {
		return strings.Contains(a.must(t, "history", "--room", "lab"), "second")
	})
	send("afterwards", "--in", "1s") // sending this checks what is due
	eventually(t, "what is due afterwards is sent", func() bool { return count("afterwards") == 1 })
	for _, text := range []string{"first", "second", "by the machine that lives"} {
		if n := count(text); n != 1 {
			t.Errorf("%q was sent %d times, want once", text, n)
		}
	}
}
