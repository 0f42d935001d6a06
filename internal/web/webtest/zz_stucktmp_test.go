//go:build stucktmp

package webtest

import (
	"os"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

func (p *person) shot(name string) {
	p.t.Helper()
	img, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		p.t.Fatal(err)
	}
	_ = os.WriteFile("/tmp/h-stuck/"+name+".png", img, 0o644)
}

func TestStuckTmp(t *testing.T) {
	o := newOffice(t)
	o.send("builder-1", "user", "The first message", "--subject", "First parser")
	o.run("--room", "shop", "agents", "register", "builder-2", "--role", "builder", "--state", "idle", "--client", "claude-code")
	o.run("--room", "shop", "agents", "register", "小克 builder", "--role", "reviewer", "--state", "working", "--task", "reads all")
	o.run("--room", "other", "agents", "register", "x", "--state", "working")
	p := newPerson(t, o, 1280, 800)
	p.login()
	p.visit("/@shop/")
	p.do(chromedp.KeyEvent("k", chromedp.KeyModifiers(2)))
	p.until(`document.querySelector("dialog#palette[open]")`)
	p.until(`document.activeElement.id === "palette-q"`)
	p.shot("pal1")
	p.press("par")
	p.until(`document.querySelector("#palette-results").dataset.query === "par"`)
	p.shot("pal2")
	p.press("\r")
	p.until(`!document.querySelector("dialog#palette[open]")`)
	p.until(`location.pathname.includes("/t/")`)
	p.visit("/@shop/stuck")
	p.do(chromedp.KeyEvent("k", chromedp.KeyModifiers(2)))
	p.until(`document.activeElement.id === "palette-q"`)
	p.press("theme")
	p.press("\r")
	p.until(`document.documentElement.dataset.theme === "light"`)
	p.do(chromedp.KeyEvent("k", chromedp.KeyModifiers(2)))
	p.until(`document.activeElement.id === "palette-q"`)
	p.press("theme")
	p.press("\r")
	p.until(`document.documentElement.dataset.theme === "dark"`)
	o.run("--room", "shop", "--as", "builder-1", "send", "--to", "builder-2", "--type", "question", "--subject", "How far", "--body", "?")
	p.sees("#snags .snag", "How far")
	p.until(`document.querySelector('.places [data-count=stuck]')?.textContent === "1"`)
	p.shot("stuckdark")
	p.do(chromedp.SendKeys(`.mend input[name=to]`, "小克 builder", chromedp.NodeVisible))
	p.click(`.mend form[action$="/again"] button`)
	p.sees(".toast", "1 message sent on")
	time.Sleep(100 * time.Millisecond)
	p.shot("toast")
	p.click(`.rooms summary`)
	p.shot("rooms")
	p.press("\x1b")
	p.until(`!document.querySelector(".rooms[open]")`)
	p.visit("/login")
	p.shot("loggedin")
}
