package web

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/office/web/page"
	"pennypost/internal/office/web/session"
	"pennypost/internal/office/web/sitetest"
)

// TestTemplates tests that every page and part is a template that parses, with everything it needs beyond the frame.
func TestTemplates(t *testing.T) {
	b := newFixture(t)
	pages, err := b.site.core.Templates.Pages()
	if err != nil {
		t.Fatal(err)
	}
	for name, page := range pages {
		if name == "layout" || name == "parts" || name == "icons" || name == "scope" || name == "door" {
			continue
		}
		if page.Lookup("main") == nil {
			t.Errorf("%s has no main", name)
		}
	}
	now := time.Now()
	v := &page.View{Site: &b.site.core, W: httptest.NewRecorder(), R: httptest.NewRequest(http.MethodGet, "/", nil),
		Svc: b.As(mail.User), Now: now, Nonce: "nonce", Room: "shop", Base: "/@shop", Title: "Title"}
	choices := []page.Group[paletteChoice]{{Name: "G", Rows: []paletteChoice{
		{ID: "a", Label: "l", Who: "agent:a", Note: "n", Href: "/x", Keys: "k"},
		{ID: "b", Label: "l", Do: "theme"}, {ID: "c", Label: "l", Form: "f"}}}}
	plain := *v
	plain.Plain = true
	for _, c := range []struct {
		page string
		data any
		part []string
	}{
		{"palette", &palettePage{View: v}, []string{"layout", "main", "dialog", "palette-results"}},
		{"palette", &palettePage{View: v, Query: "q", Groups: choices},
			[]string{"layout", "main", "dialog", "palette-results"}},
		{"door", doorPage{View: v}, []string{"stranger", "offer"}},
		{"door", doorPage{&plain, "k", true}, []string{"stranger", "offer"}},
		{"sessions", &sessionsPage{View: v}, []string{"layout", "main"}},
		{"sessions", &sessionsPage{View: v, Sessions: []session.Session{
			{ID: "a", Browser: "b", Plain: true}, {ID: "b"},
		}}, []string{"layout", "main"}},
	} {
		for _, part := range c.part {
			var out bytes.Buffer
			if err := pages[c.page].ExecuteTemplate(&out, part, c.data); err != nil {
				t.Errorf("%s of %s: %v", part, c.page, err)
			}
			if _, err := sitetest.Scan(out.String()); err != nil {
				t.Errorf("%s of %s: %v", part, c.page, err)
			}
		}
	}
}

// TestFailures tests that an error for the person is shown, and any other only logged.
func TestFailures(t *testing.T) {
	b := newFixture(t)
	var log bytes.Buffer
	b.site.core.Log = slog.New(slog.NewTextHandler(&log, nil))
	secret := errors.New("the secret cause")
	for code, want := range map[mail.Code]int{
		mail.Invalid: 400, mail.NotFound: 404, mail.Denied: 403, mail.Conflict: 409, mail.TooLarge: 413,
		mail.Unavailable: 503, mail.Timeout: 504, mail.Unknown: 401, mail.Limited: 429, mail.Internal: 500,
	} {
		h := b.site.page(func(*page.View) error {
			return fmt.Errorf("page: %w", &mail.Error{Code: code, Msg: "what <b>happened</b>", Err: secret})
		})
		for _, part := range []bool{false, true} {
			r := httptest.NewRequest(http.MethodGet, "/x", nil)
			r.Host = sitetest.Host
			r.AddCookie(&http.Cookie{Name: sessionCookie, Value: b.Cookie})
			if part {
				sitetest.AsScript("section#list")(r)
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			body := w.Body.String()
			receipts := strings.Contains(body, "what &lt;b&gt;happened&lt;/b&gt;")
			if w.Code != want || receipts == (code == mail.Internal) || strings.Contains(body, "secret") ||
				strings.Contains(body, "<html") == part {
				t.Errorf("%s: %d\n%s", code, w.Code, body)
			}
			if part && w.Header().Get("HX-Retarget") != "#toasts" {
				t.Errorf("%s of a part: %v", code, w.Header())
			}
		}
	}
	if !strings.Contains(log.String(), "what <b>happened") || strings.Count(log.String(), "\n") != 2 {
		t.Errorf("the log says %s", log.String())
	}
}

func TestLatestRoom(t *testing.T) {
	b := newFixture(t)
	b.AddRoom("other")
	b.Send("builder-1", mail.Draft{})
	b.Get("/").Want(t, http.StatusOK, `data-room="shop"`, `href="/@other/?rooms=one"`)
	b.Get("/@other/").Want(t, http.StatusOK, `data-room="other"`, `title="unread">1<`,
		`href="/@other/?rooms=all"`)
}

// TestNext tests that a form can redirect the browser only to a path of this room.
func TestNext(t *testing.T) {
	b := newFixture(t)
	b.Register(mail.Presence{Name: "builder-1"})
	for next, want := range map[string]string{
		"": "/@shop/", "/stuck": "/@shop/stuck", "//evil.example": "/@shop/", "https://evil.example": "/@shop/",
		"/\\evil.example": "/@shop/", "/x\r\nSet-Cookie: a=b": "/@shop/", "evil": "/@shop/",
	} {
		got := b.Post("/@shop/send", url.Values{"to": {"builder-1"}, "body": {"x"}, "next": {next}}).Want(t,
			http.StatusSeeOther)
		if got.Header.Get("Location") != want {
			t.Errorf("%q leads to %q, want %q", next, got.Header.Get("Location"), want)
		}
	}
	b.Post("/@shop/send", url.Values{"to": {"builder-1"}, "body": {strings.Repeat("x", 2<<20)}}).Want(t,
		http.StatusRequestEntityTooLarge)
}

func TestTheme(t *testing.T) {
	b := newFixture(t)
	for cookie, want := range map[string]string{"dark": ` data-theme="dark"`, "light": ` data-theme="light"`,
		"": `<html lang="en">`, `"><script>`: `<html lang="en">`} {
		theme := func(r *http.Request) { r.Header.Add("Cookie", "pennypost_theme="+cookie) }
		b.Get("/", theme).Want(t, http.StatusOK, want)
		b.Get("/", stranger, theme).Want(t, http.StatusUnauthorized, want)
	}
}
