package webtest

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/chromedp"
)

// TestP7_LiveWithSlowScripts tests that the page follows the room however late and in whatever order the scripts
// arrive.
func TestP7_LiveWithSlowScripts(t *testing.T) {
	r := newRoom(t)
	r.fill(reports(3)...)
	p := r.stranger(1280, 800)
	paused := make(chan fetch.RequestID, 64)
	if err := chromedp.Listen(p.ctx, func(ev any) {
		if e, ok := ev.(*fetch.EventRequestPaused); ok {
			paused <- e.RequestID
		}
	}); err != nil {
		t.Fatal(err)
	}
	call(p, fetch.Enable, fetch.EnableParams{Patterns: []*fetch.RequestPattern{{URLPattern: "*.js?*"}}})
	ctx, stop := context.WithCancel(p.ctx)
	defer stop()
	go func() { // one script every 200 ms
		for {
			select {
			case id := <-paused:
				time.Sleep(200 * time.Millisecond)
				_, _ = chromedp.Call(ctx, fetch.ContinueRequest, fetch.ContinueRequestParams{RequestID: id})
			case <-ctx.Done():
				return
			}
		}
	}()
	p.logIn()
	p.do(chromedp.Navigate(r.site + r.base() + "/"))
	soon := time.Now().Add(patience / 2)
	for !p.hasAsked("/events?after=") {
		if time.Now().After(soon) {
			t.Fatalf("the page does not follow the room: it asked for %s", strings.Join(p.asked, " "))
		}
		time.Sleep(25 * time.Millisecond)
	}
	r.send("builder-2", "user", "Something", "--subject", "At the top")
	p.sees("#list .row", "At the top")
}

// hasAsked reports whether the browser requested an address that contains part.
func (p *person) hasAsked(part string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, u := range p.asked {
		if strings.Contains(u, part) {
			return true
		}
	}
	return false
}
