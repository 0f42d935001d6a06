package inbox_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"pennypost/internal/mail"
	"pennypost/internal/office/web/sitetest"
	"pennypost/internal/wire"
)

// TestOpenSession tests that a letter's button says where its sender's session is, or which command shows it.
func TestOpenSession(t *testing.T) {
	b := newFixture(t)
	b.Register(mail.Presence{Name: "ann", Session: "s1", Client: "claude", State: mail.Idle})
	id := b.Send("ann", mail.Draft{Subject: "One"})
	b.Get("/@shop/?m="+string(id)).Want(t, http.StatusOK, `action="/@shop/attach"`, `name="agent" value="ann"`,
		"Open session").Without(t, "claude --resume")
	form := url.Values{"agent": {"ann"}}
	b.Post("/@shop/attach", form).Want(t, http.StatusServiceUnavailable)

	var asked []string
	var answer wire.Attached
	b.Attach = func(_ context.Context, room mail.RoomName, agent mail.Name) (wire.Attached, error) {
		asked = append(asked, string(room)+"/"+string(agent))
		return answer, nil
	}
	for _, tt := range []struct {
		answer    wire.Attached
		want, not string
	}{
		{wire.Attached{Live: true, Front: true, Where: "pane %3 of tmux session work"},
			"in front of you: pane %3 of tmux session work.", "<code"},
		{wire.Attached{Live: true, Where: "pane %3 of tmux", Command: "tmux -S /s attach-session -t %3"},
			"<code id=\"session-command\">tmux -S /s attach-session -t %3</code>", "a second time"},
		{wire.Attached{Live: true, Why: "it is in no terminal", Command: "claude --resume s1"},
			"it is in no terminal. This opens it a second time", "in front of you:"},
		{wire.Attached{Live: true, Why: "it is in no terminal"}, "it is in no terminal.", "<code"},
		{wire.Attached{Command: "cd '/<x>' && claude --resume s1"},
			"cd &#39;/&lt;x&gt;&#39; &amp;&amp; claude", "<x>"},
		{wire.Attached{Why: "none is known"}, "There is no session to show: none is known.", "<code"},
	} {
		answer = tt.answer
		b.Post("/@shop/attach", form).Want(t, http.StatusOK, tt.want, "Session of ann").Without(t, tt.not)
		part := b.Post("/@shop/attach", form, sitetest.AsScript("section#session-how")).Want(t, http.StatusOK, tt.want)
		part.Without(t, tt.not, "<html")
		if at := part.Header.Get("HX-Retarget"); at != "#session-how" {
			t.Errorf("the answer goes to %q", at)
		}
	}
	if got := strings.Join(asked, " "); strings.Trim(strings.ReplaceAll(got, "shop/ann", ""), " ") != "" || got == "" {
		t.Errorf("asked for %s", got)
	}
}
