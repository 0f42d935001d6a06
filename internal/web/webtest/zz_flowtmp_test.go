//go:build flowtmp

package webtest

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

func (p *person) fshot(name string) {
	img, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		p.t.Fatal(err)
	}
	_ = os.WriteFile("/tmp/h-flow/"+name+".png", img, 0o644)
}

func (p *person) faxe(where string) {
	source, _ := os.ReadFile(os.Getenv("HOME") + "/.cache/pennypost-test/axe-4.14.1.js")
	value[bool](p, string(source)+"; true")
	value[bool](p, `window.found = null; axe.run(document, { resultTypes: ["violations"] }).then((r) => { window.found = JSON.stringify(r.violations.map((v) => [v.id, v.impact, v.nodes.slice(0,3).map((n) => n.html.slice(0,200) + n.failureSummary)])); }); true`)
	p.until(`window.found`)
	var found [][]any
	_ = json.Unmarshal([]byte(value[string](p, `window.found`)), &found)
	for _, v := range found {
		p.t.Logf("AXE %s: %v", where, v)
	}
}

func TestFlowTmp(t *testing.T) {
	o := newRoom(t)
	o.send("builder-1", "user", "The first message about parsers", "--subject", "First", "--type", "question")
	o.send("builder-2", "user", "Zeroth")
	o.send("builder-1", "builder-2", "The second message", "--subject", "Second", "--type", "status")
	p := o.person(1280, 800)
	p.visit("/history")
	p.sees("#list .event", "First")
	p.do(chromedp.SetValue("#f-type", "question"))
	value[bool](p, `document.querySelector("#f-type").dispatchEvent(new Event("change", {bubbles: true}))`)
	p.misses("#list .event", "Second")
	p.until(`location.search === "?type=question"`)
	p.write("#f-q", "parser")
	p.until(`location.search === "?q=parser&type=question"`)
	p.sees("mark", "parser")
	p.is(`document.activeElement.id === "f-q"`)
	p.faxe("history")
	// live
	o.send("builder-1", "user", "Another about parsers", "--subject", "Third", "--type", "question")
	p.until(`document.querySelectorAll("#list .event").length === 2 || !document.querySelector("#pill").hidden`)
	t.Log(value[string](p, `document.querySelectorAll("#list .event").length + " " + document.querySelector("#pill").textContent + " " + document.querySelector("#found").textContent`))
	value[bool](p, `window.hlog = []; for (const n of ["htmx:before:request","htmx:after:request","htmx:before:swap","htmx:after:swap","htmx:error","htmx:before:response","htmx:finally:request","pp-live","change","submit","htmx:response:error"]) document.addEventListener(n, (e) => hlog.push(n + " " + (e.detail?.ctx?.sourceElement?.id ?? e.target.id) + " " + (e.detail?.ctx?.response?.status ?? "") + " " + (e.detail?.error ?? "")), true); true`)
	p.write("#f-since", "soon\r")
	time.Sleep(time.Second)
	t.Log(value[string](p, `hlog.join("\n")`))
	p.sees(".problem", "is not a time")
	p.forgive("400")
	t.Log(value[string](p, "location.href"))
	p.fshot("e1")
	p.do(chromedp.NavigateBack())
	p.until(`location.search === "?q=parser&type=question"`)
	p.sees("#list .event", "First")
	p.click("#list .event")
	p.sees("#thread .post", "Another about")
	p.faxe("thread")
	p.write("#box", "My half text")
	o.send("builder-2", "user", "I know", "--subject", "Reply", "--type", "status", "--reply-to", value[string](p, `decodeURIComponent(location.hash.slice(3))`))
	p.sees("#thread .post", "I know")
	p.is(`document.querySelector("#box").value === "My half text"`)
	p.click("#thread .post .answer")
	p.sees("#writing", "Answering")
	p.is(`document.querySelector("#box").value === "My half text"`)
	p.click("#thread-read")
	p.until(`!document.querySelector("#thread-read")`)
	p.fshot("e2")
	p.click("#writing button.primary")
	p.sees("#thread .post.mine", "My half text")
	p.until(`document.querySelector("#box").value === ""`)
	for i := 0; i < 40; i++ {
		o.send("builder-1", "builder-2", "Text "+strings.Repeat("x", i), "--type", "status")
	}
	p.visit("/flow")
	p.sees("#flow", "Sequence")
	p.until(`(() => { const s = document.getElementById("flow-scroll"); return s.scrollTop > 0 && s.scrollTop + s.clientHeight >= s.scrollHeight - 2; })()`)
	p.faxe("flow")
	o.send("builder-2", "user", "Live arrow", "--subject", "Live arrow", "--type", "answer")
	p.until(`[...document.querySelectorAll(".about")].some((e) => e.textContent.includes("Live arrow"))`)
	p.until(`(() => { const s = document.getElementById("flow-scroll"); return s.scrollTop + s.clientHeight >= s.scrollHeight - 2; })()`)
	p.is(`[...document.querySelectorAll(".lanes a")].at(-1).namespaceURI === "http://www.w3.org/2000/svg"`)
	value[bool](p, `document.getElementById("flow-scroll").scrollTop = 100; true`)
	p.fshot("e3")
	o.send("builder-2", "user", "Live arrow 2", "--subject", "Live arrow 2", "--type", "answer")
	p.until(`[...document.querySelectorAll(".about")].some((e) => e.textContent.includes("Live arrow 2"))`)
	p.is(`document.getElementById("flow-scroll").scrollTop === 100`)
	p.press("+")
	p.until(`location.search === "?w=6h"`)
	p.visit("/flow?view=talk")
	p.sees(".pairs", "builder-2")
	p.faxe("talk")
	p.media("prefers-color-scheme", "dark")
	p.faxe("talk dark")
	p.visit("/flow")
	p.sees("#flow", "Sequence")
	p.faxe("flow dark")
	p.visit("/history")
	p.faxe("history dark")
}
