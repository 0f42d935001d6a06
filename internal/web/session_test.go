package web

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pennypost/internal/mail"
)

// stranger makes a request one of somebody who has not logged in.
func stranger(r *http.Request) { r.Header.Del("Cookie") }

// withCookie makes a request one of a session that is spelled so.
func withCookie(value string) func(*http.Request) {
	return func(r *http.Request) {
		r.Header.Del("Cookie")
		r.AddCookie(&http.Cookie{Name: sessionCookie, Value: value})
	}
}

func TestLoginOnce(t *testing.T) {
	b := newBed(t)
	b.addRoom("other")
	link := b.site.Link("other")
	b.do(http.MethodHead, link, nil, stranger).want(t, http.StatusUnauthorized) // who looks ahead does not use it up
	first := b.get(link, stranger).want(t, http.StatusOK, "/@other/")
	if got := first.Header.Get("Refresh"); got != "0; url=/@other/" {
		t.Errorf("Refresh: %q", got)
	}
	c := cookieOf(t, first.Header)
	if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/" || c.Secure {
		t.Errorf("the cookie is %v", c)
	}
	b.get("/@shop/", withCookie(c.Value)).want(t, http.StatusOK, "<h1>Inbox</h1>")
	again := b.get(link, stranger).want(t, http.StatusUnauthorized, "pennypost open")
	if again.Header.Get("Set-Cookie") != "" {
		t.Error("a link that was used opens another session")
	}
	if got := b.get(link); got.Code != http.StatusSeeOther || got.Header.Get("Location") != "/" {
		t.Errorf("the same link within the session: %d to %q", got.Code, got.Header.Get("Location"))
	}
	b.get("/login?key=", stranger).want(t, http.StatusUnauthorized)
	b.get("/login", stranger).want(t, http.StatusUnauthorized)
	b.get(b.site.Link("nowhere"), stranger).want(t, http.StatusOK, `href="/"`)
}

func cookieOf(t *testing.T, h http.Header) *http.Cookie {
	t.Helper()
	for _, c := range (&http.Response{Header: h}).Cookies() {
		if c.Name == sessionCookie {
			return c
		}
	}
	t.Fatalf("no session in %v", h)
	return nil
}

func TestLoginExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{Office: &bedOffice{}, Key: []byte("key")})
		get := func(path, cookie string) *httptest.ResponseRecorder {
			r := httptest.NewRequest(http.MethodGet, path, nil)
			r.AddCookie(&http.Cookie{Name: sessionCookie, Value: cookie})
			w := httptest.NewRecorder()
			s.ServeHTTP(w, r)
			return w
		}
		late, early := s.Link(""), s.Link("")
		time.Sleep(loginTime - time.Second)
		w := get(early, "")
		if w.Code != http.StatusOK {
			t.Fatalf("a link in time: %d", w.Code)
		}
		session := cookieOf(t, w.Header()).Value
		time.Sleep(time.Second)
		if w := get(late, ""); w.Code != http.StatusUnauthorized {
			t.Errorf("a link after %v: %d", loginTime, w.Code)
		}
		time.Sleep(sessionTime - 2*time.Second)
		if w := get("/", session); w.Code != http.StatusOK {
			t.Errorf("a session in time: %d", w.Code)
		}
		time.Sleep(2 * time.Second)
		if w := get("/", session); w.Code != http.StatusUnauthorized {
			t.Errorf("a session after %v: %d", sessionTime, w.Code)
		}
	})
}

func TestManyLinks(t *testing.T) {
	b := newBed(t)
	first := b.site.Link("shop")
	second := b.site.Link("shop")
	for range maxLogins - 1 {
		b.site.Link("shop")
	}
	b.get(first, stranger).want(t, http.StatusUnauthorized)
	b.get(second, stranger).want(t, http.StatusOK)
}

// TestForgedSessions: whoever has not our key makes no session, of whatever parts of another.
func TestForgedSessions(t *testing.T) {
	b := newBed(t)
	good := b.site.seal(time.Now().Add(time.Hour))
	ends, rest, _ := strings.Cut(good, ".")
	name, mac, _ := strings.Cut(rest, ".")
	foreign := New(Options{Office: b.office, Key: []byte("another key")})
	flipped := []byte(good)
	flipped[len(flipped)-2] ^= 1
	for what, value := range map[string]string{
		"nothing": "", "dots": "..", "one part": "zzzzzz", "no signature": ends + "." + name + ".", "another end": "zzzzzzz." + name + "." + mac,
		"another name": ends + ".X." + mac, "signature of less": ends + "." + mac, "cut": good[:len(good)-1], "flipped": string(flipped), "more": good + "A",
		"over": b.site.seal(time.Now().Add(-time.Second)), "foreign key": foreign.seal(time.Now().Add(time.Hour)), "no number": "!!." + name + "." + b.site.sign("!!." + name)[:10],
		"a token": string(b.site.opts.Key), "signed, but no time": "!." + name + "." + b.site.sign("!."+name),
	} {
		if got := b.get("/", withCookie(value)); got.Code != http.StatusUnauthorized {
			t.Errorf("%s: status %d", what, got.Code)
		}
	}
	b.get("/", withCookie(good)).want(t, http.StatusOK)
}

func TestLogout(t *testing.T) {
	b := newBed(t)
	got := b.post("/logout", nil)
	if got.Code != http.StatusSeeOther || cookieOf(t, got.Header).MaxAge >= 0 {
		t.Errorf("%d %v", got.Code, got.Header)
	}
	b.get("/logout").want(t, http.StatusNotFound)
}

// paths returns a path for each of the site's routes.
func paths(s *Site) map[string]string {
	hole := regexp.MustCompile(`\{[^}$]*\}`)
	out := make(map[string]string)
	for pattern := range s.routes() {
		_, path, _ := strings.Cut(pattern, " ")
		out[pattern] = hole.ReplaceAllString(strings.TrimSuffix(path, "{$}"), "x")
	}
	return out
}

// TestStrangersSeeNothing walks every route there is: without a session each answers with the way to log in.
func TestStrangersSeeNothing(t *testing.T) {
	b := newBed(t)
	b.send("builder-1", mail.Draft{Subject: "A secret subject"})
	for pattern, path := range paths(b.site) {
		method, _, _ := strings.Cut(pattern, " ")
		for _, prefix := range []string{"", "/@shop"} {
			got := b.do(method, prefix+path, nil, stranger)
			if got.Code != http.StatusUnauthorized || !strings.Contains(got.Body, "pennypost open") || strings.Contains(got.Body, "shop") {
				t.Errorf("%s of a stranger at %s: %d\n%s", pattern, prefix, got.Code, got.Body)
			}
			part := b.do(method, prefix+path, nil, stranger, asScript("section#list"))
			if part.Code != http.StatusUnauthorized || part.Header.Get("HX-Refresh") != "true" {
				t.Errorf("%s of a page whose session ended: %d %v", pattern, part.Code, part.Header)
			}
		}
	}
	b.do(http.MethodGet, "/no/such/page", nil, stranger).want(t, http.StatusUnauthorized)
}

// TestHeaders: every answer of every page has the headers that keep it to itself.
func TestHeaders(t *testing.T) {
	b := newBed(t)
	b.send("builder-1", mail.Draft{})
	closed, cancel := context.WithCancel(context.Background())
	cancel()
	ended := func(r *http.Request) { *r = *r.WithContext(closed) } // streams end at once
	nonces := make(map[string]bool)
	check := func(what string, got bedAnswer) {
		for name, want := range map[string]string{"X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin", "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin"} {
			if got.Header.Get(name) != want {
				t.Errorf("%s: %s is %q", what, name, got.Header.Get(name))
			}
		}
		if strings.Contains(what, "static") || strings.Contains(what, "favicon") {
			return
		}
		policy := got.Header.Get("Content-Security-Policy")
		if got.Header.Get("Cache-Control") != "no-store" || !strings.HasPrefix(policy, "default-src 'none'; script-src 'nonce-") || strings.Contains(policy, "unsafe") ||
			strings.Contains(policy, "http") || strings.Contains(policy, "*") || strings.Contains(policy, "data:") || !strings.Contains(policy, "frame-ancestors 'none'") {
			t.Errorf("%s: %v", what, got.Header)
		}
		nonce := regexp.MustCompile(`'nonce-([A-Z2-7]{26})'`).FindStringSubmatch(policy)
		if nonce == nil || nonces[nonce[1]] {
			t.Errorf("%s: the nonce of %q is missing, or was used before", what, policy)
			return
		}
		nonces[nonce[1]] = true
	}
	for pattern, path := range paths(b.site) {
		method, _, _ := strings.Cut(pattern, " ")
		for _, who := range []func(*http.Request){stranger, func(*http.Request) {}} {
			check(pattern, b.do(method, "/@shop"+path, nil, who, ended))
		}
	}
	for _, path := range []string{"/login", "/none", "/@shop/none", "/@nowhere/", "/favicon.svg", "/static/app.css", "/static/app.js"} {
		check(path, b.get(path))
	}
	check("welcome", b.get(b.site.Link("shop"), stranger))
}

// TestNoInlineCode: a page has no script, style or handler within it; the policy would stop them.
func TestNoInlineCode(t *testing.T) {
	b := newBed(t)
	b.send("builder-1", mail.Draft{Body: "<script>alert(1)</script>"})
	for pattern, path := range paths(b.site) {
		if !strings.HasPrefix(pattern, "GET ") || strings.HasSuffix(pattern, "/events") {
			continue
		}
		got := b.get("/@shop" + path)
		if !strings.HasPrefix(got.Header.Get("Content-Type"), "text/html") {
			continue
		}
		tags, err := scan(got.Body)
		if err != nil {
			t.Errorf("%s: %v", pattern, err)
		}
		for _, tag := range tags {
			if !tag.end && (tag.name == "style" || tag.name == "script" && (tag.attrs["src"] == "" || tag.attrs["nonce"] == "" || tag.text != "")) {
				t.Errorf("%s has <%s %v>%s", pattern, tag.name, tag.attrs, tag.text)
			}
			for name, value := range tag.attrs {
				hx := strings.HasPrefix(name, "hx-")
				if name == "style" || strings.HasPrefix(name, "on") || strings.HasPrefix(name, "hx-on") || hx && strings.HasPrefix(value, "js:") || strings.HasPrefix(value, "javascript:") {
					t.Errorf("%s: <%s %s=%q>", pattern, tag.name, name, value)
				}
				if hx && !strings.Contains(got.Header.Get("Content-Security-Policy"), "'nonce-"+tag.attrs["hx-nonce"]+"'") {
					t.Errorf("%s: <%s %s> lacks the nonce: htmx ignores it", pattern, tag.name, name)
				}
			}
		}
	}
}

func TestRoomNames(t *testing.T) {
	b := newBed(t)
	b.addRoom("other")
	for path, want := range map[string]int{
		"/@shop/": 200, "/@other/": 200, "/@shop": 301, "/@nowhere/": 404, "/@/": 200, "/@../": 400, "/@%2e%2e/": 400, "/@..%2f..%2fetc/": 400, "/@shop%2fx/": 400,
		"/@shop%00/": 400, "/@SHOP/": 404, "/@shop%5c/": 400, "/@sh%ZZop/": -1, "/@" + strings.Repeat("a", 200) + "/": 400, "/@shop/@other/": 404, "/@%F0%9F%92%A9/": 400,
		"/@shop//": -1, "/@user/": 404, "/@-/": -1,
	} {
		u, err := url.Parse(path)
		if err != nil {
			continue // no server gets it
		}
		got := b.get(u.RequestURI())
		if want > 0 && got.Code != want {
			t.Errorf("%s: %d, want %d", path, got.Code, want)
		}
		if got.Code >= 500 || got.Code == 200 && want != 200 {
			t.Errorf("%s: %d", path, got.Code)
		}
	}
	if n := len(b.office.open); n != 2 {
		t.Errorf("there are %d rooms now: an address made one", n)
	}
	b.get("/@nowhere/").want(t, http.StatusNotFound, "there is no room nowhere here")
}

// TestOneRoomIsNotAnother: what stands in one room does not show in another.
func TestOneRoomIsNotAnother(t *testing.T) {
	b := newBed(t)
	b.addRoom("other")
	id := b.send("builder-1", mail.Draft{Subject: "Only in the shop"})
	b.get("/@shop/").want(t, http.StatusOK, "Only in the shop")
	for _, path := range []string{"/", "/?m=" + string(id), "/stuck", "/palette?q=shop", "/history", "/agents", "/channels", "/flow"} {
		b.get("/@other"+path).without(t, "Only in the shop", "builder-1")
	}
}

func TestEmptyOffice(t *testing.T) {
	s := New(Options{Office: &bedOffice{}, Key: []byte("key")})
	for pattern, path := range paths(s) {
		method, _, _ := strings.Cut(pattern, " ")
		r := httptest.NewRequest(method, path, strings.NewReader("id=x&to=y&body=z"))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.AddCookie(&http.Cookie{Name: sessionCookie, Value: s.seal(time.Now().Add(time.Hour))})
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if w.Code >= 500 {
			t.Errorf("%s without any room: %d %s", pattern, w.Code, w.Body)
		}
	}
}
