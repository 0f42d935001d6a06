package daemon

import (
	"crypto/sha256"
	"crypto/tls"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"pennypost/internal/mail"
	"pennypost/internal/wire"
)

// TestOverTLS holds that another machine gets in by a link, that its cookie works nowhere else, and that the
// fingerprint shown for comparison is that of the certificate that it meets.
func TestOverTLS(t *testing.T) {
	cfg := testConfig(t)
	cfg.TLS.Listen = "127.0.0.1:0"
	cfg.TLS.URL = "https://box.example"
	r := start(t, Options{Config: cfg})
	st, err := r.office.Status(t.Context())
	if err != nil || st.Fingerprint == "" || st.Fingerprint != r.place.Fingerprint {
		t.Fatalf("status = %+v, %v; want the fingerprint %s", st, err, r.place.Fingerprint)
	}
	b := r.browser(t)
	var met string
	b.Transport.(*http.Transport).TLSClientConfig = &tls.Config{InsecureSkipVerify: true,
		VerifyConnection: func(c tls.ConnectionState) error {
			if err := c.PeerCertificates[0].VerifyHostname("box.example"); err != nil {
				t.Error(err)
			}
			sum := sha256.Sum256(c.PeerCertificates[0].Raw)
			met = strings.ReplaceAll(fmt.Sprintf("% X", sum[:]), " ", ":")
			return nil
		}}
	link, err := r.office.Login(t.Context(), wire.Login{Phone: true})
	if err != nil || !strings.HasPrefix(link, "https://box.example/login?key=") {
		t.Fatalf("link = %q, %v; want one at the address of [tls]", link, err)
	}
	_, path, _ := strings.Cut(link, "box.example")
	// The listener chose its port. The browser resolves every name to this machine.
	_, port, _ := strings.Cut(r.place.HTTPS, "127.0.0.1:")
	at := "https://box.example:" + port
	for _, elsewhere := range []string{r.place.HTTP, "http://" + r.host(t) + ":" + portOf(r.place.HTTP)} {
		if resp, _ := look(t, b, http.MethodGet, elsewhere+path, "", ""); resp.StatusCode != http.StatusUnauthorized {
			t.Errorf("the link at %s: %d", elsewhere, resp.StatusCode)
		}
	}
	_, key, _ := strings.Cut(path, "key=")
	resp, err := b.PostForm(at+"/login", url.Values{"key": {key}})
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	cookies := resp.Cookies()
	if resp.StatusCode != http.StatusSeeOther || len(cookies) == 0 || !cookies[0].Secure ||
		!strings.HasPrefix(cookies[0].Name, "__Host-") {
		t.Fatalf("logging in: %d, %v; want a cookie of this host over TLS", resp.StatusCode, cookies)
	}
	if met != st.Fingerprint {
		t.Errorf("the browser meets the certificate %s, and is to compare %s", met, st.Fingerprint)
	}
	if resp, _ := look(t, b, http.MethodGet, at+"/", "", ""); resp.StatusCode != http.StatusOK {
		t.Errorf("the pages over TLS: %d", resp.StatusCode)
	}
	for _, name := range []string{cookies[0].Name, sessionCookieName} {
		for _, host := range []string{r.place.HTTP, "http://" + r.host(t) + ":" + portOf(r.place.HTTP)} {
			req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, host+"/", nil)
			req.AddCookie(&http.Cookie{Name: name, Value: cookies[0].Value})
			resp, err := r.browser(t).Do(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != http.StatusUnauthorized {
				t.Errorf("the cookie as %s at %s: %d", name, host, resp.StatusCode)
			}
		}
	}
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, at+"/", nil)
	req.Host = "evil.example"
	if resp, err := b.Do(req); err != nil || resp.StatusCode != http.StatusForbidden {
		t.Errorf("under a stranger's name: %v, %v", resp, err)
	}
	if resp, _ := look(t, b, http.MethodGet, at+"/api/v1/rooms", "", ""); resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("the API with the cookie: %d", resp.StatusCode)
	}
}

func portOf(base string) string { return base[strings.LastIndexByte(base, ':')+1:] }

// host returns the pages' own name.
func (r *running) host(t *testing.T) string {
	t.Helper()
	u, err := url.Parse(r.link(t, wire.Login{}))
	if err != nil {
		t.Fatal(err)
	}
	return u.Hostname()
}

// TestNoPhone holds that a request for a phone's link, where no phone can get in, is answered with the settings to
// write.
func TestNoPhone(t *testing.T) {
	r := start(t, Options{Config: testConfig(t)})
	_, err := r.office.Login(t.Context(), wire.Login{Phone: true})
	if mail.CodeOf(err) != mail.Conflict || !strings.Contains(err.Error(), "[tls]\nlisten = ") ||
		!strings.Contains(err.Error(), "config.toml") {
		t.Errorf("Login = %v; want the lines for config.toml", err)
	}
}
