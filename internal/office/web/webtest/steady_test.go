package webtest

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
)

// mostShift limits the layout shift of a page without user input, as browsers measure it.
const mostShift = 0.02

// growing are the pages that insert new items at the top: their shifts are only logged.
var growing = map[string]bool{"Flow": true, "History": true, "Stuck": true}

// watchShifts records layout shifts from the start of the page.
const watchShifts = `(() => {
	window.shifts = [];
	new PerformanceObserver((list) => {
		for (const e of list.getEntries()) if (!e.hadRecentInput) shifts.push({ value: e.value,
			what: e.sources.map((s) => s.node?.outerHTML?.slice(0, 90) ?? s.node?.textContent).join(" | ") });
	}).observe({ type: "layout-shift", buffered: true });
	return true;
})()`

// TestSteady tests that nothing shifts while a page opens, nor while mail arrives on it.
func TestSteady(t *testing.T) {
	r := newFleet(t)
	r.fill(reports(100)...)
	p := r.person(1440, 900)
	for _, width := range []int64{1440, 390} {
		p.size(width, 900)
		for _, v := range firstViews {
			rate := 1.0
			if v.name == "Focus" {
				rate = 4 // on a slow processor, parts of the page appear before the ones above them
			}
			call(p, slowProcessor, slowProcessorParams{Rate: rate})
			p.visit(v.path)
			p.sees(v.seen, "")
			p.until(`document.readyState === "complete"`)
			value[bool](p, watchShifts)
			before := value[int](p, `Number(document.querySelector("[data-place=inbox] .count[data-count=inbox]")?.textContent ?? 0)`)
			r.send("ops", "user", "Is this so?", "--type", "question", "--subject", "One more question")
			r.send("ops", "migrator", "It is so.", "--subject", "One more letter")
			p.until(fmt.Sprintf(`Number(document.querySelector("[data-place=inbox] .count[data-count=inbox]")?.textContent ?? 0) > %d`, before))
			value[bool](p, `new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))`)
			sum := value[float64](p, `shifts.reduce((n, s) => n + s.value, 0)`)
			if sum > mostShift && !growing[v.name] {
				t.Errorf("%s, %d pixels wide: it shifts by %.3f, want at most %.2f: %s", v.name, width, sum, mostShift,
					value[string](p, `shifts.map((s) => s.value.toFixed(3) + " " + s.what).join("\n")`))
			} else {
				t.Logf("%s, %d pixels wide: it shifts by %.4f", v.name, width, sum)
			}
		}
	}
}

type slowProcessorParams struct {
	Rate float64 `json:"rate"` // factor of slowness
}

var slowProcessor = cdp.Command[slowProcessorParams, cdp.Empty]{Method: "Emulation.setCPUThrottlingRate"}

// slowLineParams are in bytes per second, and milliseconds of latency.
type slowLineParams struct {
	Offline  bool    `json:"offline"`
	Latency  float64 `json:"latency"`
	Download float64 `json:"downloadThroughput"`
	Upload   float64 `json:"uploadThroughput"`
}

var slowLine = cdp.Command[slowLineParams, cdp.Empty]{Method: "Network.emulateNetworkConditions"}

// TestSlowLine logs when each page is first painted for a logged-in person on a line like Chrome's "Slow 3G", with an
// empty and a full cache. It only measures.
func TestSlowLine(t *testing.T) {
	if os.Getenv("PENNYPOST_MEASURE") == "" {
		t.Skip("$PENNYPOST_MEASURE is not set: this measures, and takes a while")
	}
	r := newFleet(t)
	r.fill(reports(5000)...)
	p := r.person(1280, 800)
	call(p, network.SetBypassServiceWorker, network.SetBypassServiceWorkerParams{Bypass: true})
	call(p, slowLine, slowLineParams{Latency: 400, Download: 50_000, Upload: 50_000})
	for _, v := range firstViews {
		for _, cold := range []bool{true, false} {
			if cold {
				call(p, network.ClearBrowserCache, cdp.Empty{})
			}
			start := time.Now()
			p.visit(v.path)
			p.until(`performance.getEntriesByName("first-contentful-paint").length`)
			t.Logf("%s, cold %v: first painted after %.0f ms, complete after %d ms", v.name, cold,
				value[float64](p, `performance.getEntriesByName("first-contentful-paint")[0].startTime`),
				time.Since(start).Milliseconds())
		}
	}
}
