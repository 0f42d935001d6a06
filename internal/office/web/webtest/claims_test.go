package webtest

import (
	"context"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
)

// waitFor makes an agent wait for a claim of another.
func (r *room) waitFor(agent, what string) {
	r.t.Helper()
	token := r.run("agents", "token", agent)
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn,
		error) {
		return new(net.Dialer).DialContext(ctx, "unix", filepath.Join(r.home, "pennypost.sock"))
	}}}
	defer client.CloseIdleConnections()
	req, err := http.NewRequest(http.MethodPost, "http://pennypost/api/v1/rooms/"+r.name+"/claims",
		strings.NewReader(`{"take":[{"name":"`+what+`"}],"wait":true}`))
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := client.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	if text, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusOK {
		r.t.Fatalf("%s waits for %s: %s", agent, what, text)
	}
}

// TestClaims tests that the person sees holders and waits on Agents, Stuck and Flow, and frees a claim with one
// click, or one key on its row; other changes appear live.
func TestClaims(t *testing.T) {
	r := newRoom(t)
	as := func(agent string, args ...string) {
		r.run(append([]string{"--as", agent, "claims", "take"}, args...)...)
	}
	r.run("agents", "register", "ann", "--state", "working", "--task", "The lexer")
	r.run("agents", "register", "bob", "--state", "idle")
	p := r.person(1440, 900)
	p.visit("/agents")
	p.sees("#agent-ann", "ann")
	as("ann", "port:8080", "build", "deploy:staging", "docs", "release", "--why", "the new lexer")
	p.sees("#agent-ann .holds", "and 2 more, since")
	r.waitFor("bob", "build")
	p.sees("#agent-bob .awaits", "waits for build, which ann has held")
	p.everywhere("agents with claims")
	shot(p, "claims-agents")

	p.visit("/flow?view=held")
	p.sees(".holder .late", "bob waits for it")
	p.everywhere("the flow of claims")
	shot(p, "claims-flow")

	p.visit("/stuck")
	p.sees(".kind-claim .held", "waits for build, which ann has held")
	p.everywhere("stuck at a claim")
	shot(p, "claims-stuck")
	p.press("j")
	p.focuses(".held")
	p.press("f")
	p.sees("#toasts", "build is free; ann has been told")
	p.misses("#stuck-groups", "which ann has held")

	p.visit("/agents/ann")
	p.sees("#side .claims", "Free all 4")
	p.everywhere("an agent with claims")
	p.size(390, 844)
	p.visit("/agents/ann#side")
	shot(p, "claims-agent-phone")
	p.size(1440, 900)
	p.visit("/agents/ann")
	shot(p, "claims-agent")
	p.click("#side .held:nth-child(2) button")
	p.sees("#side .claims", "Free all 3")
	p.click(`[popovertarget=free-all]`)
	p.sees("#free-all", "This cannot be undone.")
	p.click("#free-all button")
	p.until(`!document.querySelector("#side .claims")`)
}
