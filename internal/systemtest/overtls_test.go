package systemtest

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestServeTLS types the example of serve --help, with the address after a space, and calls with the certificate.
func TestServeTLS(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	d := o.mustServe(t, loopback, "--tls", "127.0.0.1:0")
	if d.HTTPS == "" {
		t.Fatal("nothing listens with TLS")
	}
	certificate, err := os.ReadFile(filepath.Join(o.home, "tls.pem"))
	if err != nil {
		t.Fatal(err)
	}
	token, err := os.ReadFile(filepath.Join(o.home, "token"))
	if err != nil {
		t.Fatal(err)
	}
	known := x509.NewCertPool()
	known.AppendCertsFromPEM(certificate)
	caller := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: known}}}
	defer caller.CloseIdleConnections()
	for bearer, want := range map[string]int{
		strings.TrimSpace(string(token)): http.StatusOK, "": http.StatusUnauthorized,
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, d.HTTPS+"/api/v1/status", nil)
		if err != nil {
			t.Fatal(err)
		}
		if bearer != "" {
			r.Header.Set("Authorization", "Bearer "+bearer)
		}
		resp, err := caller.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("status over TLS: %s, want %d", resp.Status, want)
		}
	}
}
