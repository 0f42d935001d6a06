package mailroom

import (
	"strings"
	"testing"

	"pennypost/internal/mail"
)

// TestTitles: a title such as team-lead leads to the holder of the role in a team of the sender's, else to its only
// holder; else it is an error that lists the choices.
func TestTitles(t *testing.T) {
	room, _ := openRoom(t, "lab", Options{Protocols: []mail.Protocol{{Name: "teams", Titles: []string{"team-lead"}}}})
	register := func(n mail.Name, team string, roles ...string) {
		t.Helper()
		p := mail.Presence{Name: n, Roles: roles}
		if team != "" {
			p.Tags = []string{"project:" + team}
		}
		if _, err := room.As(mail.User).Register(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	sends := func(from mail.Name, to string, want mail.Name) {
		t.Helper()
		sent, err := room.As(from).Send(t.Context(), mail.Draft{To: mail.Recipients{to}, Body: "to " + to})
		switch {
		case want == "" && (mail.CodeOf(err) != mail.Conflict || !strings.Contains(err.Error(), "claude-shop")):
			t.Errorf("%s to %s: %+v, %v; want the choices", from, to, sent.Recipients, err)
		case want != "" && (err != nil || len(sent.Recipients) != 1 || sent.Recipients[0].Agent != want):
			t.Errorf("%s to %s: %+v, %v; want %s", from, to, sent.Recipients, err, want)
		}
	}
	register("outsider", "")
	register("claude-shop", "alpha", "team-lead")
	register("reviewer", "alpha")
	sends("outsider", "team-lead", "claude-shop")
	sends("reviewer", "team-lead", "claude-shop")
	sends(mail.User, "team-lead", "claude-shop")

	register("team-lead", "beta", "team-lead") // of a team whose lead's session is not known
	register("tester", "beta")
	sends("reviewer", "team-lead", "claude-shop")
	sends("tester", "team-lead", "team-lead")
	sends("outsider", "team-lead", "")
	sends("outsider", "agent:team-lead", "team-lead")

	if _, err := room.As(mail.User).Register(t.Context(),
		mail.Presence{Name: "team-lead", State: mail.Gone, Update: true}); err != nil {
		t.Fatal(err)
	}
	sends("outsider", "team-lead", "claude-shop") // the only one that is there
}
