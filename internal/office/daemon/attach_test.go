package daemon

import (
	"net/http"
	"os"
	"strings"
	"testing"

	"pennypost/internal/base/wording"
	"pennypost/internal/mail"
	"pennypost/internal/wire"
)

// TestAttach: the session that an agent's hooks reported is shown in its tmux pane, and resumed once it is over. No
// agent can ask for it.
func TestAttach(t *testing.T) {
	access, told := pane(t)
	d := &desk{T: t, running: start(t, Options{Config: testConfig(t)})}
	dir := t.TempDir()
	access.Dir = dir
	d.session("bob", mail.Turn{Session: "0a1b", Client: "claude", Access: access})
	attach := func(agent mail.Name) wire.Attached {
		t.Helper()
		got, err := d.office.Attach(t.Context(), "a", agent, wire.Attach{})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	socket, _, _ := strings.Cut(access.Tmux, ",")
	got := attach("bob")
	if want := "tmux -S " + socket + " attach-session -t " + access.Pane; !got.Live || got.Front ||
		got.Command != want || strings.Join(got.Shows, " ") != want || !strings.Contains(got.Where, access.Pane) {
		t.Errorf("while it runs: %+v, want %s", got, want)
	}
	token, err := d.room(t, "a", mail.User).Token(t.Context(), "bob")
	if err != nil {
		t.Fatal(err)
	}
	const path = "/api/v1/rooms/a/agents/bob/attach"
	for who, want := range map[string]int{token: http.StatusForbidden, "": http.StatusUnauthorized,
		d.token: http.StatusOK} {
		if code := d.post(t, "POST", path, who, `{}`); code != want {
			t.Errorf("POST %s with %q = %d, want %d", path, who, code, want)
		}
	}

	d.turn("bob", mail.Turn{Moment: mail.SessionEnd, Session: "0a1b", Client: "claude"})
	if got := attach("bob"); got.Live || got.Front || got.Shows != nil || got.Why == "" ||
		got.Command != "cd "+wording.Shell(dir)+" && claude --resume 0a1b" {
		t.Errorf("once it is over: %+v", got)
	}
	d.register(t, "a", "ann")
	if got := attach("ann"); got.Live || got.Command != "" || got.Why == "" {
		t.Errorf("of an agent without a session: %+v", got)
	}
	if _, err := d.office.Attach(t.Context(), "a", "nobody", wire.Attach{}); mail.CodeOf(err) != mail.NotFound {
		t.Errorf("of nobody: %v", err)
	}
	if text, err := os.ReadFile(told); err == nil {
		t.Errorf("the pane was told %q", text)
	}
}
