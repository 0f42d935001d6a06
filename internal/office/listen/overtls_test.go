package listen

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"pennypost/internal/base/selfsigned"
	"pennypost/internal/config"
	"pennypost/internal/mail"
)

// TestCertificateOfOnesOwn holds that the files that [tls] names are used, and read again when they are replaced.
func TestCertificateOfOnesOwn(t *testing.T) {
	dir := t.TempDir()
	first, second := filepath.Join(dir, "a.pem"), filepath.Join(dir, "b.pem")
	for _, path := range []string{first, second} {
		if _, err := selfsigned.Keep(path, []string{"127.0.0.1"}, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	cfg := config.Config{Home: config.Home(t.TempDir())}
	cfg.TLS = config.TLS{Listen: "127.0.0.1:0", Cert: first, Key: first}
	l, keep, err := listenTLS(&cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	before := keep.Fingerprint()
	if err := os.Rename(second, first); err != nil {
		t.Fatal(err)
	}
	if keep.Fingerprint() != before {
		t.Error("the files are read for each connection")
	}
	keep.at = time.Now().Add(-reloadCert)
	after := keep.Fingerprint()
	if after == before {
		t.Error("the files that were replaced are not read again")
	}
	if err := os.Remove(first); err != nil {
		t.Fatal(err)
	}
	keep.at = time.Now().Add(-reloadCert)
	if keep.Fingerprint() != after {
		t.Error("a certificate that cannot be loaded again is not kept")
	}
	if _, _, err := listenTLS(&cfg, slog.New(slog.DiscardHandler)); mail.CodeOf(err) != mail.Invalid {
		t.Errorf("a file that is not there: %v", err)
	}
	for _, address := range []string{":8766", "8766"} {
		cfg.TLS.Listen = address
		if _, err := Open(&cfg, slog.New(slog.DiscardHandler)); mail.CodeOf(err) != mail.Invalid {
			t.Errorf("%q: %v", address, err)
		}
	}
}
