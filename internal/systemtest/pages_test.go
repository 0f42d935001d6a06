package systemtest

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// page is a browser without script that has logged in.
type page struct {
	t      *testing.T
	base   string
	client http.Client
}

func (o *office) page(t *testing.T) *page {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	link, err := url.Parse(strings.TrimSpace(o.must(t, "open", "--print")))
	if err != nil {
		t.Fatal(err)
	}
	// as browsers do
	transport := &http.Transport{DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, net.JoinHostPort("127.0.0.1", link.Port()))
	}}
	t.Cleanup(transport.CloseIdleConnections)
	p := &page{t: t, client: http.Client{Jar: jar, Transport: transport}}
	offer, err := p.client.Get(link.String())
	p.answer(offer, err)
	p.base = "http://" + offer.Request.URL.Host // to which the link led
	p.post("/login", link.Query())
	return p
}

func (p *page) answer(r *http.Response, err error) string {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != http.StatusOK {
		p.t.Fatalf("%s: %s (%v)\n%s", r.Request.URL, r.Status, err, text)
	}
	return string(text)
}

func (p *page) get(path string) string {
	p.t.Helper()
	return p.answer(p.client.Get(p.base + path))
}

// post posts a form, as the page that holds it would, and follows to where it leads.
func (p *page) post(path string, form url.Values) string {
	p.t.Helper()
	return p.answer(p.client.PostForm(p.base+path, form))
}

// TestPagesOfHaak holds what HAAK's console does, on its files and our pages.
func TestPagesOfHaak(t *testing.T) {
	o := newOffice(t)
	o.mustServe(t, loopback)
	dir := filepath.Join(o.root, "project")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	o.must(t, "bridge", "add", "haak", dir)
	o.must(t, "agents", "register", "builder", "--tag", "project:inscription", "--tag", "concern:governance")
	o.must(t, "--as", "builder", "send", "--to", "project:inscription", "--subject", "Stones", "--body",
		"Two are read.")
	o.must(t, "send", "--to", "builder", "--subject", "And the third?", "--body", "Which is it?")
	p := o.page(t)

	t.Run("HK-25", func(t *testing.T) {
		agent := p.get("/@default/agents/builder")
		for _, want := range []string{"Two are read.", "And the third?"} {
			if !strings.Contains(agent, want) {
				t.Errorf("the agent's page lacks %q", want)
			}
		}
		if inbox := p.get("/@default/history?state=queued"); !strings.Contains(inbox, "And the third?") {
			t.Error("what is pending is not listed")
		}
	})
	t.Run("HK-26", func(t *testing.T) {
		p.post("/@default/send", url.Values{"to": {"builder"}, "body": {"Never mind the third."}})
		if !strings.Contains(o.must(t, "--as", "builder", "inbox"), "Never mind the third.") {
			t.Error("the person's word did not arrive")
		}
	})
	t.Run("HK-30", func(t *testing.T) {
		channels := p.get("/@default/channels")
		for _, want := range []string{"inscription", "governance"} {
			if !strings.Contains(channels, want) {
				t.Errorf("there is no channel %s", want)
			}
		}
		p.post("/@default/send", url.Values{"to": {"project:inscription"}, "body": {"The third is a forgery."}})
		if channel := p.get("/@default/channels/project:inscription"); !strings.Contains(channel, "Two are read.") ||
			!strings.Contains(channel, "The third is a forgery.") {
			t.Error("the channel does not show what was said in it")
		}
		file, err := os.ReadFile(filepath.Join(dir, "data", "agent-mailbox.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(string(file)), "\n")
		var last struct{ Recipient, From, Body string }
		if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil ||
			last.Recipient != "project:inscription" {
			t.Errorf("the last line of HAAK's file is %s (%v)", lines[len(lines)-1], err)
		}
		// HK-02: whoever sent it, and from wherever
		form := regexp.MustCompile(`^\{"id":"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}",` +
			`.*"ttl_hours":null,"read_by":\[\]`)
		for _, l := range lines {
			if !form.MatchString(l) {
				t.Errorf("a line has not the form that HAAK requires: %s", l)
			}
		}
	})
}
