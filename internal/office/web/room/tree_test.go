package room_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"pennypost/internal/mail"
	"pennypost/internal/office/web/sitetest"
)

// waitsIn makes one agent of a room ask another, or the user.
func (b *fixture) waitsIn(t *testing.T, room mail.RoomName, from mail.Name, to, about string) {
	t.Helper()
	b.sentIn(t, room, from, mail.Draft{To: mail.Recipients{to}, Type: "question", Subject: about, Body: "?"})
}

var tags = regexp.MustCompile(`<[^>]*>|\s+`)

// treeText is a page's tree as a screen reader reads it: names, times and questions.
func treeText(t *testing.T, a sitetest.Answer) string {
	t.Helper()
	_, rest, ok := strings.Cut(a.Body, `class="tree"`)
	if !ok {
		t.Fatal("there is no tree")
	}
	rest, _, _ = strings.Cut(rest, "</aside>")
	return strings.Join(strings.Fields(tags.ReplaceAllString(rest[1:], " ")), " ")
}

// TestWaitTree tests that waits form a tree over all rooms with the user at a root, and that circles end where they
// began.
func TestWaitTree(t *testing.T) {
	b := newFixture(t)
	b.AddRoom("other")
	for _, room := range []mail.RoomName{"shop", "other"} {
		svc, err := b.Office.Room(t.Context(), room, mail.User)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range []mail.Name{"ann", "bob", "cid", "dora"} {
			if _, err := svc.Register(t.Context(), mail.Presence{Name: n, State: mail.Idle}); err != nil {
				t.Fatal(err)
			}
		}
	}
	b.waitsIn(t, "shop", "ann", "user", "ship?")
	b.waitsIn(t, "shop", "bob", "ann", "branch?")
	b.waitsIn(t, "other", "cid", "user", "paint?")
	b.waitsIn(t, "other", "ann", "bob", "left?")
	b.waitsIn(t, "other", "bob", "ann", "right?")

	one := treeText(t, b.Get("/@shop/agents").Want(t, http.StatusOK))
	if want := "You AN ann 0 min ship? BO bob 0 min branch?"; one != want {
		t.Errorf("in one room: %q, want %q", one, want)
	}
	all := treeText(t, b.Get("/@shop/agents", allRooms).Want(t, http.StatusOK, `href="/@other/?m=`,
		`id="agent-ann-other"`, `id="agent-ann-shop"`, `href="/@other/agents/dora"`, "8 in all rooms"))
	for _, want := range []string{"You AN ann shop 0 min ship? BO bob shop 0 min branch?", "CI cid other 0 min paint?",
		"circle"} {
		if !strings.Contains(all, want) {
			t.Errorf("in all rooms: %q, want %q in it", all, want)
		}
	}
	if n := strings.Count(all, "left?") + strings.Count(all, "right?"); n != 2 {
		t.Errorf("the circle has %d lines: %q", n, all)
	}
	b.Get("/@shop/agents?by=room", allRooms).Want(t, http.StatusOK, `other <span class="number">4</span>`)
	b.Get("/@shop/agents?q=dora&rooms=all").Want(t, http.StatusOK, `id="agent-dora-other"`).Without(t, `id="agent-ann-`)
}
