package room_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/office/web/sitetest"
)

// waiting returns the scheduled mail of the first room.
func (b *fixture) waiting(t *testing.T) []mail.Scheduled {
	t.Helper()
	list, err := b.As(mail.User).Scheduled(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return list.Scheduled
}

// TestKept tests that the person sees the mail in this machine's outbox.
func TestKept(t *testing.T) {
	inBubble(t, func(t *testing.T, b *fixture) {
		b.Get("/@shop/scheduled").Without(t, "kept on this machine")
		now := mail.TimeOf(time.Now())
		b.AddRoom("lab")
		b.Kept = []mail.Kept{
			{Room: "shop", From: "ann", To: mail.Recipients{"bob", "user"}, Subject: "Half <b>done", Since: now},
			{Room: "unseen", From: "ann", To: mail.Recipients{"bob"}, Subject: "For another room", Since: now},
			{Room: "lab", From: "ann", To: mail.Recipients{"bob"}, Refused: true, Why: "the role is gone", Since: now}}
		b.Get("/@shop/scheduled?rooms=one").Want(t, http.StatusOK, "1 letter kept on this machine",
			"Half &lt;b&gt;done").Without(t, "the role is gone", "Half <b>", "No messages to be sent")
		b.Get("/@shop/scheduled?rooms=all").Want(t, http.StatusOK, "2 letters kept on this machine",
			"refused: the role is gone").Without(t, "For another room")
	})
}

// TestScheduled tests that scheduled mail is listed, next due first, over all rooms too, and is moved and cancelled
// with plain forms.
func TestScheduled(t *testing.T) {
	inBubble(t, func(t *testing.T, b *fixture) {
		b.Register(mail.Presence{Name: "ann"}, mail.Presence{Name: "bob"})
		b.Get("/@shop/scheduled").Want(t, http.StatusOK, "No messages to be sent.")
		send := func(svc mail.Service, d mail.Draft) {
			t.Helper()
			if _, err := svc.Send(t.Context(), d); err != nil {
				t.Fatal(err)
			}
		}
		send(b.As(mail.User), mail.Draft{To: mail.Recipients{"ann"}, Subject: "Second <b>", Body: "x",
			Later: mail.Later{In: 7200}})
		send(b.As("bob"), mail.Draft{To: mail.Recipients{"ann"}, Body: "First\nmore", Later: mail.Later{In: 3600}})
		send(b.AddRoom("lab").As(mail.User), mail.Draft{To: mail.Recipients{"user"}, Subject: "In the lab", Body: "y",
			Later: mail.Later{Every: "0 9 * * mon", Zone: "UTC"}})
		page := b.Get("/@shop/scheduled?rooms=one").Want(t, http.StatusOK, "2 messages", "Second &lt;b&gt;",
			`from</span> <a href="/@shop/agents/bob">`).Without(t, "In the lab", "Second <b>")
		if i, j := strings.Index(page.Body, "<bdi>First"), strings.Index(page.Body, "<bdi>Second"); i < 0 || i > j {
			t.Error("what is due first is not first")
		}
		b.Get("/@shop/scheduled?rooms=all").Want(t, http.StatusOK, "3 messages, in all rooms", "In the lab",
			`<code>0 9 * * mon</code>`, `action="/@lab/scheduled/cancel"`)
		b.Part("/@shop/scheduled?rooms=one", "scheduled-list").Want(t, http.StatusOK, "2 messages").Without(t, "<html")

		id := string(b.waiting(t)[0].ID)
		for when, want := range map[string]string{"soon": "is not a time", "yesterday": "past",
			"": "give a time to send it"} {
			b.Post("/@shop/scheduled/move", url.Values{"id": {id}, "when": {when}}, sitetest.AsScript("form")).
				Want(t, http.StatusBadRequest, want)
		}
		b.Post("/@shop/scheduled/move", url.Values{"id": {id}, "when": {"in 5h"}}).Want(t, http.StatusSeeOther)
		if c := b.waiting(t)[1]; string(c.ID) != id || c.At != mail.TimeOf(time.Now().Add(5*time.Hour)) {
			t.Errorf("it is due at %s", c.At)
		}
		b.Post("/@shop/scheduled/cancel", url.Values{"id": {id}}, sitetest.AsScript("form")).Want(t, http.StatusOK,
			"1 message cancelled")
		b.Post("/@shop/scheduled/cancel", url.Values{"id": {id}}, sitetest.AsScript("form")).Want(t,
			http.StatusNotFound)
		if left := b.waiting(t); len(left) != 1 {
			t.Errorf("%d messages are left, want 1", len(left))
		}
	})
}
