package webtest

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// TestPostOfficeAway tests that the page says that the post office is away, that an answer waits and is sent once,
// that other actions are refused with a reason, that a link leaves the page as it is, and that typed text is kept.
func TestPostOfficeAway(t *testing.T) {
	r := ownOffice(t, "harbour", serve...)
	r.run("agents", "register", "builder-1", "--state", "idle")
	first := r.send("builder-1", "user", "Which port?", "--type", "question", "--metadata",
		`{"options":["8080","9090"]}`)
	r.send("builder-1", "user", "Half of it is done.", "--subject", "Half")
	p := r.person(1440, 900)
	p.click("#row-" + first)
	p.sees("#letter", "Which port?")
	r.restart(func() {
		begun := time.Now()
		p.sees("#office-away", "Post office offline since")
		if took := time.Since(begun); took > 3*time.Second {
			t.Errorf("it took %v to say so", took)
		}
		p.is(`document.getElementById("office-away").textContent.endsWith("Your text is kept.")`)
		p.accessible("away", `runOnly: ["wcag2a", "wcag2aa", "wcag22aa"]`)
		for _, width := range []int64{1024, 390, 1440} {
			p.size(width, 900)
			p.is(`[...document.querySelectorAll("main *, .acts")].every((el) => !el.contains(document.elementFromPoint(
				innerWidth / 2, document.getElementById("office-away").getBoundingClientRect().y + 20)))`) // in view
			shot(p, fmt.Sprintf("away-%d", width))
		}
		p.media("prefers-color-scheme", "dark")
		shot(p, "away-dark")
		p.media("prefers-color-scheme", "light")
		p.press("1")
		p.sees(".toast", "Waiting for the post office: “8080”")
		p.press("z")
		p.sees(".toast", "Not sent.")
		p.misses(".toast", "8080")
		p.press("1")
		p.sees(".toast", "8080")
		p.press("2") // this replaces it
		p.sees(".toast", "Waiting for the post office: “9090”")
		p.misses(".toast", "8080")
		p.accessible("what waits", `runOnly: ["wcag2a", "wcag2aa", "wcag22aa"]`)
		p.size(390, 844)
		shot(p, "away-waits-390")
		p.size(1440, 900)
		shot(p, "away-waits")
		p.press("r")
		p.write("#reply-text", "Both, then")
		p.sees("#act-send", "Send when back")
		p.ctrl("\r")
		p.sees(".toast", "Waiting for the post office: “Both, then”")
		p.until(`document.getElementById("reply-text").value === ""`)
		p.press("\u001bz")
		p.until(`document.getElementById("reply-text").value === "Both, then"`)
		p.press("u")
		p.sees(".toast", "Not done: the post office is offline")
		p.press("ga")
		p.sees(".toast", "this page stays")
		p.press("c")
		p.sees(".toast", "cannot be shown now")
		p.sees("#letter", "Which port?")
	})
	p.until(`document.getElementById("office-away").hidden`)
	p.sees("#card", "9090")
	r.until("--as", "builder-1", "9090")
	if got := strings.Count(r.run("history", "--from", "user"), "9090"); got != 1 {
		t.Errorf("the answer was sent %d times", got)
	}
	p.forgive("net::ERR")
	p.forgive("Failed to fetch")
}

// TestDrafts tests that a draft survives a closed tab, in a letter and in compose, and is removed once sent.
func TestDrafts(t *testing.T) {
	r := newRoom(t)
	r.run("agents", "register", "builder-1", "--state", "idle")
	first := r.send("builder-1", "user", "Which port?", "--type", "question")
	p := r.person(1440, 900)
	p.click("#row-" + first)
	p.write("#reply-text", "Neither: 7070")
	p.press("\u001b")
	p.press("c")
	p.sees("#compose", "")
	p.write("#compose-subject", "The parser")
	p.write("#compose-body", "It is yours.")

	value[bool](p, `{ sessionStorage.clear(); true }`) // closing a tab clears it
	p.do(chromedp.Navigate("about:blank"))
	p.visit("/?m=" + first)
	p.until(`document.getElementById("reply-text")?.value === "Neither: 7070"`)
	p.press("c")
	p.until(`document.getElementById("compose-body")?.value === "It is yours."`)
	p.until(`document.getElementById("compose-subject").value === "The parser"`)
	p.write("#compose-to", "builder-1")
	p.press("\t")
	p.click("#compose-form .primary")
	p.sees(".toast", "builder-1")
	p.press("c")
	p.until(`document.getElementById("compose-body")?.value === ""`)
}

// TestWaitsBeyondTheTab tests that the next tab sends a waiting answer unchanged, and only once.
func TestWaitsBeyondTheTab(t *testing.T) {
	r := ownOffice(t, "harbour", serve...)
	r.run("agents", "register", "builder-1", "--state", "idle")
	id := r.send("builder-1", "user", "Which port?", "--type", "question")
	p := r.person(1440, 900)
	other := p.tab()
	other.visit("/?m=" + id)
	other.until(`document.readyState === "complete"`)
	p.do(navigate("about:blank"))
	r.restart(func() {
		other.sees("#office-away", "offline")
		other.press("r")
		other.write("#reply-text", "Neither: 7070")
		other.ctrl("\r")
		other.sees(".toast", "Waiting for the post office: “Neither: 7070”")
		other.write("#reply-text", "And 6060 later")
		call(other, page.Close, cdp.Empty{})
	})
	p.visit("/?m=" + id)
	p.sees("#card", "Neither: 7070")
	r.until("--as", "builder-1", "Neither: 7070")
	p.until(`document.getElementById("reply-text")?.value === "And 6060 later"`)
	p.do(reload())
	p.sees("#card", "Neither: 7070")
	time.Sleep(time.Second) // enough for a second send
	if got := strings.Count(r.run("history", "--from", "user"), "7070"); got != 1 {
		t.Errorf("the answer was sent %d times", got)
	}
	other.forgive("net::ERR")
	other.forgive("Failed to fetch")
}

// TestLetterWaits tests that a letter sent while the post office is away waits, and that undo brings its text back,
// in the dialog and on the page.
func TestLetterWaits(t *testing.T) {
	r := ownOffice(t, "harbour", serve...)
	r.run("agents", "register", "builder-1", "--state", "idle")
	p := r.person(1440, 900)
	p.press("c")
	p.write("#compose-to", "builder-1")
	p.press("\t")
	p.write("#compose-subject", "The parser")
	p.write("#compose-body", "It is yours.")
	other := p.tab()
	other.visit("/compose?to=builder-1")
	other.write("#compose-body", "And the lexer.")
	r.restart(func() {
		p.sees("#office-away", "offline")
		p.sees("#compose .primary", "Send when back")
		p.ctrl("\r")
		p.sees(".toast", "Waiting for the post office: “It is yours.”")
		p.misses("#compose", "")
		other.ctrl("\r")
		other.sees(".toast", "Waiting for the post office: “And the lexer.”")
		other.until(`document.getElementById("compose-body").value === ""`)
		other.press("\u001bz")
		other.sees(".toast", "Not sent.")
		other.until(`document.getElementById("compose-body").value === "And the lexer."`)
	})
	r.until("--as", "builder-1", "The parser")
	p.sees(".toast", "builder-1")
	p.press("c")
	p.until(`document.getElementById("compose-body")?.value === ""`)
	other.do(focus("#compose-body"))
	other.ctrl("\r")
	r.until("--as", "builder-1", "And the lexer.")
	for _, text := range []string{"The parser", "And the lexer"} {
		if got := strings.Count(r.run("history", "--from", "user"), text); got != 1 {
			t.Errorf("%s was sent %d times", text, got)
		}
	}
	for _, tab := range []*person{p, other} {
		tab.forgive("net::ERR")
		tab.forgive("Failed to fetch")
	}
}

// TestResponseIsLost tests that an answer whose response was lost causes no conflict, and is sent once.
func TestResponseIsLost(t *testing.T) {
	r := newRoom(t)
	r.run("agents", "register", "builder-1", "--state", "idle")
	r.send("builder-1", "user", "Which port?", "--type", "question", "--metadata", `{"options":["8080","9090"]}`)
	r.send("builder-1", "user", "Which host?", "--type", "question", "--metadata", `{"options":["here","there"]}`)
	p := r.person(1440, 900)
	lose := func() {
		value[bool](p, `{
			const real = fetch;
			window.fetch = async (address, how) => {
				const got = await real(address, how);
				if (!String(address).includes("/answer")) return got;
				window.fetch = real;
				throw new TypeError("the response is lost");
			};
			true }`)
	}
	for _, question := range []string{"Which port?", "Which host?"} {
		lose()
		p.do(focus(`#list .row[data-asks="2"]`))
		p.press("\r")
		p.sees("#letter", question)
		p.press("2")
		p.sees(".toast", "Answered")
		p.is(`!document.querySelector(".toast.error")`)
		p.misses(".toast", "Waits")
	}
	for _, answer := range []string{"9090", "there"} {
		r.until("--as", "builder-1", answer)
		if got := strings.Count(r.run("history", "--from", "user"), answer); got != 1 {
			t.Errorf("the answer %s was sent %d times", answer, got)
		}
	}
	p.forgive("lost")
}

// TestHangs tests that a hanging post office is noticed without a key, and within 3 s when the machine wakes, the
// page becomes visible or the network returns.
func TestHangs(t *testing.T) {
	r := ownOffice(t, "harbour", serve...)
	r.send("builder-1", "user", "Half of it is done.")
	p := r.person(1440, 900)
	p.until(`document.getElementById("live")._htmx?.sse?.reader`)
	time.Sleep(3 * time.Second) // enough for a heartbeat
	for _, sign := range []struct {
		name, js string
		limit    time.Duration
	}{
		{"nothing", `true`, 9 * time.Second},
		{"a network", `dispatchEvent(new Event("online"))`, 3 * time.Second},
		{"the page in sight", `document.dispatchEvent(new Event("visibilitychange"))`, 3 * time.Second},
		{"a clock that has jumped", `{ const now = Date.now; Date.now = () => now() + 6_000; true }`, 4 * time.Second},
	} {
		r.signal(sigStop)
		begun := time.Now()
		value[bool](p, sign.js)
		p.until(`!document.getElementById("office-away").hidden`)
		took := time.Since(begun)
		r.signal(sigCont)
		t.Logf("after %s it is told within %v", sign.name, took)
		if took > sign.limit+time.Second {
			t.Errorf("after %s it took %v to say so", sign.name, took)
		}
		p.until(`document.getElementById("office-away").hidden`)
		time.Sleep(time.Second) // let the answered request finish
	}
	p.forgive("net::ERR")
	p.forgive("Failed to fetch")
}

// TestNoErrorOfTheBrowser tests that loading a page while the post office is away shows our page, which later becomes
// the requested one, with the typed text.
func TestNoErrorOfTheBrowser(t *testing.T) {
	r := ownOffice(t, "harbour", serve...)
	r.run("agents", "register", "builder-1", "--state", "idle")
	id := r.send("builder-1", "user", "Which port?", "--type", "question")
	p := r.person(1440, 900)
	p.until(`navigator.serviceWorker.ready.then((w) => w.active?.state === "activated")`)
	p.visit("/?m=" + id)
	p.write("#reply-text", "Neither: 7070")
	r.restart(func() {
		for _, width := range []int64{1440, 1024, 390} {
			p.size(width, 800)
			for _, theme := range []string{"light", "dark"} {
				p.media("prefers-color-scheme", theme)
				p.do(reload())
				p.sees("[role=status]", "Post office offline. Your text is kept.")
				p.sees("main", "reloads by itself")
				p.accessible("away page "+theme, `runOnly: ["wcag2a", "wcag2aa", "wcag22aa"]`)
				p.is(`document.documentElement.scrollWidth <= innerWidth`)
				shot(p, fmt.Sprintf("away-page-%d-%s", width, theme))
			}
		}
		p.is(`!document.documentElement.outerHTML.includes("harbour")`)
	})
	p.until(`document.getElementById("reply-text")?.value === "Neither: 7070"`)
	p.is(`location.search === "?m=` + id + `"`)
	p.is(`caches.keys().then((all) => all.length === 0)`)

	p.size(1440, 900)
	p.click(".rooms summary")
	p.click("form[action='/logout'] button")
	p.sees("main", "pennypost open")
	p.is(`Object.keys(localStorage).every((key) => !key.startsWith("draft "))`)
	p.until(`navigator.serviceWorker.getRegistrations().then((all) => all.length === 0)`)
	p.forgive("401")
	p.forgive("503")
	p.forgive("net::ERR")
	p.forgive("Failed to fetch")
}

// TestWorkerIsNoWayIn tests that a link on another site brings no login, even through the worker.
func TestWorkerIsNoWayIn(t *testing.T) {
	r := newRoom(t)
	r.fill(reports(1)...)
	p := r.person(1280, 800)
	p.until(`navigator.serviceWorker.ready.then((w) => w.active?.state === "activated")`)
	for end := time.Now().Add(patience); !value[bool](p, `!!navigator.serviceWorker.controller`); p.visit("/") {
		if time.Now().After(end) {
			t.Fatal("the worker does not come to look after the page")
		}
	}
	elsewhere := newListener(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<a id="in" href="%s/@%s/">in</a>`, r.site, r.name)
	})
	p.roams()
	p.do(navigate("http://127.0.0.1:" + elsewhere.port + "/"))
	p.click("#in")
	p.sees("main", "pennypost open")
	p.forgive("401")
	p.forgive("favicon")
}

// TestComesBack tests that a person logged out under an open page returns to it, in the link's tab and in the old
// one, with the typed text.
func TestComesBack(t *testing.T) {
	r := ownOffice(t, "harbour", serve...)
	r.run("agents", "register", "builder-1", "--state", "idle")
	id := r.send("builder-1", "user", "Which port?", "--type", "question")
	p := r.person(1440, 900)
	p.visit("/?m=" + id)
	p.write("#reply-text", "Neither: 7070")
	r.run("open", "--revoke", "all")
	p.sees("main", "pennypost open")
	other := p.tab()
	other.do(navigate(r.run("open", "--print")))
	other.until(`document.getElementById("reply-text")?.value === "Neither: 7070"`)
	other.is(`location.search === "?m=` + id + `"`)
	value[bool](p, `{ dispatchEvent(new Event("focus")); true }`) // the person returns to it
	p.sees("#letter", "Which port?")
	p.sees(".other-text", "another tab")
	p.forgive("401")
	p.forgive("net::ERR")
}

// TestTwoTabs tests that two tabs writing on one letter lose neither text by typing, closing or a crash.
func TestTwoTabs(t *testing.T) {
	r := newRoom(t)
	r.run("agents", "register", "builder-1", "--state", "idle")
	id := r.send("builder-1", "user", "Which port?", "--type", "question")
	p := r.person(1440, 900)
	other := p.tab()
	for tab, text := range map[*person]string{p: "Mine is 7070", other: "No: 6060"} {
		tab.visit("/?m=" + id)
		tab.write("#reply-text", text)
	}
	p.do(reload())
	p.until(`document.getElementById("reply-text")?.value === "Mine is 7070"`)
	p.sees(".other-text", "in another tab")
	p.do(navigate("about:blank"))
	other.do(navigate("about:blank"))

	third := p.tab()
	third.visit("/?m=" + id)
	third.until(`document.getElementById("reply-text")?.value`)
	texts := []string{"Mine is 7070", "No: 6060"}
	if value[string](third, `document.getElementById("reply-text").value`) != texts[0] {
		slices.Reverse(texts)
	}
	third.until(`document.querySelector(".other-text button")?.textContent.includes("` + texts[1] + `")`)
	shot(third, "other-text")
	third.accessible("another text", `runOnly: ["wcag2a", "wcag2aa", "wcag22aa"]`)
	third.do(focus(".other-text button"))
	third.press("\r")
	third.until(`document.getElementById("reply-text").value === "` + texts[1] + `"`)
	third.sees(".other-text button", texts[0])
	third.ctrl("\r")
	third.sees(".toast", texts[1])
	third.visit("/?m=" + id)
	third.until(`document.getElementById("reply-text")?.value === "` + texts[0] + `"`)

	for tab, subject := range map[*person]string{p: "One letter", other: "Another"} {
		tab.visit("/compose")
		tab.write("#compose-subject", subject)
	}
	other.visit("/compose?to=builder-1") // another letter
	other.until(`document.getElementById("compose-subject")?.value === ""`)
	other.visit("/compose")
	other.until(`document.getElementById("compose-subject")?.value === "Another"`)
	other.sees(".other-text", "in another tab")
	p.do(navigate("about:blank"))
	other.do(reload())
	other.until(`document.getElementById("compose-subject")?.value`)
	other.sees(".other-text button", "")

	for tab, text := range map[*person]string{p: "To the thread", other: "And this"} {
		tab.visit("/t/" + id)
		tab.write(".box textarea", text)
	}
	p.do(reload())
	p.until(`document.querySelector(".box textarea")?.value === "To the thread"`)
	ctx, cancel := context.WithTimeout(p.ctx, 2*time.Second)
	defer cancel()
	_, _ = chromedp.Call(ctx, page.Crash, cdp.Empty{}) // no reply will come
	third.visit("/t/" + id)
	third.until(`document.querySelector(".box textarea")?.value === "To the thread"`)
	third.sees(".other-text", "in another tab")
}

// TestRenews tests that a page of an older version reloads, but not while the person is writing.
func TestRenews(t *testing.T) {
	r := newRoom(t)
	r.run("agents", "register", "builder-1", "--state", "idle")
	id := r.send("builder-1", "user", "Which port?", "--type", "question")
	p := r.person(1440, 900)
	p.click("#row-" + id)
	p.write("#reply-text", "Neither")
	value[bool](p, `{
		const real = fetch;
		window.older = true;
		window.asked = 0;
		window.fetch = async (address, how) => {
			const got = await real(address, how);
			if (!String(address).includes("/changes")) return got;
			window.asked++;
			return new Response(JSON.stringify({ ...await got.json(), version: "newer" }));
		};
		document.dispatchEvent(new Event("visibilitychange"));
		true }`)
	p.until(`window.asked > 0`)
	time.Sleep(3 * time.Second) // long enough for it to reload
	p.is(`window.older`)
	p.do(setValue("#reply-text", "")) // the field loses focus
	p.until(`!window.older`)
	p.sees("#letter", "Which port?")
}
