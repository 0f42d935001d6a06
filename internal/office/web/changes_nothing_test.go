package web

import (
	"context"
	"net/http"
	"pennypost/internal/mail"
	"pennypost/internal/office/web/sitetest"
	"strings"
	"testing"
	"time"
)

// TestGetChangesNothing requests every page, with messages of every kind, and checks that the journal is unchanged.
func TestGetChangesNothing(t *testing.T) {
	b := newFixture(t)
	b.Register(mail.Presence{Name: "ann", Roles: []string{"builder"}, State: mail.Working})
	letters := []mail.ID{
		b.Send("ann", mail.Draft{Subject: "A report"}),
		b.Send("ann", mail.Draft{Type: "question", Body: "Which?", Metadata: mail.Metadata(`{"options":["a","b"]}`)}),
		b.Send("ann", mail.Draft{To: mail.Recipients{"role:reviewer"}, Subject: "Held"}),
		b.Send(mail.User, mail.Draft{To: mail.Recipients{"ann"}, Subject: "From the user"}),
	}
	snoozed := b.Send("ann", mail.Draft{Subject: "Later"})
	if _, err := b.As(mail.User).Mark(t.Context(), mail.Marking{IDs: []mail.ID{snoozed}, Mark: mail.MarkSnoozed,
		Until: mail.TimeOf(time.Now().Add(time.Hour))}); err != nil {
		t.Fatal(err)
	}
	letters = append(letters, snoozed)
	closed, cancel := context.WithCancel(t.Context())
	cancel()
	ended := func(r *http.Request) { *r = *r.WithContext(closed) } // streams end immediately
	link := b.site.Link("shop", false)
	place := func() mail.Seq {
		st, err := b.As(mail.User).Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return st.Seq
	}
	before, asked := place(), 0
	look := func(path string) {
		t.Helper()
		asked++
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			for _, how := range [][]func(*http.Request){{}, {sitetest.AsScript("section#detail")},
				{sitetest.AsScript("article#letter")},
				{sitetest.AsScript("section#rows")}} {
				if strings.Contains(path, "/events") {
					how = append(how, ended)
				}
				b.Do(method, path, nil, how...)
			}
			if now := place(); now != before {
				t.Fatalf("%s %s wrote in the journal: from %d to %d", method, path, before, now)
			}
		}
	}
	for pattern, path := range paths(b.site) {
		if !strings.HasPrefix(pattern, "GET ") {
			continue
		}
		look("/@shop" + path)
		for _, id := range letters {
			look("/@shop" + path + "?m=" + string(id) + "&n=0&q=report&reply=" + string(id))
			look("/@shop" + strings.TrimSuffix(path, "/x") + "/" + string(id))
		}
	}
	for _, path := range []string{link, "/logout", "/favicon.svg?n=3", "/static/app.css", "/@shop/agents/ann",
		"/@shop/channels/role:reviewer", "/@shop/t/" + string(letters[0]) + "/read",
		"/@shop/mark?id=" + string(letters[0])} {
		look(path)
	}
	b.Get("/@shop/").Want(t, 200) // visiting /logout logs no one out
	b.enters(link, stranger).Want(t, http.StatusSeeOther)
	if asked < 50 {
		t.Errorf("%d addresses were looked at", asked)
	}
}
