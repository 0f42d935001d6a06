package webtest

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestManyAgents finds one agent among many: the page shows some of them, links to the others, and can be searched.
func TestManyAgents(t *testing.T) {
	r := newRoom(t)
	socket := filepath.Join(r.home, "pennypost.sock")
	token, err := os.ReadFile(filepath.Join(r.home, "token"))
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn,
		error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}}
	defer client.CloseIdleConnections()
	for i := range 130 {
		body := fmt.Sprintf(`{"name":"worker-%03d","roles":["role-%d"],"state":"idle","task":"piece %03d"}`, i, i%7, i)
		req, err := http.NewRequest(http.MethodPost, "http://pennypost/api/v1/rooms/"+r.name+"/agents",
			strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if resp.Body.Close(); resp.StatusCode != http.StatusOK {
			t.Fatalf("worker %d: %s", i, resp.Status)
		}
	}
	p := r.person(1280, 800)
	p.visit("/agents")
	p.sees("#roster .agent", "")
	if n := value[int](p, `document.querySelectorAll("#roster .agent").length`); n != 100 {
		t.Errorf("the page shows %d agents, want 100", n)
	}
	shot(p, "many-agents")
	p.click("#roster a.more")
	p.until(`location.search.includes("show=idle")`)
	p.write("#find-agents", "PIECE 129")
	p.click("form.find button")
	p.until(`document.querySelectorAll("#roster .agent").length === 1`)
	p.sees("#roster .agent", "worker-129")
	shot(p, "found-agent")
	p.visit("/stuck")
	shot(p, "stuck-empty")
}
