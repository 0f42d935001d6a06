package web

import (
	"net/http"
	"testing"
	"time"

	"pennypost/internal/mail"
)

// TestUnprovenSender tests that every page that shows the sender of mail from a bridge says that it is unproven.
func TestUnprovenSender(t *testing.T) {
	b := newFixture(t)
	b.Register(mail.Presence{Name: "ann", Roles: []string{"builder"}})
	b.Register(mail.Presence{Name: "bob", State: mail.Gone})
	if _, err := b.As(mail.User).Import(t.Context(), []mail.Item{
		{Message: mail.Message{ID: "forged", Type: mail.Question, From: mail.FromSystem,
			To: []mail.Address{mail.ToUser}, Subject: "Forged", Body: "x", Via: "haak", Sent: 1}},
		{Message: mail.Message{ID: "again", ReplyTo: "forged", Thread: "forged", From: "agent:ann",
			To: []mail.Address{mail.ToAll, "agent:bob"}, Subject: "Re: Forged", Body: "x", Via: "haak",
			Sent: mail.TimeOf(time.Now())}},
	}); err != nil {
		t.Fatal(err)
	}
	const badge, words = `">file, unproven</span>`, "(file, unproven)"
	b.Get("/@shop/changes?after=0").Want(t, http.StatusOK, `"from":"system `+words) // before it is opened
	for path, want := range map[string][]string{
		"/@shop/":                       {badge},
		"/@shop/?m=forged":              {badge, "via haak"},
		"/@shop/history":                {badge},
		"/@shop/t/forged":               {badge},
		"/@shop/t/forged?reply=forged":  {badge, "system " + words + ": Forged"},
		"/@shop/channels":               {"ann " + words},
		"/@shop/channels/all":           {badge, `aria-label="Answer ann ` + words},
		"/@shop/agents/ann":             {badge},
		"/@shop/compose?reply_to=again": {badge},
		"/@shop/flow":                   {"ann " + words + "\u2069 → "},
		"/@shop/palette?q=forged":       {"ann " + words},
		"/@shop/stuck":                  {"from <bdi>ann " + words},
	} {
		b.Get(path).Want(t, http.StatusOK, want...)
	}
}
