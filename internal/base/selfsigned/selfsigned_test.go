package selfsigned

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/tls"
	"crypto/x509"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func keep(t *testing.T, path string, now time.Time, names ...string) tls.Certificate {
	t.Helper()
	cert, err := Keep(path, names, now)
	if err != nil {
		t.Fatal(err)
	}
	return cert
}

// TestKeep checks that a certificate stays while it is valid, that its key outlives it, and that the file is private.
func TestKeep(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tls.pem")
	now := time.Now()
	first := keep(t, path, now, "box", "192.168.1.5")
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v, %v; want 0600", info.Mode(), err)
	}
	if again := keep(t, path, now.Add(24*time.Hour), "box"); Fingerprint(again.Certificate[0]) != Fingerprint(
		first.Certificate[0]) {
		t.Error("another certificate on the next day")
	}
	for what, other := range map[string]tls.Certificate{
		"another address": keep(t, path, now, "box", "192.168.1.6"),
		"a late day":      keep(t, path, now.Add(lasts-renewal+time.Hour), "box"),
	} {
		if bytes.Equal(other.Certificate[0], first.Certificate[0]) {
			t.Errorf("%s: the same certificate", what)
		}
		if !other.PrivateKey.(*ecdsa.PrivateKey).Equal(first.PrivateKey) {
			t.Errorf("%s: another key", what)
		}
	}
	if err := os.WriteFile(path, []byte("junk"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Keep(path, []string{"box"}, now); err == nil || !strings.Contains(err.Error(), "Remove the file") {
		t.Errorf("Keep of junk = %v", err)
	}
}

// TestCertificate checks the requirements of browsers for a certificate that a person trusts.
func TestCertificate(t *testing.T) {
	now := time.Now()
	cert := keep(t, filepath.Join(t.TempDir(), "tls.pem"), now, "box.local", "192.168.1.5", "fe80::1")
	leaf := cert.Leaf
	roots := x509.NewCertPool()
	roots.AddCert(leaf)
	for _, name := range []string{"box.local", "192.168.1.5", "fe80::1"} {
		if _, err := leaf.Verify(x509.VerifyOptions{DNSName: name, Roots: roots, CurrentTime: now}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if days := leaf.NotAfter.Sub(leaf.NotBefore).Hours() / 24; days > 825 || days < 700 {
		t.Errorf("it lasts %.0f days, want about two years and no more than the 825 that Apple takes", days)
	}
	if got := Fingerprint(cert.Certificate[0]); len(got) != 95 || strings.Count(got, ":") != 31 {
		t.Errorf("fingerprint %q", got)
	}
}
