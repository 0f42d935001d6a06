package webtest

import (
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// On a phone there is one pane at a time, and the places are under the thumb.
func TestPhone(t *testing.T) {
	r := newRoom(t)
	r.run("agents", "register", "builder-1", "--state", "idle", "--tag", "project:parser")
	r.fill(reports(20)...)
	p := r.person(390, 844)
	const bar = `(() => { const b = document.querySelector(".places").getBoundingClientRect(); return b.bottom <= innerHeight + 1 && b.bottom > innerHeight - 4 && b.width > 380 && b.height >= 44; })()`
	p.is(bar)
	p.is(`[...document.querySelectorAll(".places a")].every((a) => a.getBoundingClientRect().height >= 40)`)
	p.is("!" + shows("#detail", ""))
	p.do(chromedp.Click("#list .row", chromedp.NodeVisible))
	p.sees("#letter", "The text of letter 19.")
	p.until("!" + shows("#list", ""))
	p.is(bar)
	p.is(
		`[...document.querySelectorAll("#letter button")].filter((b) => b.checkVisibility()).every((b) => b.getBoundingClientRect().height >= 40)`)
	p.click("#letter .back")
	p.sees("#list .row", "Report 20")
	p.until("!" + shows("#letter", ""))
	p.click("#list .row")
	p.sees("#letter", "The text of letter 19.")
	p.do(chromedp.NavigateBack()) // the browser's own way back
	p.sees("#list .row", "Report 20")
	p.until("!" + shows("#letter", ""))

	p.click(".places [data-place=channels]")
	p.sees("#channels .row", "parser")
	p.click("#channels .row[href$='project:parser']")
	p.sees("#audience", "builder-1")
	p.is("!" + shows("#channels", ""))
	p.click("#audience a.narrow")
	p.sees("#channels .row", "parser")
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

// Without scripts everything can be read and answered.
func TestWithoutScript(t *testing.T) {
	r := newRoom(t)
	r.run("agents", "register", "builder-1", "--state", "idle", "--task", "the parser", "--tag", "project:parser")
	id := r.send("builder-1", "user", "Which of the **two**?", "--subject", "Which?", "--type", "question",
		"--metadata", `{"options":["Left","Right"]}`)
	p := r.stranger(1280, 800)
	call(p, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	p.do(chromedp.Navigate(r.run("open", "--print")))
	p.click("#enter button")
	p.sees("#list .row", "Which?")
	p.click("#list .row")
	p.sees("#letter strong", "two")
	p.click("#act-unread") // Read
	p.sees("#detail", "Choose a message")
	p.visit("/?show=unread")
	p.sees("#list", "All read.")
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
	p.sees("#list", "Nothing needs you.")
	p.visit("/channels/project:parser")
	p.write("#writing textarea", "Hear!")
	p.click("#writing .primary")
	p.sees("#talk .said.mine", "Hear!")
}

// A link into the middle of a page scrolls what scrolls there, and not the frame around it.
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
