package webtest

import (
	"strconv"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
)

// The first view is light, and a long list comes by the page.
func TestWeight(t *testing.T) {
	r := newRoom(t)
	r.fill(reports(5000)...)
	p := r.person(1280, 800)
	p.until(`document.readyState === "complete"`)
	call(p, network.ClearBrowserCache, cdp.Empty{})
	p.mu.Lock()
	clear(p.loaded)
	p.mu.Unlock()
	p.visit("/")
	p.sees("#list .row", "Report 5000")
	p.until(`performance.getEntriesByName("first-contentful-paint").length`)
	var sum int64
	p.mu.Lock()
	for _, n := range p.loaded {
		sum += n
	}
	p.mu.Unlock()
	t.Logf("the first view of %d rows: %d bytes in %d requests, first painted after %.0f ms",
		value[int](p, `document.querySelectorAll("#list .row").length`), sum, len(p.loaded),
		value[float64](p, `performance.getEntriesByName("first-contentful-paint")[0].startTime`))
	if sum > 100_000 {
		t.Errorf("the first view is %d bytes", sum)
	}
	if sum < 20_000 {
		t.Errorf("the first view is %d bytes: they were not counted", sum)
	}

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
	// A frame while it scrolls.
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
