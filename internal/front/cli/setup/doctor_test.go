package setup

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"testing"

	"pennypost/internal/front/cli"

	"pennypost/internal/base/selfsigned"
)

// TestDoctorOverTLS: doctor accepts the post office at its address for other machines, whose certificate no one
// signs, and no other server there.
func TestDoctorOverTLS(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	for fingerprint, want := range map[string]cli.Verdict{
		selfsigned.Fingerprint(server.Certificate().Raw): cli.Well,
		selfsigned.Fingerprint([]byte("another")):        cli.Problem,
	} {
		var d doctor
		d.web(t.Context(), server.URL, fingerprint)
		if len(d.findings) != 1 || d.findings[0].State != want {
			t.Errorf("with the fingerprint %s: %+v, want %v", fingerprint, d.findings, want)
		}
	}
}
