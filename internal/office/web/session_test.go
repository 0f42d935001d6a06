package web

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/office/web/session"
	"pennypost/internal/office/web/sitetest"
)

// stranger removes the login from a request.
func stranger(r *http.Request) { r.Header.Del("Cookie") }

// withCookie sets a request's session cookie.
func withCookie(value string) func(*http.Request) {
	return func(r *http.Request) {
		r.Header.Del("Cookie")
		r.AddCookie(&http.Cookie{Name: sessionCookie, Value: value})
	}
}

// plainly sends a request to the plain address.
func plainly(r *http.Request) { r.Host = "127.0.0.1:8765" }

// enters presses the button of a link's page.
func (b *fixture) enters(link string, with ...func(*http.Request)) sitetest.Answer {
	b.T.Helper()
	u, err := url.Parse(link)
	if err != nil {
		b.T.Fatal(err)
	}
	return b.Post("/login", url.Values{"key": {u.Query().Get("key")}}, with...)
}

// TestLetterLink tests that a notification's link logs in once and shows the letter, even to a logged-in browser.
func TestLetterLink(t *testing.T) {
	b := newFixture(t)
	link := b.site.LetterLink("shop", "msg_1&x")
	first := b.enters(link, stranger).Want(t, http.StatusSeeOther)
	if got := first.Header.Get("Location"); got != "/@shop/?m=msg_1%26x" {
		t.Errorf("Location: %q", got)
	}
	b.enters(link, stranger).Want(t, http.StatusUnauthorized)
	again := b.enters(b.site.LetterLink("shop", "msg_2")).Want(t, http.StatusSeeOther)
	if got := again.Header.Get("Location"); got != "/@shop/?m=msg_2" || again.Header.Get("Set-Cookie") != "" {
		t.Errorf("Location: %q, %v", got, again.Header)
	}
	if got := b.enters(b.site.LetterLink("shop", "d-1x"), stranger).Header.Get("Location"); got != "/@shop/?d=d-1x" {
		t.Errorf("Location of a dialog: %q", got)
	}
	if got := b.enters(b.site.LetterLink("shop", ""), stranger).Header.Get("Location"); got != "/@shop/?focus=1" {
		t.Errorf("Location without a letter: %q", got)
	}
}

func TestLoginOnce(t *testing.T) {
	b := newFixture(t)
	b.AddRoom("other")
	link := b.site.Link("other", false)
	for range 2 { // prefetching does not use it up
		b.Do(http.MethodHead, link, nil, stranger)
		got := b.Get(link, stranger).Want(t, http.StatusOK, `action="/login"`, "enter.js")
		if got.Header.Get("Set-Cookie") != "" {
			t.Fatal("a link that was looked at opened a session")
		}
	}
	first := b.enters(link, stranger).Want(t, http.StatusSeeOther)
	if got := first.Header.Get("Location"); got != "/@other/?focus=1" {
		t.Errorf("Location: %q", got)
	}
	c := cookieOf(t, first.Header)
	if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/" || c.Secure || c.Domain != "" {
		t.Errorf("the cookie is %v", c)
	}
	b.Get("/@shop/", withCookie(c.Value)).Want(t, http.StatusOK, ">Inbox</h1>")
	b.Get(link, stranger).Want(t, http.StatusUnauthorized, "pennypost open", "has been used").Without(t, "/login")
	if again := b.enters(link, stranger).Want(t, http.StatusUnauthorized,
		"pennypost open"); again.Header.Get("Set-Cookie") != "" {
		t.Error("a link that was used opens another session")
	}
	if got := b.Get(link); got.Code != http.StatusSeeOther || got.Header.Get("Location") != "/" {
		t.Errorf("the same link within the session: %d to %q", got.Code, got.Header.Get("Location"))
	}
	b.Get("/login?key=", stranger).Want(t, http.StatusUnauthorized)
	b.Get("/login", stranger).Want(t, http.StatusUnauthorized)
	if got := b.enters(b.site.Link("nowhere", false), stranger); got.Header.Get("Location") != "/" {
		t.Errorf("a link to a room that is not there leads to %q", got.Header.Get("Location"))
	}
}

// TestLoginComesBack tests that a person logged out under an open page returns to it, and to no other site, and that
// a letter's link leads to the letter.
func TestLoginComesBack(t *testing.T) {
	b := newFixture(t)
	enter := func(link, next string) string {
		t.Helper()
		_, key, _ := strings.Cut(link, "key=")
		form := url.Values{"key": {key}, "next": {next}}
		return b.Post("/login", form, stranger).Want(t, http.StatusSeeOther).Header.Get("Location")
	}
	for _, next := range []string{"/@shop/?m=msg_1&rooms=all", "/@shop/agents/b%2Fc", "/@gone/flow?w=6h#x"} {
		if got := enter(b.site.Link("shop", false), next); got != next {
			t.Errorf("next %q leads to %q", next, got)
		}
	}
	for _, next := range []string{"", "evil", "//evil.test", "///evil.test", `/\evil.test`, `\\evil.test`,
		`\/evil.test`, "https://evil.test", "https:evil.test", "javascript:alert(1)", "/\t/evil.test",
		"/\n/evil.test", "/\r/evil.test",
		"\t//evil.test", " //evil.test", "/\x00/evil.test", "/\u0085/evil.test", "/@shop/\r\nSet-Cookie: a=b"} {
		if got := enter(b.site.Link("shop", false), next); got != "/@shop/?focus=1" {
			t.Errorf("next %q leads to %q", next, got)
		}
	}
	for _, next := range []string{"/..//evil.test", "/@shop/..//..//evil.test/"} {
		got := enter(b.site.Link("shop", false), next)
		if !strings.HasPrefix(got, "/") || strings.HasPrefix(got, "//") {
			t.Errorf("next %q leads to %q", next, got)
		}
	}
	if got := enter(b.site.LetterLink("shop", "msg_1"), "/@shop/flow"); got != "/@shop/?m=msg_1" {
		t.Errorf("a link to a letter leads to %q", got)
	}
}

// TestLoginAgain tests that another link in a logged-in browser redirects without a second session.
func TestLoginAgain(t *testing.T) {
	b := newFixture(t)
	link := b.site.Link("shop", false)
	if got := b.enters(link).Want(t, http.StatusSeeOther); got.Header.Get("Set-Cookie") != "" ||
		got.Header.Get("Location") != "/@shop/?focus=1" {
		t.Errorf("%v", got.Header)
	}
	if n := len(b.site.Sessions()); n != 1 {
		t.Errorf("there are %d sessions", n)
	}
	b.Get(link, stranger).Want(t, http.StatusUnauthorized)
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

// TestPlainAddress tests that no session holds or begins at 127.0.0.1 without a plain link, since other programs on
// other ports there receive the same cookies, and that this address reveals the pages' own only to a valid link.
func TestPlainAddress(t *testing.T) {
	b := newFixture(t)
	for _, path := range []string{"/", "/@shop/", "/sessions", "/no/such/page", "/@shop/events"} {
		got := b.Get(path, plainly).Want(t, http.StatusUnauthorized, "pennypost open").Without(t, sitetest.Host)
		if got.Header.Get("Set-Cookie") != "" || got.Header.Get("Location") != "" {
			t.Errorf("%s at the plain address: %v", path, got.Header)
		}
	}
	link := b.site.Link("shop", false)
	if got := b.Get(link, plainly, stranger).Want(t, http.StatusSeeOther); got.Header.Get("Location") != "http://"+
		sitetest.Host+":8765"+link || got.Header.Get("Set-Cookie") != "" {
		t.Errorf("from the plain address a link leads on with %v", got.Header)
	}
	if got := b.enters(link, plainly, stranger).Want(t, http.StatusUnauthorized); got.Header.Get("Set-Cookie") != "" {
		t.Error("a link to the pages' own address opens a session at another")
	}
	b.enters(link, stranger).Want(t, http.StatusSeeOther) // that did not use it up
	b.Get(link, plainly, stranger).Want(t, http.StatusUnauthorized).Without(t, sitetest.Host)

	plain := b.site.Link("shop", true)
	b.Get(plain, stranger).Want(t, http.StatusUnauthorized)
	if got := b.enters(plain, stranger).Want(t, http.StatusUnauthorized); got.Header.Get("Set-Cookie") != "" {
		t.Error("a plain link opens a session at the pages' own address")
	}
	// a person presses
	b.Get(plain, plainly, stranger).Want(t, http.StatusOK, "on any port", "<code>127.0.0.1</code>").Without(t,
		"data-press")
	c := cookieOf(t, b.enters(plain, plainly, stranger).Want(t, http.StatusSeeOther).Header)
	b.Get("/@shop/", withCookie(c.Value), plainly).Want(t, http.StatusOK, ">Inbox</h1>")
	b.Get("/@shop/", withCookie(c.Value)).Want(t, http.StatusUnauthorized)
	b.Get("/sessions").Want(t, http.StatusOK, "plain address")
}

// sessionFixture is a Site without rooms, for tests of time.
type sessionFixture struct{ *Site }

func (s sessionFixture) do(method, path, cookie, form string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(form))
	r.Host = sitetest.Host
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	r.AddCookie(&http.Cookie{Name: sessionCookie, Value: cookie})
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

// get returns the status of a page for a session cookie.
func (s sessionFixture) get(path, cookie string, header ...string) int {
	return s.do(http.MethodGet, path, cookie, "", header...).Code
}

// login begins a session and returns its cookie.
func (s sessionFixture) login(t *testing.T) string {
	t.Helper()
	_, key, _ := strings.Cut(s.Link("", false), "=")
	return cookieOf(t, s.do(http.MethodPost, "/login", "", "key="+key).Header()).Value
}

func newSessionFixture(file, key string) sessionFixture {
	return sessionFixture{New(Options{Office: &sitetest.Office{}, Key: []byte(key), Host: sitetest.Host, File: file})}
}

func TestLoginExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSessionFixture("", "key")
		late, early := s.Link("", false), s.Link("", false)
		time.Sleep(session.LinkTime - time.Second)
		if got := s.get(early, ""); got != http.StatusOK {
			t.Fatalf("a link in time: %d", got)
		}
		time.Sleep(time.Second)
		if got := s.get(late, ""); got != http.StatusUnauthorized {
			t.Errorf("a link after %v: %d", session.LinkTime, got)
		}
		_, key, _ := strings.Cut(late, "=")
		if got := s.do(http.MethodPost, "/login", "", "key="+key).Code; got != http.StatusUnauthorized {
			t.Errorf("a link that is pressed after %v: %d", session.LinkTime, got)
		}
	})
}

// TestSessionIdles tests that a session ends 12 hours after the person's last act, whatever an open page requests,
// and after 30 days in any case.
func TestSessionIdles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSessionFixture("", "key")
		cookie := s.login(t)
		time.Sleep(session.Idle - time.Second)
		if got := s.get("/", cookie); got != http.StatusOK {
			t.Fatalf("a session that was used in time: %d", got)
		}
		for range 4 { // the page's own requests
			time.Sleep(session.Idle / 4)
			s.get("/changes?after=0", cookie)
			s.get("/", cookie, "Pennypost-Live", "1")
		}
		if got := s.get("/", cookie); got != http.StatusUnauthorized {
			t.Errorf("a session after %v in which only its page asked: %d", session.Idle, got)
		}
		cookie = s.login(t)
		for range int(session.Longest/session.Idle)*2 - 1 {
			time.Sleep(session.Idle / 2)
			if got := s.get("/", cookie); got != http.StatusOK {
				t.Fatalf("a session in use: %d", got)
			}
		}
		time.Sleep(session.Idle / 2)
		if got := s.get("/", cookie); got != http.StatusUnauthorized {
			t.Errorf("a session after %v: %d", session.Longest, got)
		}
		if n := len(s.Sessions()); n != 0 {
			t.Errorf("%d sessions that have ended are listed", n)
		}
	})
}

// TestSessionsSurvive tests that sessions survive a restart, that a logout is final, and that another operator's
// token ends all.
func TestSessionsSurvive(t *testing.T) {
	file := filepath.Join(t.TempDir(), "sessions.json")
	s := newSessionFixture(file, "key")
	one, two := s.login(t), s.login(t)
	text, err := os.ReadFile(file)
	if info, _ := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 && runtime.GOOS != "windows" {
		t.Fatalf("the file is %v (%v)", info.Mode(), err)
	}
	if strings.Contains(string(text), one) || strings.Contains(string(text), two) {
		t.Error("the file holds what logs in")
	}
	s = newSessionFixture(file, "key")
	if a, b := s.get("/", one), s.get("/", two); a != http.StatusOK || b != http.StatusOK {
		t.Fatalf("after a restart: %d, %d", a, b)
	}
	s.do(http.MethodPost, "/logout", one, "")
	for range 2 {
		if a, b := s.get("/", one), s.get("/", two); a != http.StatusUnauthorized || b != http.StatusOK {
			t.Errorf("after one was logged out: %d, %d", a, b)
		}
		s = newSessionFixture(file, "key")
	}
	if got := newSessionFixture(file, "another key").get("/", two); got != http.StatusUnauthorized {
		t.Errorf("with another operator's token: %d", got)
	}
	if err := os.WriteFile(file, text[:len(text)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	if got := newSessionFixture(file, "key").get("/", two); got != http.StatusUnauthorized {
		t.Errorf("from half a file: %d", got)
	}
}

// TestSessionUsedIsKept tests that the idle time survives a restart, to within a few minutes.
func TestSessionUsedIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "sessions.json")
		s := newSessionFixture(file, "key")
		cookie := s.login(t)
		time.Sleep(session.Idle - time.Minute)
		s.get("/", cookie)
		s = newSessionFixture(file, "key")
		time.Sleep(session.Idle - session.SeenEvery - time.Second)
		if got := s.get("/", cookie); got != http.StatusOK {
			t.Errorf("a session that was used before the restart: %d", got)
		}
	})
}

// TestSessionCannotBeWritten tests that a logout that a restart would revert says so.
func TestSessionCannotBeWritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "gone", "sessions.json")
	s := newSessionFixture(file, "key")
	cookie := s.login(t)
	if got := s.do(http.MethodPost, "/logout", cookie, ""); got.Code != http.StatusServiceUnavailable ||
		!strings.Contains(got.Body.String(), "a restart would reopen") {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	if got := s.get("/", cookie); got != http.StatusUnauthorized {
		t.Errorf("the session goes on: %d", got)
	}
}

func TestManySessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSessionFixture("", "key")
		quiet, used := s.login(t), s.login(t)
		for range session.Most - 1 {
			time.Sleep(time.Second)
			s.get("/", used)
			s.login(t)
		}
		if a, b, n := s.get("/", quiet), s.get("/", used), len(s.Sessions()); a != http.StatusUnauthorized ||
			b != http.StatusOK || n != session.Most {
			t.Errorf("of %d sessions, the one that was quiet for longest: %d, one in use: %d", n, a, b)
		}
	})
}

func TestManyLinks(t *testing.T) {
	b := newFixture(t)
	first := b.site.Link("shop", false)
	second := b.site.Link("shop", false)
	for range session.MaxLinks - 1 {
		b.site.Link("shop", false)
	}
	b.Get(first, stranger).Want(t, http.StatusUnauthorized)
	b.Get(second, stranger).Want(t, http.StatusOK)
}

// TestForgedSessions tests that only a session's exact cookie grants access, neither its id nor its hash in the file.
func TestForgedSessions(t *testing.T) {
	b := newFixture(t)
	one := b.site.Sessions()[0]
	for what, value := range map[string]string{
		"nothing": "", "its id": one.ID, "its hash": hashOf(b.Cookie), "cut": b.Cookie[1:], "more": b.Cookie + "A",
		"lower case":         strings.ToLower(b.Cookie),
		"of the time before": "sxyz.ABCDEFGH.c2lnbmVk",
	} {
		if got := b.Get("/", withCookie(value)); got.Code != http.StatusUnauthorized {
			t.Errorf("%s: status %d", what, got.Code)
		}
	}
}

func TestLogout(t *testing.T) {
	b := newFixture(t)
	got := b.Post("/logout", nil)
	if got.Code != http.StatusSeeOther || cookieOf(t, got.Header).MaxAge >= 0 {
		t.Errorf("%d %v", got.Code, got.Header)
	}
	b.Get("/@shop/").Want(t, http.StatusUnauthorized) // even if the browser, or a thief, kept the cookie
	b.Post("/logout", nil).Want(t, http.StatusSeeOther)
	b.Get("/logout").Want(t, http.StatusUnauthorized)
}

// TestSessionsPage tests that logged-in browsers are listed, and that each session can be ended there.
func TestSessionsPage(t *testing.T) {
	b := newFixture(t)
	firefox := func(r *http.Request) {
		r.Header.Set("User-Agent", "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) <b>Gecko/20100101 Firefox/140.0")
	}
	other := cookieOf(t, b.enters(b.site.Link("shop", false), stranger, firefox).Header).Value
	page := b.Get("/@shop/sessions").Want(t, http.StatusOK, "Firefox on Linux", "this browser",
		"Log out everywhere").Without(t, "Gecko")
	list := b.site.Sessions()
	mine, theirs := list[0].ID, list[1].ID
	if list[1].Browser == "a test" {
		mine, theirs = theirs, mine
	}
	if !strings.Contains(page.Body, `value="`+theirs+`"`) || strings.Contains(page.Body, other) ||
		strings.Contains(page.Body, hashOf(other)) {
		t.Error("the page lacks the id of a session, or tells what opens it")
	}
	b.Post("/@shop/sessions", url.Values{}).Want(t, http.StatusBadRequest)
	b.Post("/@shop/sessions", url.Values{"id": {theirs}}).Want(t, http.StatusSeeOther)
	b.Post("/@shop/sessions", url.Values{"id": {theirs}}).Want(t, http.StatusSeeOther) // pressed twice
	b.Get("/@shop/", withCookie(other)).Want(t, http.StatusUnauthorized)
	b.Get("/@shop/sessions").Want(t, http.StatusOK).Without(t, "Firefox", "Log out everywhere")
	got := b.Post("/@shop/sessions", url.Values{"id": {mine}}).Want(t, http.StatusSeeOther)
	if cookieOf(t, got.Header).MaxAge >= 0 {
		t.Error("the browser keeps the cookie of a session that has ended")
	}
	b.Get("/@shop/").Want(t, http.StatusUnauthorized)
}

func TestLogOutEverywhere(t *testing.T) {
	b := newFixture(t)
	other := cookieOf(t, b.enters(b.site.Link("shop", false), stranger).Header).Value
	b.Post("/sessions", url.Values{"all": {"1"}}).Want(t, http.StatusSeeOther)
	for _, c := range []string{b.Cookie, other} {
		b.Get("/", withCookie(c)).Want(t, http.StatusUnauthorized)
	}
	if n := len(b.site.Sessions()); n != 0 {
		t.Errorf("%d sessions are left", n)
	}
}

// TestStreamEndsWithSession tests that an open page gets no more events after its session was ended elsewhere.
func TestStreamEndsWithSession(t *testing.T) {
	inBubble(t, func(t *testing.T, b *fixture) {
		s := b.listen("0", "")
		synctest.Wait()
		s.events(t)
		if err := b.site.EndSession(""); err != nil {
			t.Fatal(err)
		}
		b.Send("builder-1", mail.Draft{Subject: "For nobody else"})
		<-s.done
		if got := s.events(t); len(got) > 0 {
			t.Errorf("the stream goes on: %+v", got)
		}
	})
}

func TestBrowserOf(t *testing.T) {
	for agent, want := range map[string]string{
		"": "a program", "curl/8.5.0": "a program", "\x1b]0;evil\a": "a program",
		"Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0": "Firefox on Linux",
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 " +
			"Safari/537.36 Edg/140.0.0.0": "Edge on Windows",
		"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 " +
			"Safari/605.1.15": "Safari on macOS",
		"Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Mobile " +
			"Safari/537.36": "Chrome on Android",
	} {
		if got := session.Browser(agent); got != want {
			t.Errorf("browserOf(%q) = %q, want %q", agent, got, want)
		}
	}
}

// paths returns a path for each of the site's routes.
func paths(s *Site) map[string]string {
	hole := regexp.MustCompile(`\{[^}$]*\}`)
	out := make(map[string]string)
	for _, part := range s.parts {
		for pattern := range part.Routes {
			_, path, _ := strings.Cut(pattern, " ")
			out[pattern] = hole.ReplaceAllString(strings.TrimSuffix(path, "{$}"), "x")
		}
	}
	return out
}

// TestStrangersSeeNothing tests that every route without a session answers with how to log in.
func TestStrangersSeeNothing(t *testing.T) {
	b := newFixture(t)
	b.Send("builder-1", mail.Draft{Subject: "A secret subject"})
	for pattern, path := range paths(b.site) {
		method, _, _ := strings.Cut(pattern, " ")
		for _, prefix := range []string{"", "/@shop"} {
			got := b.Do(method, prefix+path, nil, stranger)
			if got.Code != http.StatusUnauthorized || !strings.Contains(got.Body, "pennypost open") ||
				strings.Contains(got.Body, "shop") {
				t.Errorf("%s of a stranger at %s: %d\n%s", pattern, prefix, got.Code, got.Body)
			}
			part := b.Do(method, prefix+path, nil, stranger, sitetest.AsScript("section#list"))
			if part.Code != http.StatusUnauthorized || part.Header.Get("HX-Refresh") != "true" {
				t.Errorf("%s of a page whose session ended: %d %v", pattern, part.Code, part.Header)
			}
		}
	}
	b.Do(http.MethodGet, "/no/such/page", nil, stranger).Want(t, http.StatusUnauthorized)
}

// TestHeaders tests that every page has its security headers.
func TestHeaders(t *testing.T) {
	b := newFixture(t)
	b.Send("builder-1", mail.Draft{})
	closed, cancel := context.WithCancel(context.Background())
	cancel()
	ended := func(r *http.Request) { *r = *r.WithContext(closed) } // streams end immediately
	nonces := make(map[string]bool)
	check := func(what string, got sitetest.Answer) {
		for name, want := range map[string]string{"X-Content-Type-Options": "nosniff",
			"Referrer-Policy": "same-origin", "Cross-Origin-Opener-Policy": "same-origin",
			"Cross-Origin-Resource-Policy": "same-origin"} {
			if got.Header.Get(name) != want {
				t.Errorf("%s: %s is %q", what, name, got.Header.Get(name))
			}
		}
		if strings.Contains(what, "static") || strings.Contains(what, "favicon") {
			return
		}
		policy := got.Header.Get("Content-Security-Policy")
		if got.Header.Get("Cache-Control") != "no-store" ||
			!strings.HasPrefix(policy, "default-src 'none'; script-src 'nonce-") ||
			strings.Contains(policy, "unsafe") ||
			strings.Contains(policy, "http") || strings.Contains(policy, "*") || strings.Contains(policy, "data:") ||
			!strings.Contains(policy, "frame-ancestors 'none'") {
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
			check(pattern, b.Do(method, "/@shop"+path, nil, who, ended))
		}
	}
	for _, path := range []string{"/login", "/none", "/@shop/none", "/@nowhere/", "/favicon.svg", "/static/app.css",
		"/static/app.js"} {
		check(path, b.Get(path))
	}
	check("offer", b.Get(b.site.Link("shop", false), stranger))
	check("plain offer", b.Get(b.site.Link("shop", true), stranger, plainly))
}

// TestNoInlineCode tests that pages have no inline script, style or handler; the policy would block them.
func TestNoInlineCode(t *testing.T) {
	b := newFixture(t)
	b.Send("builder-1", mail.Draft{Body: "<script>alert(1)</script>"})
	for pattern, path := range paths(b.site) {
		if !strings.HasPrefix(pattern, "GET ") || strings.HasSuffix(pattern, "/events") {
			continue
		}
		got := b.Get("/@shop" + path)
		if !strings.HasPrefix(got.Header.Get("Content-Type"), "text/html") {
			continue
		}
		tags, err := sitetest.Scan(got.Body)
		if err != nil {
			t.Errorf("%s: %v", pattern, err)
		}
		for _, tag := range tags {
			if !tag.End && (tag.Name == "style" || tag.Name == "script" &&
				(tag.Attrs["src"] == "" || tag.Attrs["nonce"] == "" || tag.Text != "")) {
				t.Errorf("%s has <%s %v>%s", pattern, tag.Name, tag.Attrs, tag.Text)
			}
			for name, value := range tag.Attrs {
				hx := strings.HasPrefix(name, "hx-")
				if name == "style" || strings.HasPrefix(name, "on") || strings.HasPrefix(name, "hx-on") || hx &&
					strings.HasPrefix(value, "js:") || strings.HasPrefix(value, "javascript:") {
					t.Errorf("%s: <%s %s=%q>", pattern, tag.Name, name, value)
				}
				if hx && !strings.Contains(got.Header.Get("Content-Security-Policy"), "'nonce-"+tag.Attrs["hx-nonce"]+
					"'") {
					t.Errorf("%s: <%s %s> lacks the nonce: htmx ignores it", pattern, tag.Name, name)
				}
			}
		}
	}
}

func TestRoomNames(t *testing.T) {
	b := newFixture(t)
	b.AddRoom("other")
	for path, want := range map[string]int{
		"/@shop/": 200, "/@other/": 200, "/@shop": 301, "/@nowhere/": 404, "/@/": 200, "/@../": 400, "/@%2e%2e/": 400,
		"/@..%2f..%2fetc/": 400, "/@shop%2fx/": 400,
		"/@shop%00/": 400, "/@SHOP/": 404, "/@shop%5c/": 400, "/@sh%ZZop/": -1, "/@" + strings.Repeat("a", 200) +
			"/": 400, "/@shop/@other/": 404, "/@%F0%9F%92%A9/": 400,
		"/@shop//": -1, "/@user/": 404, "/@-/": -1,
	} {
		u, err := url.Parse(path)
		if err != nil {
			continue // no server receives it
		}
		got := b.Get(u.RequestURI())
		if want > 0 && got.Code != want {
			t.Errorf("%s: %d, want %d", path, got.Code, want)
		}
		if got.Code >= 500 || got.Code == 200 && want != 200 {
			t.Errorf("%s: %d", path, got.Code)
		}
	}
	if n := len(b.Office.Open); n != 2 {
		t.Errorf("there are %d rooms now: an address made one", n)
	}
	b.Get("/@nowhere/").Want(t, http.StatusNotFound, "there is no room nowhere;")
}

// TestOneRoomIsNotAnother tests that one room's content is not shown in another.
func TestOneRoomIsNotAnother(t *testing.T) {
	b := newFixture(t)
	b.AddRoom("other")
	id := b.Send("builder-1", mail.Draft{Subject: "Only in the shop"})
	b.Get("/@shop/").Want(t, http.StatusOK, "Only in the shop")
	for _, path := range []string{"/", "/?m=" + string(id), "/stuck", "/palette?q=shop", "/history", "/agents",
		"/channels", "/flow"} {
		b.Get("/@other"+path).Without(t, "Only in the shop", "builder-1")
	}
}

func TestEmptyOffice(t *testing.T) {
	s := newSessionFixture("", "key")
	cookie := s.login(t)
	for pattern, path := range paths(s.Site) {
		method, _, _ := strings.Cut(pattern, " ")
		if w := s.do(method, path, cookie, "id=x&to=y&body=z"); w.Code >= 500 {
			t.Errorf("%s without any room: %d %s", pattern, w.Code, w.Body)
		}
	}
}

// hashOf is the stored hash of a cookie.
func hashOf(cookie string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(cookie))) }

// TestLoggedOutMeanwhile: a request that fails because its session ended says so.
func TestLoggedOutMeanwhile(t *testing.T) {
	b := newFixture(t)
	ctx, end := context.WithCancelCause(t.Context())
	end(&mail.Error{Code: mail.Unknown, Msg: "logged out"})
	b.Get("/@shop/", func(r *http.Request) { *r = *r.WithContext(ctx) }).Want(t, http.StatusUnauthorized)
}
