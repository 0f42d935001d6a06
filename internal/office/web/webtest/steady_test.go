package webtest

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
)

// mostShift is how much of a page may move in all, as browsers count it, without the person having done anything.
const mostShift = 0.02

// growing are the places whose newest stands first, and comes in as it is sent: they are measured only.
var growing = map[string]bool{"Flow": true, "History": true, "Stuck": true}

// watchShifts collects what moves on the page from its beginning on.
const watchShifts = `(() => {
	window.shifts = [];
	new PerformanceObserver((list) => {
		for (const e of list.getEntries()) if (!e.hadRecentInput) shifts.push({ value: e.value,
			what: e.sources.map((s) => s.node?.outerHTML?.slice(0, 90) ?? s.node?.textContent).join(" | ") });
	}).observe({ type: "layout-shift", buffered: true });
	return true;
})()`

// TestSteady: nothing moves under the eye while a place opens, and while mail comes in that it shows.
func TestSteady(t *testing.T) {
	r := newFleet(t)
	r.fill(reports(100)...)
	p := r.person(1440, 900)
	for _, width := range []int64{1440, 390} {
		p.size(width, 900)
		for _, v := range firstViews {
			rate := 1.0
			if v.name == "Focus" {
				rate = 4 // on a slow one parts of the page are seen before what stands above them
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
	Rate float64 `json:"rate"` // how many times as long all takes
}

var slowProcessor = cdp.Command[slowProcessorParams, cdp.Empty]{Method: "Emulation.setCPUThrottlingRate"}

// slowLineParams are bytes a second, and milliseconds from a request to its answer.
type slowLineParams struct {
	Offline  bool    `json:"offline"`
	Latency  float64 `json:"latency"`
	Download float64 `json:"downloadThroughput"`
	Upload   float64 `json:"uploadThroughput"`
}

var slowLine = cdp.Command[slowLineParams, cdp.Empty]{Method: "Network.emulateNetworkConditions"}

// TestSlowLine logs when each place is painted first on a line like Chrome's "Slow 3G", by a person who is logged in:
// with nothing in the browser's cache, and with all of it. It is a measure, and asserts nothing.
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
