package webtest

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// paths are pages that work in an empty room.
var paths = []string{"/", "/?show=archived", "/agents", "/channels", "/history", "/flow", "/flow?view=talk", "/stuck",
	"/compose", "/palette", "/sessions"}

func TestEnter(t *testing.T) {
	r := newRoom(t)
	r.fill(reports(1)...)
	p := r.stranger(1280, 800)
	for _, path := range append(paths, "/t/msg_report0000000000000001", "/agents/builder-1", "/nowhere", "/") {
		p.visit(path)
		p.sees("main", "pennypost open")
		p.forgive("401")
	}
	link := r.run("open", "--print")
	p.do(chromedp.Navigate(link))
	p.until(`document.body.dataset.place === "inbox"`)
	for name, c := range p.cookies() {
		if name != "pp_scope" && !c.HTTPOnly || c.SameSite != network.CookieSameSiteStrict {
			t.Errorf("a cookie is %+v, want one that is HttpOnly and SameSite=Strict", c)
		}
	}
	p.roams()
	p.do(chromedp.Navigate(r.URL + "/")) // no login there, and no hint of the pages' own address
	p.sees("main", "pennypost open --plain")
	p.is(`!document.documentElement.outerHTML.includes("pp-")`)
	p.forgive("401")
	p.do(chromedp.Navigate(r.site + link[strings.Index(link, "/login?"):])) // a logged-in person stays logged in
	p.until(`document.body.dataset.place === "inbox"`)

	other := r.stranger(1280, 800)
	other.roams()
	other.do(chromedp.Navigate(link))
	other.sees("main", "This link has been used")
	other.forgive("401")

	p.click(".rooms summary")
	p.click("form[action='/logout'] button")
	p.sees("main", "pennypost open")
	p.forgive("401")
}

// listener is another program on a port of this machine. It records the cookies that browsers send.
type listener struct {
	port    string
	mu      sync.Mutex
	cookies map[string]string // by requested path
}

func newListener(t *testing.T, answer func(w http.ResponseWriter, r *http.Request)) *listener {
	t.Helper()
	l := &listener{cookies: map[string]string{}}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l.mu.Lock()
		l.cookies[r.URL.Path] = r.Header.Get("Cookie")
		l.mu.Unlock()
		answer(w, r)
	}))
	t.Cleanup(s.Close)
	_, l.port, _ = net.SplitHostPort(s.Listener.Addr().String())
	return l
}

// got returns the cookies sent with a path, and whether it was requested.
func (l *listener) got(path string) (string, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c, ok := l.cookies[path]
	return c, ok
}

// TestCookieStaysHere tests that other local programs do not receive the session cookie. Cookies ignore ports, so the
// person must not be logged in at an address where other programs are visited. A program that learns the pages' own
// name does not get the cookie by a link or a picture; a redirect from a typed address would send it, so the name is
// secret.
func TestCookieStaysHere(t *testing.T) {
	r := ownOffice(t, "shop", serve...)
	r.fill(reports(1)...)
	host := strings.TrimPrefix(r.site[:strings.LastIndex(r.site, ":")], "http://")
	var other *listener
	other = newListener(t, func(w http.ResponseWriter, q *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w,
			`<title>%s</title><a id="link" href="http://%s:%s/linked">A link</a><img src="http://%s:%s/image">`,
			q.URL.Path, host, other.port, host, other.port)
	})
	visit := func(p *person, address string) {
		t.Helper()
		p.do(chromedp.Navigate(address))
		path := address[strings.LastIndex(address, "/"):]
		p.until(`document.title === ` + quote(path))
	}
	p := r.person(1280, 800)
	p.roams()
	cookies := p.cookies()
	for _, c := range cookies {
		if c.Domain != host {
			t.Fatalf("a cookie is %+v, want one of %s", c, host)
		}
	}
	visit(p, "http://127.0.0.1:"+other.port+"/ip")
	visit(p, "http://localhost:"+other.port+"/name")
	for _, path := range []string{"/ip", "/name", "/image"} {
		if c, asked := other.got(path); c != "" || !asked {
			t.Errorf("another port was sent %q with %s (asked for: %v)", c, path, asked)
		}
	}
	p.click("#link")
	p.until(`document.title === "/linked"`)
	if c, _ := other.got("/linked"); c != "" {
		t.Errorf("another port was sent %q by a link", c)
	}
	p.visit("/")
	p.sees("#list .row", "Report 1")

	// The plain address exposes the cookie, as its page warns. This shows that the test would detect a leak.
	q := r.stranger(1280, 800)
	q.roams()
	q.do(chromedp.Navigate(r.run("open", "--plain", "--print")))
	q.sees("main", "on any port")
	q.click("#enter button")
	q.sees("#list .row", "Report 1")
	visit(q, "http://127.0.0.1:"+other.port+"/plain")
	if c, _ := other.got("/plain"); !strings.Contains(c, "pennypost_session=") {
		t.Errorf("at the plain address the listener was sent %q: this test would not see a cookie that leaks", c)
	}
	for _, one := range []*person{p, q} {
		one.forgive("favicon")
	}
}

// TestSessions tests that logged-in browsers are listed on a page and in a terminal, and can be logged out in both.
func TestSessions(t *testing.T) {
	r := ownOffice(t, "shop", serve...)
	r.fill(reports(1)...)
	p, q := r.person(1280, 800), r.person(1280, 800)
	p.click(".rooms summary")
	p.click(".rooms a[href$='/sessions']")
	p.sees(".sessions", "this browser")
	p.is(`document.querySelectorAll(".sessions li").length === 2`)
	p.fits("the sessions")
	p.click(".sessions li:not(:has(.good)) button")
	p.until(`document.querySelectorAll(".sessions li").length === 1`)
	q.visit("/")
	q.sees("main", "pennypost open")
	q.forgive("401")

	list := strings.Fields(r.run("open", "--sessions"))
	if len(list) < 4 || list[1]+" "+list[2]+" "+list[3] != "Chrome on Linux" {
		t.Fatalf("the sessions are %q", list)
	}
	r.run("open", "--revoke", list[0])
	p.visit("/sessions")
	p.sees("main", "pennypost open")
	p.forgive("401")
	if out, err := r.try("", "open", "--revoke", list[0]); err == nil || !strings.Contains(out, "open --sessions") {
		t.Errorf("ending it twice: %s", out)
	}
}

// TestOpenPageIdles tests that requests of an open page do not count as acts of the person: otherwise no session
// would ever end.
func TestOpenPageIdles(t *testing.T) {
	r := ownOffice(t, "shop", serve...)
	r.fill(reports(1)...)
	p := r.person(1280, 800)
	p.away()
	seen := func() string {
		t.Helper()
		var s struct{ Seen string }
		if err := json.Unmarshal([]byte(r.run("open", "--sessions", "--json")), &s); err != nil {
			t.Fatal(err)
		}
		return s.Seen
	}
	before := seen()
	r.send("builder-1", "user", "Are you there?", "--subject", "Knock")
	p.sees("#list .row", "Knock")
	if now := seen(); now != before {
		t.Errorf("the page was live, and the session counts as used: %s, and before %s", now, before)
	}
	p.click("#list .row")
	p.until(`!!document.querySelector("#act-unread[value=unread]")`)
	if now := seen(); now == before {
		t.Errorf("the person opened a letter, and the session does not count as used: %s", now)
	}
}

// TestOpenLater tests that a letter becomes read when a person opens it, not when it is prefetched.
func TestOpenLater(t *testing.T) {
	r := newRoom(t)
	r.fill(reports(2)...)
	p := r.person(1280, 800)
	p.visit("/")
	p.sees("#list .row.unread", "Report 1")
	if got := value[int](p,
		`fetch(document.querySelector("#list .row").href).then((a) => a.text()).then((t) => t.includes('id="opened"') ? 1 : 0)`); got != 1 {
		t.Error("the page of a letter that was not opened does not say that it would be")
	}
	p.visit("/")
	p.is(`document.querySelectorAll("#list .row.unread").length === 2`)
	p.click("#list .row")
	p.sees("#letter", "Report 2")
	p.until(`document.querySelectorAll("#list .row.unread").length === 1`)
	p.visit("/?m=msg_report0000000000000001") // loading the whole page marks it too
	p.until(`!!document.querySelector("#letter #act-unread[value=unread]")`)
	p.visit("/?show=unread")
	p.sees("#list", "All read.")
}

// TestSessionEnds tests that an open page learns of its session's end at the next change.
func TestSessionEnds(t *testing.T) {
	r := newRoom(t)
	r.fill(reports(1)...)
	p := r.person(1280, 800)
	call(p, network.ClearBrowserCookies, cdp.Empty{})
	r.send("builder-1", "user", "Somebody there?")
	p.sees("main", "pennypost open")
	p.forgive("401")
}

// TestRestart tests that an open page recovers from a restart of the post office, with the typed text.
func TestRestart(t *testing.T) {
	r := ownOffice(t, "shop", serve...)
	first := r.send("builder-1", "user", "The first message")
	p := r.person(1280, 800)
	p.click("#row-" + first)
	p.sees("#letter", "The first message")
	p.write("#reply-text", "Half a sentence")
	p.away()
	r.restart(func() {
		p.press("!") // the person keeps writing
		p.ctrl("\r") // and sends it
	})
	r.send("builder-2", "user", "We are open again.", "--subject", "Open")
	p.until(shows("#list .row", "Open") + ` || document.getElementById("pill").textContent === "1 new"`)
	p.sees("#card", "Half a sentence!") // it waited, and was sent by itself
	p.forgive("net::ERR")
	p.forgive("Failed to fetch")
}

// TestWithoutStream tests that a page without its stream polls every 20 seconds. To save time, the test changes the
// page's clock.
func TestWithoutStream(t *testing.T) {
	r := newRoom(t)
	r.fill(reports(1)...)
	p := r.person(1280, 800)
	call(p, network.SetBlockedURLs,
		network.SetBlockedURLsParams{URLPatterns: []*network.BlockPattern{{URLPattern: r.site + "/@" + r.name +
			"/events*", Block: true}}})
	p.visit("/")
	p.sees("#list .row", "Report 1")
	p.away()
	// the missing stream causes an immediate request, which may be late on a busy machine
	p.until(`performance.getEntriesByType("resource").some((e) => e.name.includes("/changes?"))`)
	r.send("builder-1", "user", "Does this arrive?", "--subject", "Slow")
	// at this speed a late timer does not look like sleep
	value[bool](p, `{ const now = Date.now, began = now(); Date.now = () => began + 1.5 * (now() - began); true }`)
	time.Sleep(6 * time.Second) // long enough for a request if it polled after 9 s
	p.is("!" + shows("#list .row", "Slow"))
	p.sees("#list .row", "Slow")

	call(p, network.SetBlockedURLs, network.SetBlockedURLsParams{})                   // it reconnects when it can
	value[bool](p, `{ const now = Date.now; Date.now = () => now() + 20_000; true }`) // as if it had slept
	p.until(`document.getElementById("live")._htmx?.sse?.reader`)
	r.send("builder-1", "user", "And this?", "--subject", "Quick")
	p.sees("#list .row", "Quick")
	p.forgive("ERR_BLOCKED_BY_CLIENT")
	p.forgive("Failed to fetch")
}
