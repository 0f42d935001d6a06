package webtest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// everything is a letter with every element of a text.
const everything = "# שלום עולם\n\nפסקה עם `code --flag` ו-[קישור](https://example.org), שאחריה עוד מילים.\n\n" +
	"A paragraph from left to right[^1],\nwhose second line stands by itself.\n\n" +
	"- פריט ראשון\n- second item\n\n> ציטוט\n\n| עמודה | b |\n|---|---|\n| תא | 2 |\n\n" +
	"```go\nfunc main() {\n\tprintln(\"שלום\")\n}\n```\n\n- in a list\n\n  ```\n  make test\n  ```\n\n[^1]: A note.\n"

// TestText tests that each part of a letter has its own text direction, code always left to right, and that line
// breaks are kept.
func TestText(t *testing.T) {
	r := newRoom(t)
	r.run("agents", "register", "דנה", "--state", "idle")
	r.fill(letter{ID: "msg_everything0000000000000", Type: "custom", From: "agent:דנה", Subject: "שלום: parser",
		Body: everything}, letter{ID: "msg_everything0000000000001", Type: "custom", From: "agent:דנה",
		Subject: "The same again", Body: everything})
	p := r.person(1440, 900)
	p.visit("/?m=msg_everything0000000000000")
	p.sees("#letter-body", "println")
	direction := func(selector string) string {
		return fmt.Sprintf(`getComputedStyle(document.querySelector(%q)).direction`, selector)
	}
	for selector, want := range map[string]string{
		"#letter-title bdi": "rtl", "#letter-body h1": "rtl", "#letter-body p": "rtl", "#letter-body p code": "ltr",
		"#letter-body p:nth-of-type(2)": "ltr", "#letter-body li": "rtl", "#letter-body li:nth-of-type(2)": "ltr",
		"#letter-body th": "rtl", "#letter-body th:nth-of-type(2)": "ltr", "#letter-body pre": "ltr",
		"#letter-body blockquote": "rtl", "#letter-body table": "rtl", "#letter .line": "ltr",
		"#letter .sender, #letter .person bdi": "rtl", "#list .row .preview bdi": "rtl",
		"#list .row .line": "ltr",
	} {
		if got := value[string](p, direction(selector)); got != want {
			t.Errorf("%s goes %s, want %s", selector, got, want)
		}
	}
	p.is(`document.querySelector("#letter-body p:nth-of-type(2) br")`)
	// the bullet is inside the letter
	p.is(
		`document.querySelector("#letter-body li").getBoundingClientRect().right <= document.querySelector("#letter-body").getBoundingClientRect().right - 16`)
	p.is(`!/[*#\x60|]|\]\(/.test(document.querySelector("#list .row .preview").textContent)`)

	p.click("#letter-body .footnote-ref") // it links to the note below, and back
	p.until(`document.querySelector(":target")?.closest("#letter-body")`)
	p.visit("/history") // a long line is cut at its end, which is on the left
	p.size(1024, 900)
	p.sees("#rows .what", "שלום")
	p.is(`[...document.querySelectorAll("#rows .what")].some((line) => { const text = document.createRange(), first = line.querySelector("bdi:dir(rtl)").firstChild; text.setStart(first, 0); text.setEnd(first, 1); const a = line.getBoundingClientRect(), b = text.getBoundingClientRect(); return line.scrollWidth > line.clientWidth && b.right <= a.right + 1 && b.left >= a.left; })`)
	p.visit("/agents/" + "%D7%93%D7%A0%D7%94") // both letters on one page
	p.sees("#talk", "println")
	p.is(
		`(() => { const ids = [...document.querySelectorAll("[id]")].map((e) => e.id); return new Set(ids).size === ids.length; })()`)

	p.pictured("text", "/?m=msg_everything0000000000000", "#letter-body")
}

// TestCopyCode tests that a button copies a code block, also by keyboard, without the last line end.
func TestCopyCode(t *testing.T) {
	r := newRoom(t)
	r.fill(letter{ID: "msg_everything0000000000000", Type: "custom", From: "agent:ann", Subject: "Code",
		Body: everything})
	p := r.person(1280, 800)
	p.visit("/?m=msg_everything0000000000000")
	p.sees("#letter-body", "println")
	value[bool](p,
		`{ const write = navigator.clipboard.writeText.bind(navigator.clipboard); navigator.clipboard.writeText = (text) => { window.copied = text; return write(text); }; true }`)
	value[bool](p, `{ document.querySelector("#letter-body .copy").focus({ focusVisible: true }); true }`)
	p.until(`getComputedStyle(document.querySelector("#letter-body .copy")).opacity === "1"`)
	p.press("\r")
	p.sees("#letter-body .copy", "Copied")
	p.is(`document.getElementById("announce").textContent === "Copied."`)
	if got, want := value[string](p, `window.copied`), "func main() {\n\tprintln(\"שלום\")\n}"; got != want {
		t.Errorf("what was copied is %q, want %q", got, want)
	}
	p.until(
		`document.querySelector("#letter-body .copy").innerText === "Copy code" || document.querySelector("#letter-body .copy").firstChild.data === "Copy"`)
	call(p, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	p.do(reload())
	if nodes, err := chromedp.Run(p.ctx, chromedp.Evaluate[bool](
		`[...document.querySelectorAll(".copy")].every((b) => !b.checkVisibility())`)); err != nil || !nodes {
		t.Errorf("without scripts there is a button that does nothing (%v)", err)
	}
}

// TestInstallable tests that the browser would install the pages as an app, without a worker.
func TestInstallable(t *testing.T) {
	r := newRoom(t)
	r.fill(reports(1)...)
	p := r.person(1280, 800)
	got := call(p, page.GetAppManifest, page.GetAppManifestParams{})
	if len(got.Errors) > 0 || !strings.HasSuffix(got.URL, "/manifest.webmanifest") {
		t.Errorf("the manifest: %+v", got)
	}
	for _, e := range call(p, page.GetInstallabilityErrors, cdp.Empty{}).InstallabilityErrors {
		if e.ErrorID != "in-incognito" { // tests use incognito windows
			t.Errorf("the browser would not install it: %+v", e)
		}
	}
	const color = `document.querySelector("meta[name=theme-color]").content`
	p.media("prefers-color-scheme", "dark")
	p.until(color + ` === "rgb(16, 19, 23)"`)
	p.click("[data-do=theme]") // light
	p.until(color + ` === "rgb(233, 238, 242)"`)
	p.visit("/agents")
	p.is(`[...document.querySelectorAll("meta[name=theme-color]")].every((m) => m.content === "#e9eef2")`)
}

// TestFind tests that two words typed after / find a message of yesterday.
func TestFind(t *testing.T) {
	r := newRoom(t)
	yesterday := time.Now().AddDate(0, 0, -1).UTC()
	r.fill(
		letter{ID: "msg_find000000000000000000", Type: "question", From: "agent:scout",
			Subject: "Which lights does the harbour have?",
			Body:    "The harbour master says **three**.", Sent: yesterday},
		letter{Type: "answer", From: "agent:ann", To: []string{"agent:scout"}, Body: "All lights of the harbour: 3",
			ReplyTo: "msg_find000000000000000000", Thread: "msg_find000000000000000000",
			Sent: yesterday.Add(time.Second)},
		letter{Type: "status", From: "agent:scout", Subject: "The harbour of today",
			Body: "is [another](https://example.org)."},
		letter{Type: "status", From: "agent:scout", Subject: "Of old", Body: "The harbour.",
			Sent: yesterday.AddDate(0, 0, -9)},
	)
	p := r.person(1440, 900)
	p.press("/")
	p.focuses("#search")
	p.press("harbour yesterday\r")
	p.sees("#rows .event", "Which lights does the harbour have?")
	p.is(`document.querySelectorAll("#rows .event").length === 1`)
	p.sees("#rows .event .marks", "1 more in this conversation")
	p.sees("#found .filter-on", "yesterday")
	p.is(`[...document.querySelectorAll("#rows mark")].map((m) => m.textContent).join() === "harbour,harbour"`)
	p.pictured("find", "/history?q=harbour", "#rows .event")
	p.size(1440, 900)
	p.visit("/history?q=harbour")
	p.write("#f-since", "yesterday")
	p.press("\t")
	p.sees("#found .filter-on", "yesterday")
	p.sees("#rows .event", "The harbour of today")
	p.misses("#rows .event", "Of old")
}
