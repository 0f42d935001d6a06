package webtest

import (
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// paths are the pages of a room in which nothing needs to be.
var paths = []string{"/", "/?show=archived", "/agents", "/channels", "/history", "/flow", "/flow?view=talk", "/stuck", "/compose", "/palette"}

func TestEnter(t *testing.T) {
	r := newRoom(t)
	r.fill(reports(1)...)
	p := r.stranger(1280, 800)
	for _, path := range append(paths, "/t/msg_report0000000000000001", "/agents/builder-1", "/nowhere") {
		p.visit(path)
		p.sees("main", "pennypost open")
		p.forgive("401")
	}
	link := r.run("open", "--print")
	p.do(chromedp.Navigate(link))
	p.sees("#list .row", "Report 1")
	cookies := call(p, network.GetCookies, network.GetCookiesParams{}).Cookies
	if len(cookies) != 1 || !cookies[0].HTTPOnly || cookies[0].SameSite != network.CookieSameSiteStrict {
		t.Errorf("the cookies are %+v, want one that is HttpOnly and SameSite=Strict", cookies)
	}
	p.do(chromedp.Navigate(link)) // who is inside stays there
	p.until(`document.body.dataset.place === "inbox"`)

	other := r.stranger(1280, 800)
	other.do(chromedp.Navigate(link))
	other.sees("main", "pennypost open")
	other.forgive("401")

	p.click(".rooms summary")
	p.click("form[action='/logout'] button")
	p.sees("main", "pennypost open")
	p.forgive("401")
}

// A session that ends under an open page is told as soon as something happens.
func TestSessionEnds(t *testing.T) {
	r := newRoom(t)
	r.fill(reports(1)...)
	p := r.person(1280, 800)
	call(p, network.ClearBrowserCookies, cdp.Empty{})
	r.send("builder-1", "user", "Somebody there?")
	p.sees("main", "pennypost open")
	p.forgive("401")
}

// The post office restarts under an open page, which comes back by itself. What was typed is there still.
func TestRestart(t *testing.T) {
	r := ownOffice(t, "shop", serve...)
	first := r.send("builder-1", "user", "The first message")
	p := r.person(1280, 800)
	p.click("#row-" + first)
	p.sees("#letter", "The first message")
	p.write("#reply-text", "Half a sentence")
	p.away()
	r.restart(func() {
		p.press("!") // goes on writing
		p.ctrl("\r") // and sends it into the void
	})
	r.send("builder-2", "user", "We are open again.", "--subject", "Open")
	p.until(shows("#list .row", "Open") + ` || document.getElementById("pill").textContent === "1 new"`)
	p.is(`document.getElementById("reply-text").value === "Half a sentence!"`)
	p.ctrl("\r")
	p.sees("#card", "Half a sentence!")
	p.forgive("net::ERR")
	p.forgive("Failed to fetch")
}

// The stream is cut: the page asks every 20 seconds. The test does not wait for them, it turns the page's clock.
func TestWithoutStream(t *testing.T) {
	r := newRoom(t)
	r.fill(reports(1)...)
	p := r.person(1280, 800)
	call(p, network.SetBlockedURLs, network.SetBlockedURLsParams{URLPatterns: []*network.BlockPattern{{URLPattern: r.URL + "/@" + r.name + "/events*", Block: true}}})
	p.visit("/")
	p.sees("#list .row", "Report 1")
	p.away()
	r.send("builder-1", "user", "Does this arrive?", "--subject", "Slow")
	value[bool](p, `{ const now = Date.now, began = now(); Date.now = () => now() + (now() - began > 500 ? 12_000 : 0); true }`)
	time.Sleep(2500 * time.Millisecond) // in which it would have asked if it asked sooner
	p.is("!" + shows("#list .row", "Slow"))
	value[bool](p, `{ const now = Date.now; Date.now = () => now() + 20_000; true }`)
	p.sees("#list .row", "Slow")
	p.until(`document.title.startsWith("(2) ")`)

	call(p, network.SetBlockedURLs, network.SetBlockedURLsParams{}) // and comes back when it can
	value[bool](p, `{ const now = Date.now; Date.now = () => now() + 20_000; true }`)
	p.until(`document.getElementById("live")._htmx?.sse?.reader`)
	r.send("builder-1", "user", "And this?", "--subject", "Quick")
	p.sees("#list .row", "Quick")
	p.forgive("ERR_BLOCKED_BY_CLIENT")
	p.forgive("Failed to fetch")
}
