package daemon

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
	"pennypost/internal/office/web"
	"pennypost/internal/wire"
)

// browser is a client that keeps cookies, resolves every name to this machine, and follows no redirects.
func (r *running) browser(t *testing.T) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		_, port, _ := net.SplitHostPort(address)
		return new(net.Dialer).DialContext(ctx, network, net.JoinHostPort("127.0.0.1", port))
	}
	b := &http.Client{
		Jar: jar, Transport: &http.Transport{DialContext: dial},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	t.Cleanup(b.CloseIdleConnections)
	return b
}

// link requests a link and follows it to the pages.
func (r *running) link(t *testing.T, ask wire.Login) string {
	t.Helper()
	link, err := r.office.Login(t.Context(), ask)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(link, "pp-") {
		t.Errorf("a command line would tell the name of the pages: %s", link)
	}
	resp, _ := look(t, r.browser(t), http.MethodGet, link, "", "")
	if to := resp.Header.Get("Location"); to != "" {
		return to
	}
	return link
}

// TestPagesFromElsewhere: a browser that has logged in is the user, so only our own pages may speak in its name.
func TestPagesFromElsewhere(t *testing.T) {
	r := start(t, Options{Config: testConfig(t)})
	r.register(t, "shop", "builder-1")
	browser := r.browser(t)
	ask := func(method, path, host string, header map[string]string) int {
		t.Helper()
		form := url.Values{"to": {"builder-1"}, "body": {"Hello"}}
		if _, key, ok := strings.Cut(path, "login?key="); ok {
			form.Set("key", key)
		}
		req, err := http.NewRequestWithContext(t.Context(), method, path, strings.NewReader(form.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		req.Host = host
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		for name, value := range header {
			req.Header.Set(name, value)
		}
		resp, err := browser.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp.StatusCode
	}
	link := r.link(t, wire.Login{Room: "shop"})
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		if got := ask(method, link, "evil.example", nil); got != http.StatusForbidden { // and the link is still valid
			t.Errorf("logging in under a stranger's name: %d", got)
		}
	}
	elsewhere := map[string]string{"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}
	if got := ask(http.MethodPost, link, "", elsewhere); got != http.StatusForbidden {
		t.Errorf("logging in from a page elsewhere: %d", got)
	}
	if got := ask(http.MethodPost, link, "", nil); got != http.StatusSeeOther {
		t.Fatalf("logging in: %d", got)
	}
	origin, _, _ := strings.Cut(link, "/login")
	for _, c := range []struct {
		name, method, path, host string
		header                   map[string]string
		want                     int
	}{
		{"our own page", "POST", "/send", "", map[string]string{"Origin": origin, "Sec-Fetch-Site": "same-origin"},
			http.StatusSeeOther},
		{"another origin", "POST", "/send", "", map[string]string{"Origin": "https://evil.example",
			"Sec-Fetch-Site": "cross-site"}, http.StatusForbidden},
		{"a dialog answered from another origin", "POST", "/dialog", "", map[string]string{
			"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}, http.StatusForbidden},
		{"away from another origin", "POST", "/away", "", map[string]string{"Origin": "https://evil.example",
			"Sec-Fetch-Site": "cross-site"}, http.StatusForbidden},
		{"another origin, old browser", "POST", "/send", "", map[string]string{"Origin": "https://evil.example"},
			http.StatusForbidden},
		{"another port", "POST", "/send", "", map[string]string{"Origin": "http://127.0.0.1:1",
			"Sec-Fetch-Site": "cross-site"}, http.StatusForbidden},
		{"our name on another port", "POST", "/send", "",
			map[string]string{"Origin": strings.Replace(origin, ":", ":1", 1), "Sec-Fetch-Site": "same-site"},
			http.StatusForbidden},
		{"no origin", "POST", "/send", "", map[string]string{"Origin": "null", "Sec-Fetch-Site": "cross-site"},
			http.StatusForbidden},
		{"a rebound name", "POST", "/send", "evil.example", map[string]string{"Origin": "http://evil.example"},
			http.StatusForbidden},
		{"reading under a rebound name", "GET", "/", "evil.example", nil, http.StatusForbidden},
		{"logging out from elsewhere", "POST", "/logout", "", map[string]string{"Sec-Fetch-Site": "cross-site"},
			http.StatusForbidden},
		{"another method", "PUT", "/send", "", map[string]string{"Sec-Fetch-Site": "cross-site"},
			http.StatusForbidden},
	} {
		path := origin + c.path
		if c.method == "POST" && c.path != "/logout" {
			path = origin + "/@shop" + c.path
		}
		if got := ask(c.method, path, c.host, c.header); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
	sent, err := r.room(t, "shop", mail.User).History(t.Context(), mail.HistoryQuery{From: "user"})
	if err != nil || len(sent.Messages) != 1 {
		t.Errorf("%v: %d messages were sent", err, len(sent.Messages))
	}
}

// look requests a page and returns the answer, with its text.
func look(t *testing.T, b *http.Client, method, address, host, token string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Host = host
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := b.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(text)
}

// TestPagesName: the pages have a name that no one can guess, and keep it; only the pages are there; and no other
// address gives it away.
func TestPagesName(t *testing.T) {
	cfg := testConfig(t)
	r := start(t, Options{Config: cfg})
	r.register(t, "shop", "builder-1")
	link, err := url.Parse(r.link(t, wire.Login{}))
	if err != nil {
		t.Fatal(err)
	}
	name := link.Hostname()
	if !isHost(name) {
		t.Errorf("the pages are at %s", name)
	}
	info, err := os.Stat(cfg.Home.Host())
	if err != nil || info.Mode().Perm() != 0o600 && runtime.GOOS != "windows" {
		t.Errorf("the file with the name is %v (%v)", info.Mode(), err)
	}
	b := r.browser(t)
	own := "http://" + link.Host
	if resp, _ := look(t, b, http.MethodGet, own+"/@shop/", "", ""); resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("who has not logged in: %d", resp.StatusCode)
	}
	for _, path := range []string{"/api/v1/status", "/api/v1/rooms/shop/inbox", "/mcp", "/metrics",
		"/api/inbox/history"} {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			if resp, text := look(t, b, method, own+path, "", r.token); resp.StatusCode != http.StatusUnauthorized ||
				!strings.Contains(text, "pennypost open") {
				t.Errorf("%s %s is there under the name of the pages: %d", method, path, resp.StatusCode)
			}
		}
	}
	if got, err := b.PostForm(link.String(), link.Query()); err != nil || got.StatusCode != http.StatusSeeOther {
		t.Fatalf("logging in: %v, %v", got, err)
	} else {
		got.Body.Close()
	}
	key := link.RequestURI() // it is used up
	_, port, _ := strings.Cut(link.Host, ":")
	for _, host := range []string{"127.0.0.1", "localhost", "[::1]"} {
		for _, path := range []string{"/", "/@shop/", "/sessions", key} {
			resp, text := look(t, b, http.MethodGet, r.place.HTTP+path, host+":"+port, "")
			said := text + resp.Header.Get("Location") + strings.Join(resp.Header.Values("Set-Cookie"), "")
			if resp.StatusCode != http.StatusUnauthorized || strings.Contains(said, "pp-") ||
				strings.Contains(said, sessionCookieName) {
				t.Errorf("%s at %s: %d %v\n%s", path, host, resp.StatusCode, resp.Header, text)
			}
		}
	}
	if resp, text := look(t, b, http.MethodGet, r.place.HTTP+"/", "pp-aaaaaaaaaaaaaaaaaaaaaaaaaa.localhost",
		""); resp.StatusCode != http.StatusForbidden || strings.Contains(text, name) {
		t.Errorf("another such name: %d %s", resp.StatusCode, text)
	}
	r.stop(t)

	again := start(t, Options{Config: cfg})
	if link, _ := url.Parse(again.link(t, wire.Login{})); link.Hostname() != name {
		t.Errorf("after a restart the pages are at %s, and not at %s", link.Hostname(), name)
	}
	again.stop(t)
	if err := os.WriteFile(cfg.Home.Host(), []byte("localhost\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Run(t.Context(), Options{Config: cfg}); mail.CodeOf(err) != mail.Invalid ||
		!strings.Contains(err.Error(), "Remove the file") {
		t.Errorf("a file that holds another name: %v", err)
	}
}

// sessionCookieName is the name of package web's cookie.
const sessionCookieName = "pennypost_session"

// TestSessionsOfPages: logged-in browsers are listed and logged out from a terminal, even over a restart.
func TestSessionsOfPages(t *testing.T) {
	cfg := testConfig(t)
	r := start(t, Options{Config: cfg})
	r.register(t, "shop", "builder-1")
	b := r.browser(t)
	login := func(ask wire.Login) string {
		t.Helper()
		link, err := url.Parse(r.link(t, ask))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := b.PostForm("http://"+link.Host+"/login", url.Values{"key": {link.Query().Get("key")}})
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusSeeOther ||
			!strings.Contains(resp.Header.Get("Set-Cookie"), sessionCookieName) {
			t.Fatalf("logging in at %s: %d %v", link, resp.StatusCode, resp.Header)
		}
		return "http://" + link.Host
	}
	in := func(address string) bool {
		t.Helper()
		resp, _ := look(t, b, http.MethodGet, address+"/@shop/", "", "")
		return resp.StatusCode == http.StatusOK
	}
	own := login(wire.Login{})
	if in(r.place.HTTP) {
		t.Error("who is logged in at the pages' own name is so at the plain address")
	}
	plain := login(wire.Login{Plain: true})
	if plain != r.place.HTTP || !in(own) || !in(plain) {
		t.Errorf("plainly, one logs in at %s", plain)
	}
	list, err := r.office.Sessions(t.Context())
	if err != nil || len(list) != 2 || list[0].Plain == list[1].Plain {
		t.Fatalf("the sessions are %+v, %v", list, err)
	}
	for _, one := range list {
		if one.Plain {
			if err := r.office.EndSession(t.Context(), one.ID); err != nil {
				t.Error(err)
			}
			if err := r.office.EndSession(t.Context(), one.ID); mail.CodeOf(err) != mail.NotFound {
				t.Errorf("ending a session twice: %v", err)
			}
		}
	}
	if !in(own) || in(plain) {
		t.Error("the wrong session was ended")
	}
	at := strings.TrimPrefix(r.place.HTTP, "http://")
	r.stop(t)
	cfg.Listen = at
	r = start(t, Options{Config: cfg})
	if !in(own) {
		t.Error("a restart ended the session")
	}
	if err := r.office.EndSession(t.Context(), ""); err != nil || in(own) {
		t.Errorf("after all were logged out, one is not: %v", err)
	}
	own = login(wire.Login{})
	r.stop(t)
	if err := os.Remove(cfg.Home.Token()); err != nil {
		t.Fatal(err)
	}
	r = start(t, Options{Config: cfg})
	if list, err := r.office.Sessions(t.Context()); in(own) || len(list) != 0 {
		t.Errorf("with another operator's token: %+v, %v", list, err)
	}
}

// TestLink: where a browser is sent depends on where the post office listens.
func TestLink(t *testing.T) {
	for _, c := range []struct{ base, named, plain string }{
		{"http://127.0.0.1:8765", "127.0.0.1:8765", "127.0.0.1:8765"},
		{"http://0.0.0.0:8765", "localhost:8765", "localhost:8765"},
		{"http://[::]:8765", "localhost:8765", "localhost:8765"},
		{"http://[::1]:8765", "[::1]:8765", "[::1]:8765"},
		{"http://127.0.0.2:8765", "", "127.0.0.2:8765"},
		{"http://192.0.2.7:8765", "", "192.0.2.7:8765"},
	} {
		p := pages{site: web.New(web.Options{Host: "pp-x.localhost"}), base: c.base, host: "pp-x.localhost"}
		for plain, want := range map[bool]string{false: c.named, true: c.plain} {
			got, err := p.Link(wire.Login{Plain: plain})
			if want == "" {
				if mail.CodeOf(err) != mail.Conflict || !strings.Contains(err.Error(), "open --plain") {
					t.Errorf("%s: %s, %v", c.base, got, err)
				}
			} else if !strings.HasPrefix(got, "http://"+want+"/login?key=") || err != nil {
				t.Errorf("%s, plain %v: %s, %v; want it at %s", c.base, plain, got, err, want)
			}
		}
	}
}

// TestBothLoopbacks: browsers look for the pages at ::1 first, so the post office listens there too, or nowhere:
// never another process.
func TestBothLoopbacks(t *testing.T) {
	other, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		t.Skip("this machine has no ::1")
	}
	defer other.Close()
	_, port, _ := net.SplitHostPort(other.Addr().String())
	cfg := testConfig(t)
	cfg.Listen = "127.0.0.1:" + port
	if err := Run(t.Context(), Options{Config: cfg}); mail.CodeOf(err) != mail.Unavailable ||
		!strings.Contains(err.Error(), "browsers would reach another program") {
		t.Errorf("with somebody else at ::1: %v", err)
	}
	for listen, twin := range map[string]string{"127.0.0.1:0": "[::1]:", "[::1]:0": "127.0.0.1:"} {
		cfg := testConfig(t)
		cfg.Listen = listen
		r := start(t, Options{Config: cfg})
		u, err := url.Parse(r.place.HTTP)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.Get("http://" + twin + u.Port() + "/healthz")
		if err != nil {
			t.Errorf("listening at %s: %v", listen, err)
			continue
		}
		resp.Body.Close()
	}
}

// seen is the line that says that an agent lives, and nothing else. Every act of an agent writes it.
var seen = regexp.MustCompile(`(?m)^\{"seq":\d+,"prev":"[0-9a-f]*","at":"[^"]*","agent":\{"name":"ann"\}[^{}]*\}\n`)

// TestGetChangesNothing requests every GET route of the API and of the dialects, as the user and as an agent, and
// finds every file of the room unchanged.
func TestGetChangesNothing(t *testing.T) {
	cfg := testConfig(t)
	r := start(t, Options{Config: cfg})
	user := r.room(t, "shop", mail.User)
	r.register(t, "shop", "ann")
	if _, err := user.AddWorkspace(t.Context(), mail.Workspace{ID: "thesis", Dir: t.TempDir()}); err != nil {
		t.Fatal(err)
	}
	var id mail.ID
	for _, to := range []string{"user", "ann", "role:reviewer", "all"} {
		sent, err := r.room(t, "shop", "bob").Send(t.Context(), mail.Draft{To: mail.Recipients{to}, Type: "question",
			Body: "Which?"})
		if err != nil {
			t.Fatal(err)
		}
		id = sent.ID
	}
	agent, err := user.Token(t.Context(), "ann")
	if err != nil {
		t.Fatal(err)
	}
	journal := func() string {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(cfg.Home.Rooms(), "shop", "mailbox.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		return seen.ReplaceAllString(string(text), "")
	}
	_, text := r.get(t, wire.Base+"/openapi.json", r.token)
	var doc struct {
		Paths map[string]map[string]any `json:"paths"`
	}
	if err := jsonx.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	var paths []string
	for path, ops := range doc.Paths {
		if ops["get"] != nil {
			paths = append(paths, wire.Base+path)
		}
	}
	for _, d := range Dialects() {
		for _, route := range d.Routes {
			if path, ok := strings.CutPrefix(route.Pattern, "GET "); ok {
				paths = append(paths, path+"?room=shop")
			}
		}
		for _, e := range d.Endpoints {
			paths = append(paths, e.Path+"?room=shop")
		}
	}
	paths = append(paths, "/mcp?room=shop", "/healthz", "/readyz", "/metrics", "/", "/@shop/")
	fill := strings.NewReplacer("{room}", "shop", "{id}", string(id), "{name}", "ann", "{agent}", "ann", "{bridge}",
		"haak", "{session}", "x", "/workspaces/"+string(id), "/workspaces/thesis")
	before := journal()
	for _, path := range paths {
		path = fill.Replace(fill.Replace(path))
		for _, token := range []string{r.token, agent} {
			for _, method := range []string{http.MethodGet, http.MethodHead} {
				// streams do not end by themselves
				ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
				req, err := http.NewRequestWithContext(ctx, method, r.place.HTTP+path, nil)
				if err != nil {
					t.Fatal(err)
				}
				req.Header.Set("Authorization", "Bearer "+token)
				req.Header.Set("Accept", "text/event-stream, application/json")
				if resp, err := http.DefaultClient.Do(req); err == nil {
					_, _ = io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
				}
				cancel()
			}
			if now := journal(); now != before {
				t.Fatalf("GET %s wrote in the journal:\n%s", path, strings.TrimPrefix(now, before))
			}
		}
	}
	if len(paths) < 20 {
		t.Errorf("there are %d routes to look at", len(paths))
	}
}
