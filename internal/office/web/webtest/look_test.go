package webtest

import (
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// TestPhone tests that a phone shows one pane at a time and one bar at the bottom: navigation, or a letter's actions.
func TestPhone(t *testing.T) {
	r := newRoom(t)
	r.run("agents", "register", "builder-1", "--state", "idle", "--tag", "project:parser")
	r.fill(reports(20)...)
	r.send("builder-1", "role:nobody", "Paint it.", "--type", "task-assigned") // stuck
	p := r.person(390, 844)
	const bar = `(() => { const b = document.querySelector(".places").getBoundingClientRect(); return b.bottom <= innerHeight + 1 && b.bottom > innerHeight - 4 && b.width > 380 && b.height >= 44; })()`
	p.is(bar)
	p.is(
		`[...document.querySelectorAll(".places a, .menu-button")].filter((a) => a.checkVisibility()).every((a) => a.getBoundingClientRect().height >= 44 && a.getBoundingClientRect().width >= 44)`)
	p.is("!" + shows(".top", ""))
	p.is(
		`((icon, count) => count.left >= icon.right && Math.abs(count.top + count.bottom - icon.top - icon.bottom) < 8)(...[".icon", ".count"].map((s) => document.querySelector(".places [data-place=stuck] " + s).getBoundingClientRect()))`)
	p.is("!" + shows("#detail", ""))
	p.do(chromedp.Click("#list .row", chromedp.NodeVisible))
	p.sees("#letter", "The text of letter 19.")
	p.until("!" + shows("#list", ""))
	p.is("!" + shows(".places", ""))
	p.is(
		`((b) => b.bottom <= innerHeight + 1 && b.bottom > innerHeight - 4 && b.width > 380)(document.getElementById("acts").getBoundingClientRect())`)
	p.is(
		`[...document.querySelectorAll("#letter button")].filter((b) => b.checkVisibility()).every((b) => b.getBoundingClientRect().height >= 40)`)
	p.click("#letter .back")
	p.sees("#list .row", "Report 20")
	p.until("!" + shows("#letter", ""))
	p.click("#list .row")
	p.sees("#letter", "The text of letter 19.")
	p.do(chromedp.NavigateBack()) // the browser's Back
	p.sees("#list .row", "Report 20")
	p.until("!" + shows("#letter", ""))

	p.click(".menu-button")
	p.click(".more-places [href$='/channels']")
	p.sees("#channels .row", "parser")
	p.click("#channels .row[href$='project:parser']")
	p.sees("#audience", "builder-1")
	p.is("!" + shows("#channels", ""))
	p.click("#audience a.narrow")
	p.sees("#channels .row", "parser")

	p.click(".menu-button") // the contents of the top bar
	p.sees("#top #compose-button", "Write")
	p.accessible("the menu on a phone", `runOnly: ["wcag2a", "wcag2aa", "wcag22aa"]`)
	shot(p, "phone-menu")
	p.write("#search", "letter 7")
	p.press("\r")
	p.until(`document.body.dataset.place === "history"`)
	p.sees("#rows .row", "Report 8")
	p.is("!" + shows("#f-type", ""))
	p.click(".filters .sheet-button")
	p.sees("#f-type", "")
	p.accessible("the filters on a phone", `runOnly: ["wcag2a", "wcag2aa", "wcag22aa"]`)
	shot(p, "phone-filters")
	p.do(setValue("#f-type", "question"))
	p.misses("#rows .row", "Report 8")
	p.click("#filter-sheet .sheet-close")
	p.until("!" + shows("#f-type", ""))
}

// TestPhonePages checks every page on a phone: the flow is a list, a letter's details are folded, and controls are
// large enough for a thumb.
func TestPhonePages(t *testing.T) {
	r := newRoom(t)
	pages := r.rich()
	p := r.person(390, 844)
	for name, path := range pages {
		p.visit(path)
		p.until(`document.readyState === "complete"`)
		for _, theme := range []string{"light", "dark"} {
			value[bool](p, `{ document.documentElement.dataset.theme = "`+theme+`"; true }`)
			p.fits(name)
			shot(p, "phone-"+strings.ReplaceAll(name, " ", "-")+"-"+theme)
		}
		small := value[string](p,
			`[...document.querySelectorAll("button, .button, select, .row, .places a, .tabs a, .switch a, summary, .flow-letter, input:not([type=hidden], [type=checkbox]), .phone-sheet label")].filter((e) => e.checkVisibility() && e.getBoundingClientRect().height < 39.5 && !e.closest(".markdown, .agent, .chips")).map((e) => e.outerHTML.slice(0, 90)).join("\n")`)
		if small != "" {
			t.Errorf("%s: too small for a thumb:\n%s", name, small)
		}
	}
	p.forgive("404")

	p.visit("/flow")
	p.sees(".flow-letters li:first-child", "小克 builder")
	p.sees(".flow-letters", "Everything that Markdown has")
	p.is("!" + shows(".flow-heads", ""))
	p.is("!" + shows(".hours", ""))
	p.click(".flow .sheet-button")
	p.sees("#flow-filters .hours", "now")
	p.accessible("the filters of the flow on a phone", `runOnly: ["wcag2a", "wcag2aa", "wcag22aa"]`)
	shot(p, "phone-flow-filters")
	p.click("#flow-filters .flow-legend a[href*='type=question']")
	p.misses(".flow-letters", "Everything that Markdown has")
	p.click(".flow-letter")
	p.sees("#thread .post", "Are you there?")

	p.visit(pages["documents"])
	p.is("!" + shows("#letter .document", ""))
	p.click("#fold-docs summary")
	p.sees("#letter .document", "plan.md")
	r.send("writer", "user", "One more.") // this refreshes the page
	p.until(`document.querySelector(".menu-button") && document.title.startsWith("(")`)
	p.sees("#letter .document", "plan.md")
	p.size(1280, 800)
	p.visit(pages["documents"])
	p.sees("#letter .document", "plan.md") // with enough room nothing is folded
	p.is("!" + shows(".docs-fold summary", ""))
}

func TestThemes(t *testing.T) {
	r := newRoom(t)
	r.fill(reports(1)...)
	p := r.person(1280, 800)
	const bright = `(() => { const c = getComputedStyle(document.body).backgroundColor.match(/[\d.]+/g).map(Number); return c[0] > 128; })()`
	p.media("prefers-color-scheme", "light")
	p.is(bright)
	p.media("prefers-color-scheme", "dark")
	p.until("!" + bright)
	p.click("[data-do=theme]") // light, whatever the system says
	p.until(bright)
	p.visit("/agents")
	p.is(bright)
	p.media("prefers-color-scheme", "light")
	p.click("[data-do=theme]")
	p.until("!" + bright)
	p.do(reload())
	p.is("!" + bright)
	p.is(`document.querySelector("[data-do=theme]").getAttribute("aria-label").includes("dark")`)
	p.click("[data-do=theme]")
	p.until(bright)

	p.visit("/?m=msg_report0000000000000001")
	p.media("prefers-reduced-motion", "reduce")
	p.until(`!!document.querySelector("#act-unread[value=unread]")`)
	p.press("u")
	p.sees(".toast", "Marked unread")
	p.is(`document.getAnimations().length === 0`)
	p.is(
		`[...document.querySelectorAll("*")].every((e) => getComputedStyle(e).animationName === "none" && parseFloat(getComputedStyle(e).transitionDuration) === 0)`)
	p.media("prefers-reduced-motion", "no-preference")
	p.is(
		`[...document.querySelectorAll("*")].every((e) => parseFloat(getComputedStyle(e).transitionDuration) <= .15 && parseFloat(getComputedStyle(e).animationDuration) <= .15)`)
}

// TestWithoutScript tests that everything can be read and answered without scripts.
func TestWithoutScript(t *testing.T) {
	r := newRoom(t)
	r.run("agents", "register", "builder-1", "--state", "idle", "--task", "the parser", "--tag", "project:parser")
	id := r.send("builder-1", "user", "Which of the **two**?", "--subject", "Which?", "--type", "question",
		"--metadata", `{"options":["Left","Right"]}`)
	p := r.stranger(1280, 800)
	call(p, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	p.do(chromedp.Navigate(r.run("open", "--print")))
	p.click("#enter button")
	p.sees("#list", "")
	call(p, network.SetCookie, network.SetCookieParams{Name: "pp_scope", Value: "one", URL: r.site})
	p.visit("/")
	p.sees("#list .row", "Which?")
	p.click("#row-" + id)
	p.sees("#letter strong", "two")
	p.click("#act-unread") // Read
	p.sees("#detail", "One by one")
	p.visit("/?show=unread&rooms=one")
	p.sees("#needs .row", "Which?") // it waits, though it was read
	p.is(`!document.querySelector("#list .row.unread")`)
	for path, words := range map[string]string{
		"/agents": "the parser", "/agents/builder-1": "Which of the two?", "/channels": "parser", "/history": "Which?",
		"/history?q=nowhere": "Nothing matches",
		"/t/" + id:           "Which of the two?", "/flow": "Which?", "/stuck": "Nothing is stuck",
		"/compose":         "Subject",
		"/palette?q=stuck": "Stuck",
	} {
		p.visit(path)
		p.sees("main", words)
	}
	p.visit("/?m=" + id)
	p.click("#card button[value=Left]")
	p.sees("#card .given", "Left")
	p.write("#reply-text", "And soon.")
	p.click("#act-send")
	p.sees("#card .given", "And soon.")
	p.is(`location.search.includes("m=")`)
	p.click("#act-archive")
	p.until(`document.getElementById("list") && !document.getElementById("row-` + id + `")`)
	p.visit("/channels/project:parser")
	p.write("#writing textarea", "Hear!")
	p.click("#writing .primary")
	p.sees("#talk .said.mine", "Hear!")
}

// TestLinkIntoThread tests that a link into the middle of a page scrolls the content, not the frame.
func TestLinkIntoThread(t *testing.T) {
	r := newRoom(t)
	letters := reports(40)
	for i := range letters[1:] {
		letters[i+1].Thread, letters[i+1].ReplyTo = letters[0].ID, letters[i/5*5].ID
	}
	r.fill(letters...)
	p := r.person(1280, 800)
	p.visit("/t/" + letters[0].ID + "#m-" + letters[30].ID)
	p.until(
		`(() => { const at = document.querySelector(":target")?.getBoundingClientRect(); return at && at.top > 40 && at.top < 760; })()`)
	p.fits("the thread")
	p.is(`document.querySelector(".top").getBoundingClientRect().top === 0`)
}
