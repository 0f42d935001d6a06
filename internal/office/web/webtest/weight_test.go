package webtest

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
)

// firstViews are the pages a person may open first, over all rooms, with an element of each.
var firstViews = []struct{ name, path, seen string }{
	{"Needs you", "/?rooms=all", "#list .row"}, {"Focus", "/?rooms=all&focus=1", "#letter h1"},
	{"Agents", "/agents?rooms=all", "#roster"}, {"Stuck", "/stuck?rooms=all", "main h1"},
	{"Flow", "/flow?rooms=all&w=all", ".flow-letter"}, {"Waiting", "/flow?rooms=all&view=waiting", ".chain"},
	{"History", "/history?rooms=all", "main h1"}, {"Channels", "/channels?rooms=all", "main h1"},
	{"a thread", "/t/msg_fleet0000000000000000", "main h1"},
}

// heaviest limits the bytes of such a page with an empty cache.
const heaviest = 90_000

// news are the addresses that a page requests after a change, at any time.
var news = regexp.MustCompile(`/(changes|rail|opened)(\?|$)`)

// TestWeight tests that the first view of each page is light.
func TestWeight(t *testing.T) {
	r := newFleet(t)
	r.fill(reports(5000)...)
	p := r.person(1280, 800)
	// a first view has no worker
	call(p, network.SetBypassServiceWorker, network.SetBypassServiceWorkerParams{Bypass: true})
	for _, v := range firstViews {
		p.until(`document.readyState === "complete"`)
		call(p, network.ClearBrowserCache, cdp.Empty{})
		p.mu.Lock()
		clear(p.loaded)
		p.mu.Unlock()
		p.visit(v.path)
		p.sees(v.seen, "")
		p.until(`document.readyState === "complete" && performance.getEntriesByName("first-contentful-paint").length`)
		// requests of the previous page may finish now, and later ones are not of the first view
		its := value[[]string](p, `["navigation", "resource"].flatMap((t) => performance.getEntriesByType(t)).filter((e) =>
			e.startTime <= performance.getEntriesByType("navigation")[0].loadEventStart).map((e) => e.name)`)
		var sum int64
		p.mu.Lock()
		maps.DeleteFunc(p.loaded, func(url string, _ int64) bool {
			return news.MatchString(url) || !slices.Contains(its, url)
		})
		for _, n := range p.loaded {
			sum += n
		}
		requests := len(p.loaded)
		p.mu.Unlock()
		t.Logf("%s: %d bytes in %d requests, first painted after %.0f ms: %s", v.name, sum, requests,
			value[float64](p, `performance.getEntriesByName("first-contentful-paint")[0].startTime`),
			value[string](p, `["navigation", "resource"].flatMap((t) => performance.getEntriesByType(t)).map((e) =>
				new URL(e.name).pathname.split("/").pop() + " " + e.transferSize).join(", ")`))
		if sum > heaviest {
			t.Errorf("the first view of %s is %d bytes, want at most %d", v.name, sum, heaviest)
		}
		if sum < 20_000 {
			t.Errorf("the first view of %s is %d bytes: they were not counted", v.name, sum)
		}
	}
}

// TestLongList tests that a long list loads page by page.
func TestLongList(t *testing.T) {
	r := newRoom(t)
	r.fill(reports(5000)...)
	p := r.person(1280, 800)
	p.sees("#list .row", "Report 5000")
	p.press("*")
	p.sees("#picked", "selected; the list continues") // the rest of the list is not selected
	p.press("\u001b")

	const rows = `document.querySelectorAll("#list .row").length`
	first := value[int](p, rows)
	for n := first; n < 400; n = value[int](p, rows) {
		value[bool](p, `{ document.getElementById("list").scrollTop = 1e9; true }`)
		p.until(rows + " > " + strconv.Itoa(n))
	}
	p.is(`new Set([...document.querySelectorAll("#list .row")].map((r) => r.id)).size === ` + rows)
	p.is(
		`[...document.querySelectorAll("#list .row")].every((r, i, all) => i === 0 || Number(all[i - 1].dataset.at) > Number(r.dataset.at))`)
	p.is(
		`new Set([...document.querySelectorAll("#list h2.when")].map((h) => h.textContent)).size === document.querySelectorAll("#list h2.when").length`)
	// Frame times while scrolling.
	t.Logf("the slowest of 20 frames while scrolling: %.0f ms", value[float64](p, `(async () => {
		const list = document.getElementById("list");
		let worst = 0, last = await new Promise(requestAnimationFrame);
		for (let i = 0; i < 20; i++) {
			list.scrollTop -= 400;
			const now = await new Promise(requestAnimationFrame);
			worst = Math.max(worst, now - last);
			last = now;
		}
		return worst;
	})()`))
	p.press("jj")
	p.focuses("#list .row")
}
