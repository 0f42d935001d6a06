package room_test

import (
	"strings"
	"testing"
	"time"

	"pennypost/internal/mail"
)

// TestAsking tests that an agent at a client dialog is shown as asking, and nowhere as working.
func TestAsking(t *testing.T) {
	b := newFixture(t)
	c := mail.Card{Room: "shop", Agent: "release", Dialog: mail.Dialog{ID: "d-push", Kind: mail.AsksPermission,
		Tool: "Bash", Sum: strings.Repeat("5a", 32), Since: mail.TimeOf(time.Now().Add(-time.Minute))}}
	c.Form, c.Text = mail.FormCommand, "git push --force"
	b.Get("/@shop/stuck").Want(t, 200, "Nothing is stuck")
	b.Asks(c)
	card := `href="/@shop/?d=d-push"`
	b.Get("/@shop/agents").Want(t, 200, `class="state-of asking"`, "</i>asking</span>", card, "git push --force").
		Without(t, "working")
	b.Get("/@shop/agents/release").Want(t, 200, `class="state-of asking"`, card, "Asks you")
	b.Get("/@shop/stuck").Want(t, 200, "Asking you", "It has been at a dialog of its client since", card,
		`data-count="stuck">1<`)
	b.Get("/@shop/stuck?kind=asking").Want(t, 200, card)
	b.Get("/@shop/stuck?kind=held").Want(t, 200).Without(t, card)
	b.Get("/@shop/compose?to=agent:release").Want(t, 200, "has been asking you since",
		"reads this once you have answered", card)
	b.Get("/@shop/channels/all").Want(t, 200, `<li class="asking">`)
	b.Send("user", mail.Draft{To: mail.Recipients{"release"}, Type: "question", Subject: "Done?"})
	b.Ends(c, mail.DialogAllowed, "", mail.AtClient)
	b.Get("/@shop/agents").Want(t, 200, "working").Without(t, card)
	b.Get("/@shop/stuck").Want(t, 200).Without(t, card)
}
