package room_test

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/office/web/page"
	"pennypost/internal/office/web/sitetest"
)

// allRooms makes a request one of a browser that shows all rooms.
func allRooms(r *http.Request) {
	r.AddCookie(&http.Cookie{Name: page.ScopeCookie, Value: page.ScopeAll})
}

// frozenIn makes an agent of a room frozen, with mail that waits for it.
func (b *fixture) frozenIn(t *testing.T, room mail.RoomName, name mail.Name) {
	t.Helper()
	svc, err := b.Office.Room(t.Context(), room, mail.User)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []mail.Presence{{Name: "sender"}, {Name: name, State: mail.Frozen}} {
		if _, err := svc.Register(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	as, err := b.Office.Room(t.Context(), room, "sender")
	if err == nil {
		_, err = as.Send(t.Context(), mail.Draft{To: mail.Recipients{string(name)}, Type: "task-assigned",
			Subject: "For " + string(name), Body: "Do it."})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestStuckInAllRooms tests that stuck mail of any room is on the page of all rooms with its room, is counted in the
// menu, and can be mended there.
func TestStuckInAllRooms(t *testing.T) {
	b := newFixture(t)
	b.AddRoom("other")
	b.frozenIn(t, "other", "sleeper")
	b.Get("/@shop/stuck").Want(t, 200, "Nothing is stuck.").Without(t, "sleeper", `data-count="stuck"`)
	got := b.Get("/@shop/stuck", allRooms).Want(t, 200, "sleeper", "For sleeper", `title="in the room other"`,
		`action="/@other/stuck/thaw"`, `data-count="stuck">1<`, `<datalist id="stuck-live-other"`, "in all rooms")
	if strings.Contains(got.Body, `action="/@shop/stuck/thaw"`) {
		t.Error("an act goes to a room in which nothing is stuck")
	}
	b.Get("/@shop/stuck?rooms=all").Want(t, 200, "sleeper", `hx-get="/@shop/stuck?rooms=all"`,
		`href="/@shop/agents?rooms=all"`)
	b.Get("/@shop/changes", allRooms).Want(t, 200, `"stuck":1`)
	b.Get("/@shop/changes").Want(t, 200, `"stuck":0`)

	b.Post("/@other/stuck/thaw", url.Values{"agent": {"sleeper"}}, sitetest.AsScript("x"), allRooms).Want(t, 200)
	b.Get("/@shop/stuck", allRooms).Want(t, 200).Without(t, "It has been paused")
}

// sentIn sends a letter in a room.
func (b *fixture) sentIn(t *testing.T, room mail.RoomName, from mail.Name, d mail.Draft) mail.ID {
	t.Helper()
	svc, err := b.Office.Room(t.Context(), room, from)
	if err != nil {
		t.Fatal(err)
	}
	sent, err := svc.Send(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	return sent.ID
}

// TestHistoryOfAllRooms tests that the history of all rooms has the newest mail of each, names its rooms, and
// continues.
func TestHistoryOfAllRooms(t *testing.T) {
	inBubble(t, func(t *testing.T, b *fixture) {
		b.AddRoom("other")
		for i := range page.Rows {
			time.Sleep(time.Minute)
			b.Send("builder-1", mail.Draft{Subject: fmt.Sprintf("Here %d.", i)})
			time.Sleep(time.Minute)
			b.sentIn(t, "other", "lister", mail.Draft{To: mail.Recipients{"user"}, Body: "A harbour.",
				Subject: fmt.Sprintf("There %d.", i)})
		}
		b.Get("/@shop/history").Want(t, 200, "Here 49.", "Here 0.").Without(t, "There", "in the room")
		first := b.Get("/@shop/history", allRooms).Want(t, 200, "Here 49.", "There 49.", `href="/@other/t/`,
			`title="in the room other"`, "50+", "all rooms").Without(t, "Here 24.", "There 24.", "format=jsonl")
		more := regexp.MustCompile(`id="more" class="more" href="([^"]+)"`).FindStringSubmatch(first.Body)
		if more == nil {
			t.Fatal("it does not go on")
		}
		b.Get(html.UnescapeString(more[1]), allRooms).Want(t, 200, "Here 24.", "There 24.", "Here 0.").
			Without(t, "There 26.")
		found := b.Get("/@shop/history?q=harbour&rooms=all").Want(t, 200, "There 49.",
			`name="rooms" value="all"`).Without(t, "Here 49.")
		if n := strings.Count(found.Body, `class="row event"`); n != page.Rows {
			t.Errorf("%d rows are found", n)
		}
	})
}

// TestChannelsOfOneRoom tests that channels cover one room, and say so if the browser shows all rooms.
func TestChannelsOfOneRoom(t *testing.T) {
	b := newFixture(t)
	b.AddRoom("other")
	const alone = "of <bdi>shop</bdi> only"
	b.Get("/@shop/channels").Want(t, 200, "Channels").Without(t, alone)
	b.Get("/@shop/channels", allRooms).Want(t, 200, alone)
	b.Get("/@shop/channels?rooms=all").Want(t, 200, alone, `hx-get="/@shop/channels?rooms=all"`)
}
