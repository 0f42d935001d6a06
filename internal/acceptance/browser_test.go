package acceptance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

var errNoChromium = errors.New("there is no chromium; ./test installs it")

// endBrowser ends the browser if a test has started it.
var endBrowser = func() {}

// browser starts the one browser of the tests.
var browser = sync.OnceValues(func() (context.Context, error) {
	path := ""
	for _, name := range []string{"google-chrome", "chromium-browser", "chromium"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
		}
	}
	if path == "" {
		return nil, errNoChromium
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.Flag("lang", "en-GB"))
	if os.Getuid() == 0 {
		options = append(options, chromedp.NoSandbox) // otherwise chromium refuses to run as root
	}
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, cancel := chromedp.NewContext(allocator)
	endBrowser = func() {
		cancel()
		stop()
	}
	return ctx, chromedp.Do(ctx)
})

// tab is a browser tab in which the person has logged in and sees the inbox of a room.
type tab struct {
	t   *testing.T
	ctx context.Context
}

func (o *office) tab(t *testing.T) *tab {
	t.Helper()
	parent, err := browser()
	if errors.Is(err, errNoChromium) && (os.Getenv("CI") == "" || runtime.GOOS != "linux") {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := chromedp.NewContext(parent, chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
	p := &tab{t, ctx}
	if err := chromedp.Do(ctx); err != nil { // opens the tab, until ctx ends
		t.Fatal(err)
	}
	p.do(chromedp.EmulateViewport(1280, 800), chromedp.Navigate(strings.TrimSpace(o.must(t, "open", "--print"))))
	p.until(`document.body.dataset.place === "inbox" && document.readyState === "complete"`)
	// Each item has a room of its own, and other items have rooms in the same post office.
	p.until(`(document.cookie = "pp_scope=one; path=/; samesite=strict", true)`)
	p.visit(o, "/")
	return p
}

// visit goes to a path of the room.
func (p *tab) visit(o *office, path string) {
	p.t.Helper()
	p.until(fmt.Sprintf(`(window.leaves = true, location.href = "/@%s%s") || true`, o.room(), path))
	p.until(fmt.Sprintf(`!window.leaves && document.body.dataset.room === %q && document.readyState === "complete"`,
		o.room()))
}

func (p *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		p.t.Fatal(err)
	}
}

// until waits for a condition in the page.
func (p *tab) until(js string) {
	p.t.Helper()
	eventually(p.t, "in the page, "+js, func() bool {
		ctx, cancel := context.WithTimeout(p.ctx, patience)
		defer cancel()
		ok, err := chromedp.Run(ctx, chromedp.Evaluate[bool]("!!("+js+")"))
		return err == nil && ok
	})
}

// sees waits until an element with that text is visible.
func (p *tab) sees(selector, text string) {
	p.t.Helper()
	p.until(shows(selector, text))
}

// misses waits until no element with that text is visible.
func (p *tab) misses(selector, text string) {
	p.t.Helper()
	p.until("!" + shows(selector, text))
}

func shows(selector, text string) string {
	quote := func(s string) string {
		b, _ := json.Marshal(s) // every string has a JSON form
		return string(b)
	}
	return fmt.Sprintf(
		`[...document.querySelectorAll(%s)].some((e) => e.checkVisibility() && e.textContent.includes(%s))`,
		quote(selector), quote(text))
}

func (p *tab) click(selector string) {
	p.t.Helper()
	p.do(chromedp.Click(selector, chromedp.NodeVisible))
}

// press presses a key that types nothing.
func (p *tab) press(key string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	for _, r := range key {
		for _, event := range kb.Encode(r) {
			if _, err := chromedp.Call(ctx, input.DispatchKeyEvent, *event); err != nil {
				p.t.Fatal(err)
			}
		}
	}
	time.Sleep(20 * time.Millisecond)
}

// sendKeys types a text into a field.
func sendKeys(selector, text string) chromedp.Action[chromedp.Void] {
	return chromedp.SendKeys(selector, text, chromedp.NodeVisible)
}
