package haak_test

import (
	"strings"
	"testing"

	"pennypost/internal/mail"
)

// TestWouldReachTheLiving: send lists only live sessions as reached, for every kind of address.
func TestWouldReachTheLiving(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	for _, id := range []string{"lives", "sleeps", "died"} {
		d.register(id, "--role", "steward", "--tags", "project:x")
	}
	d.ok("roster", "freeze", "--session-id", "sleeps")
	d.ok("roster", "bury", "--session-id", "died")
	for to, want := range map[string]string{"project:x": "lives", "all": "lives", "steward": "lives", "lives": "lives",
		"died": "", "sleeps": "", "died,sleeps,lives": "lives", "user": "user"} {
		out := d.ok("mailbox", "send", "--from", "s", "--to", to, "--body", "m")
		_, got, _ := strings.Cut(strings.TrimSpace(out), "would reach: ")
		if got != want {
			t.Errorf("to %s: would reach %q, want %q", to, got, want)
		}
		text, err := d.Call("s", "send_message", `{"to":"`+to+`","subject":"S","body":"m"}`)
		list := `"reaches":[]`
		if want != "" {
			list = `"reaches":["` + want + `"]`
		}
		if err != nil || !strings.Contains(text, list) {
			t.Errorf("to %s: %s, %v; want %s", to, text, err, list)
		}
	}
	if _, err := d.As(mail.User).Register(t.Context(), mail.Presence{Name: "died", Update: true,
		State: mail.Idle}); err != nil {
		t.Fatal(err)
	}
	if out := d.ok("mailbox", "send", "--from", "s", "--to", "died", "--body", "m"); !strings.Contains(out,
		"would reach: died") {
		t.Errorf("one that came back: %s", out)
	}
}
