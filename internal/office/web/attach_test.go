package web

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"pennypost/internal/mail"
	"pennypost/internal/wire"
)

// TestOpenSession: the button of a letter asks for its sender's session, and says where it is or what shows it.
func TestOpenSession(t *testing.T) {
	b := newFixture(t)
	b.register(mail.Presence{Name: "ann", Session: "s1", Client: "claude", State: mail.Idle})
	id := b.send("ann", mail.Draft{Subject: "One"})
	b.get("/@shop/?m="+string(id)).want(t, http.StatusOK, `action="/@shop/attach"`, `name="agent" value="ann"`,
		"Open session").without(t, "claude --resume")
	form := url.Values{"agent": {"ann"}}
	b.post("/@shop/attach", form).want(t, http.StatusServiceUnavailable)

	var asked []string
	var answer wire.Attached
	b.site.core.Attach = func(_ context.Context, room mail.RoomName, agent mail.Name) (wire.Attached, error) {
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
		{wire.Attached{Why: "none is known"}, "There is no session that could be shown: none is known.", "<code"},
	} {
		answer = tt.answer
		b.post("/@shop/attach", form).want(t, http.StatusOK, tt.want, "Session of ann").without(t, tt.not)
		part := b.post("/@shop/attach", form, asScript("section#session-how")).want(t, http.StatusOK, tt.want)
		part.without(t, tt.not, "<html")
		if at := part.Header.Get("HX-Retarget"); at != "#session-how" {
			t.Errorf("the answer goes to %q", at)
		}
	}
	if got := strings.Join(asked, " "); strings.Trim(strings.ReplaceAll(got, "shop/ann", ""), " ") != "" || got == "" {
		t.Errorf("asked for %s", got)
	}
}
