package webtest

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// patience is the longest wait for a page, on a busy machine.
const patience = 20 * time.Second

// person uses a tab in a window with separate cookies.
type person struct {
	t    *testing.T
	ctx  context.Context
	room *room
	site string // the only origin the browser may request, except by links

	mu     sync.Mutex
	faults []string // errors of the browser, and forbidden requests
	asked  []string // the requested addresses
	urls   map[network.RequestID]string
	loaded map[string]int64 // bytes, by address
}

// stranger opens a tab of a size without a login.
func (r *room) stranger(width, height int64) *person {
	r.t.Helper()
	return r.tabIn(browser, width, height, chromedp.WithNewBrowserContext())
}

// tabIn opens a tab in a browser.
func (r *room) tabIn(of context.Context, width, height int64, how ...chromedp.ContextOption) *person {
	r.t.Helper()
	ctx, cancel := chromedp.NewContext(of, how...)
	r.t.Cleanup(cancel)
	p := &person{t: r.t, ctx: ctx, room: r, site: r.site + "/", urls: map[network.RequestID]string{},
		loaded: map[string]int64{}}
	if err := chromedp.Listen(ctx, p.listen); err != nil { // opens the tab, which closes when ctx ends
		r.t.Fatal(err)
	}
	// give every open window the focus
	call(p, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true})
	p.size(width, height)
	r.t.Cleanup(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, f := range p.faults {
			r.t.Errorf("the browser says: %s", f)
		}
	})
	return p
}

// roams lets the person visit other addresses.
func (p *person) roams() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.site = "http://"
}

// tab opens another tab in the same browser.
func (p *person) tab() *person {
	p.t.Helper()
	return p.room.tabIn(p.ctx, 1440, 900)
}

// person opens a tab of a size, logs in, and opens the room's inbox.
func (r *room) person(width, height int64) *person {
	r.t.Helper()
	p := r.stranger(width, height)
	p.logIn()
	p.visit("/")
	p.until(`document.readyState === "complete"`)
	return p
}

// logIn logs the tab in for one room, without following the link: that would open the first question of all rooms,
// perhaps another test's, and mark it read.
func (p *person) logIn() {
	p.t.Helper()
	_, key, _ := strings.Cut(p.room.run("open", "--print"), "key=")
	p.do(chromedp.Navigate(p.room.site + "/login"))
	value[bool](p, `fetch("/login", { method: "POST", redirect: "manual", body: new URLSearchParams({ key: `+
		quote(strings.TrimSpace(key))+` }) }).then(() => true)`)
	call(p, network.SetCookie, network.SetCookieParams{Name: "pp_scope", Value: "one", URL: p.room.site,
		SameSite: network.CookieSameSiteStrict})
	p.forgive("401")
}

// cookies are the browser's cookies by name.
func (p *person) cookies() map[string]*network.Cookie {
	kept := make(map[string]*network.Cookie)
	for _, c := range call(p, network.GetCookies, network.GetCookiesParams{}).Cookies {
		kept[c.Name] = c
	}
	return kept
}

// listen records faults of the browser: script errors, violations of the content security policy, dialogs, and
// requests to other sites.
func (p *person) listen(ev any) {
	fault := ""
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := ev.(type) {
	case *runtime.EventExceptionThrown:
		fault = e.ExceptionDetails.Text
		if x := e.ExceptionDetails.Exception; x != nil {
			fault += " " + x.Description
		}
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError {
			for _, a := range e.Args {
				fault += fmt.Sprint(string(a.Value), a.Description, " ")
			}
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError {
			fault = e.Entry.Text + " " + e.Entry.URL
		}
	case *page.EventJavascriptDialogOpening:
		fault = "a dialog: " + e.Message
	case *network.EventRequestWillBeSent:
		p.asked = append(p.asked, e.Request.URL)
		p.urls[e.RequestID] = e.Request.URL
		if !strings.HasPrefix(e.Request.URL, p.site) && !strings.HasPrefix(e.Request.URL, p.room.URL+"/login?") &&
			!strings.HasPrefix(e.Request.URL, "data:") {
			fault = "a request to elsewhere: " + e.Request.URL
		}
	case *network.EventLoadingFinished:
		p.loaded[p.urls[e.RequestID]] += int64(e.EncodedDataLength)
	}
	// The frame of a document is in the page's process in a browser without site isolation, and may not run scripts.
	if strings.HasPrefix(fault, "Blocked script execution in '"+p.site) && strings.Contains(fault, "/doc?") {
		fault = ""
	}
	if fault != "" {
		p.faults = append(p.faults, fault)
	}
}

// forgive removes the faults that contain text: the test caused them.
func (p *person) forgive(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	kept := p.faults[:0]
	for _, f := range p.faults {
		if !strings.Contains(f, text) {
			kept = append(kept, f)
		}
	}
	p.faults = kept
}

func (p *person) do(steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		p.t.Fatalf("%v\n%s", err, p.page())
	}
}

// page describes the tab, for messages of failed tests.
func (p *person) page() string {
	ctx, cancel := context.WithTimeout(p.ctx, 2*time.Second)
	defer cancel()
	at, _ := chromedp.Run(ctx, chromedp.Location())
	text, _ := chromedp.Run(ctx,
		chromedp.Evaluate[string](
			`"the focus is on " + document.activeElement?.outerHTML.slice(0, 120) + "\n" + document.body.innerText.replace(/\n\s*\n+/g, "\n")`))
	return at + "\n" + text
}

// size sets the size of the window.
func (p *person) size(width, height int64) { p.do(chromedp.EmulateViewport(width, height)) }

// visit opens a path of the room.
func (p *person) visit(path string) {
	p.t.Helper()
	p.insist(chromedp.Navigate(p.room.site+"/@"+p.room.name+path),
		"net::ERR_ABORTED") // the page was being redirected to the login
}

// call makes a call of the browser's protocol.
func call[P, R any](p *person, cmd cdp.Command[P, R], params P) R {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	res, err := chromedp.Call(ctx, cmd, params)
	if err != nil {
		p.t.Fatalf("%s: %v", cmd.Method, err)
	}
	return res
}

// value evaluates an expression, which may be a promise.
func value[T any](p *person, js string) T {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](js, chromedp.EvalAwaitPromise))
	if err != nil {
		p.t.Fatalf("%.300s: %v", js, err)
	}
	return v
}

// is fails the test unless a condition holds in the page now.
func (p *person) is(js string) {
	p.t.Helper()
	if !value[bool](p, "!!("+js+")") {
		p.t.Fatalf("it is not so that %s\n%s", js, p.page())
	}
}

// until waits for a condition in the page.
func (p *person) until(js string) {
	p.t.Helper()
	end := time.Now().Add(patience)
	for {
		ctx, cancel := context.WithTimeout(p.ctx, patience)
		ok, err := chromedp.Run(ctx, chromedp.Evaluate[bool]("!!("+js+")"))
		cancel()
		if ok {
			return
		}
		if time.Now().After(end) || p.ctx.Err() != nil {
			p.t.Fatalf("waited in vain for %s (%v)\n%s", js, err, p.page())
		}
		time.Sleep(25 * time.Millisecond)
	}
}

// shows is the condition that an element with a text is visible.
func shows(selector, text string) string {
	return fmt.Sprintf(
		`[...document.querySelectorAll(%s)].some((e) => e.checkVisibility() && (e.innerText ?? e.textContent).includes(%s))`, quote(selector), quote(text))
}

// sees waits until an element with a text is visible.
func (p *person) sees(selector, text string) {
	p.t.Helper()
	p.until(shows(selector, text))
}

// misses waits until no element with a text is visible.
func (p *person) misses(selector, text string) {
	p.t.Helper()
	p.until("!" + shows(selector, text))
}

// focuses waits until an element has the focus.
func (p *person) focuses(selector string) {
	p.t.Helper()
	p.until(fmt.Sprintf(`document.activeElement.matches(%s)`, quote(selector)))
}

func (p *person) click(selector string) {
	p.t.Helper()
	p.insist(chromedp.Click(selector, chromedp.NodeVisible),
		"Could not find node") // it was replaced after it was found
}

// insist repeats a step while it fails with an error that contains again.
func (p *person) insist(step chromedp.Action[chromedp.Void], again string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	for {
		err := chromedp.Do(ctx, step)
		if err == nil {
			return
		}
		if !strings.Contains(err.Error(), again) {
			p.t.Fatalf("%v\n%s", err, p.page())
		}
	}
}

// away moves the mouse away from all elements.
func (p *person) away() {
	p.t.Helper()
	call(p, input.DispatchMouseEvent, input.DispatchMouseEventParams{Type: input.DispatchMouseEventTypeMouseMoved,
		X: 1, Y: 1})
}

// hover moves the mouse over an element.
func (p *person) hover(selector string) {
	p.t.Helper()
	at := value[struct{ X, Y float64 }](p, fmt.Sprintf(
		`(({x, y, width, height}) => ({X: x + width / 2, Y: y + height / 2}))(document.querySelector(%s).getBoundingClientRect())`,
		quote(selector)))
	call(p, input.DispatchMouseEvent, input.DispatchMouseEventParams{Type: input.DispatchMouseEventTypeMouseMoved,
		X: at.X, Y: at.Y})
}

// press types keys into the focused element as a person does. Unlike chromedp's own, a key that a script handles
// types nothing.
func (p *person) press(keys string) {
	p.t.Helper()
	for _, r := range keys {
		events := kb.Encode(r) // down, perhaps a character, up
		down, up := *events[0], *events[len(events)-1]
		if len(events) == 3 {
			down.Type, down.Text, down.UnmodifiedText = kb.KeyDown, events[1].Text, events[1].UnmodifiedText
		}
		call(p, input.DispatchKeyEvent, down)
		call(p, input.DispatchKeyEvent, up)
	}
}

// ctrl presses a key with Control.
func (p *person) ctrl(key string) {
	p.t.Helper()
	p.do(chromedp.KeyEvent(key, chromedp.KeyModifiers(chromedp.ModifierCtrl)))
}

// write types text into a field.
func (p *person) write(selector, text string) {
	p.t.Helper()
	p.do(chromedp.SendKeys(selector, text, chromedp.NodeVisible))
}

// media sets a media feature: prefers-color-scheme, prefers-reduced-motion.
func (p *person) media(name, value string) {
	p.t.Helper()
	call(p, emulation.SetEmulatedMedia,
		emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: name, Value: value}}})
}

// quote is text as a JavaScript string.
func quote(text string) string {
	b, _ := json.Marshal(text) // a string always encodes
	return string(b)
}

func focus(selector string) chromedp.Action[chromedp.Void] { return chromedp.Focus(selector) }

// setValue sets a field and fires its change event, as choosing from a list does.
func setValue(selector, text string) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := chromedp.Evaluate[bool](`{ const f = document.querySelector(`+quote(selector)+`); f.value = `+
			quote(text)+`; f.dispatchEvent(new Event("change", { bubbles: true })); true }`)(ctx, t)
		return err
	})
}

func reload() chromedp.Action[chromedp.Void] { return chromedp.Reload() }

func navigate(to string) chromedp.Action[chromedp.Void] { return chromedp.Navigate(to) }
