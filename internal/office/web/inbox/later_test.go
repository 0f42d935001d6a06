package inbox_test

import (
	"maps"
	"net/http"
	"net/url"
	"testing"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/office/web/sitetest"
)

// TestSendLater tests sending a letter at a clock time, at a time in words, in the person's zone, and repeatedly.
// Errors are shown beside the typed text.
func TestSendLater(t *testing.T) {
	inBubble(t, func(t *testing.T, b *fixture) { // the bubble begins at midnight UTC on 1 January 2000
		b.Register(mail.Presence{Name: "ann"})
		form := func(with url.Values) url.Values {
			out := url.Values{"to": {"ann"}, "body": {"text"}, "zone": {"Asia/Tokyo"}}
			maps.Copy(out, with)
			return out
		}
		b.Get("/@shop/compose").Want(t, http.StatusOK, `<details id="compose-later">`, `name="every"`)
		for _, tt := range []struct {
			with url.Values
			want mail.Scheduled
		}{
			{url.Values{"at": {"2000-01-02T09:30"}}, mail.Scheduled{At: at(2, 0, 30)}},
			{url.Values{"when": {"tomorrow 9:00"}}, mail.Scheduled{At: at(2, 0, 0)}},
			{url.Values{"when": {"in 2h"}}, mail.Scheduled{At: at(1, 2, 0)}},
			{url.Values{"every": {"0 12 * * *"}, "ends": {"2000-01-05"}}, mail.Scheduled{At: at(1, 3, 0),
				Every: "0 12 * * *", Zone: "Asia/Tokyo", Until: at(5, 15, 0) - 1}},
		} {
			b.Post("/@shop/compose", form(tt.with), sitetest.AsScript("div#compose-error")).Want(t, http.StatusOK,
				"Scheduled for ")
			list, err := b.As(mail.User).Scheduled(t.Context())
			if err != nil || len(list.Scheduled) != 1 {
				t.Fatalf("%v: %+v, %v", tt.with, list, err)
			}
			c := list.Scheduled[0]
			if c.At != tt.want.At || c.Every != tt.want.Every || c.Zone != tt.want.Zone || c.Until != tt.want.Until {
				t.Errorf("%v: it waits until %s, every %q in %q until %s", tt.with, c.At, c.Every, c.Zone, c.Until)
			}
			if err := b.As(mail.User).Unschedule(t.Context(), c.ID); err != nil {
				t.Fatal(err)
			}
		}
		for want, with := range map[string]url.Values{
			"is not a time":            {"when": {"soon"}},
			"that time is past":        {"at": {"1999-12-31T09:00"}},
			"two times are given":      {"at": {"2000-01-02T09:30"}, "when": {"in 2h"}},
			"is not a known time zone": {"when": {"in 2h"}, "zone": {"Mars/Olympus"}},
			"is not a cron line":       {"every": {"daily"}},
			"an end need every":        {"ends": {"2000-01-05"}},
			"every excludes at and in": {"every": {"0 12 * * *"}, "when": {"in 2h"}},
		} {
			b.Post("/@shop/compose", form(with)).Want(t, http.StatusBadRequest, want, `<details id="compose-later" open>`,
				">text</textarea>", `value="`+with.Get("when")+`"`)
		}
		time.Sleep(time.Hour)
		page, err := b.As(mail.User).History(t.Context(), mail.HistoryQuery{})
		if err != nil || len(page.Messages) != 0 {
			t.Errorf("history = %+v, %v", page, err)
		}
	})
}

func at(day, hour, minute int) mail.Time {
	return mail.TimeOf(time.Date(2000, 1, day, hour, minute, 0, 0, time.UTC))
}

// TestReplyLater tests that the form below a letter becomes a letter with a time to send, and keeps the typed text.
func TestReplyLater(t *testing.T) {
	b := newFixture(t)
	b.Register(mail.Presence{Name: "builder"})
	id := string(b.Send("builder", mail.Draft{Type: "question", Subject: "Which?"}))
	b.Get("/@shop/?m="+id).Want(t, http.StatusOK, `formaction="/@shop/later"`)
	b.Get("/@shop/?focus=1&m="+id).Want(t, http.StatusOK, `id="act-send"`).Without(t, "/@shop/later")
	form := url.Values{"to": {"agent:builder"}, "reply_to": {id}, "type": {"answer"}, "body": {"The <left>."},
		"key": {"k"}}
	b.Post("/@shop/later", form).Want(t, http.StatusOK, "<html", `<details id="compose-later" open>`,
		"The &lt;left&gt;.</textarea>", `name="reply_to" value="`+id+`"`, `value="agent:builder" checked`).
		Without(t, `name="every"`, `value="k"`)
	b.Post("/@shop/later", form, sitetest.AsScript("div#dialog")).Want(t, http.StatusOK, `<dialog id="compose"`)
}
