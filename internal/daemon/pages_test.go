package daemon

import (
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"

	"pennypost/internal/mail"
)

// TestPagesFromElsewhere: whoever has logged in is the user, so nothing but our own pages may speak in that browser's name.
func TestPagesFromElsewhere(t *testing.T) {
	r := start(t, Options{Config: testConfig(t)})
	r.register(t, "shop", "builder-1")
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	defer browser.CloseIdleConnections()
	ask := func(method, path, host string, header map[string]string) int {
		t.Helper()
		body := strings.NewReader(url.Values{"to": {"builder-1"}, "body": {"Hello"}}.Encode())
		req, err := http.NewRequestWithContext(t.Context(), method, path, body)
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
	link, err := r.office.Login(t.Context(), "shop")
	if err != nil {
		t.Fatal(err)
	}
	if got := ask(http.MethodGet, link, "evil.example", nil); got != http.StatusForbidden { // and the link is still good
		t.Errorf("logging in under a stranger's name: %d", got)
	}
	if got := ask(http.MethodGet, link, "", nil); got != http.StatusOK {
		t.Fatalf("logging in: %d", got)
	}
	origin := r.place.HTTP
	for _, c := range []struct {
		name, method, path, host string
		header                   map[string]string
		want                     int
	}{
		{"our own page", "POST", "/send", "", map[string]string{"Origin": origin, "Sec-Fetch-Site": "same-origin"}, http.StatusSeeOther},
		{"another origin", "POST", "/send", "", map[string]string{"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}, http.StatusForbidden},
		{"another origin, old browser", "POST", "/send", "", map[string]string{"Origin": "https://evil.example"}, http.StatusForbidden},
		{"another port", "POST", "/send", "", map[string]string{"Origin": "http://127.0.0.1:1", "Sec-Fetch-Site": "same-site"}, http.StatusForbidden},
		{"no origin", "POST", "/send", "", map[string]string{"Origin": "null", "Sec-Fetch-Site": "cross-site"}, http.StatusForbidden},
		{"a rebound name", "POST", "/send", "evil.example", map[string]string{"Origin": "http://evil.example"}, http.StatusForbidden},
		{"reading under a rebound name", "GET", "/", "evil.example", nil, http.StatusForbidden},
		{"logging out from elsewhere", "POST", "/logout", "", map[string]string{"Sec-Fetch-Site": "cross-site"}, http.StatusForbidden},
		{"another method", "PUT", "/send", "", map[string]string{"Sec-Fetch-Site": "cross-site"}, http.StatusForbidden},
	} {
		path := origin + c.path
		if c.path == "/send" {
			path = origin + "/@shop/send"
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
