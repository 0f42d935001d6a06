package daemon

import (
	"context"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"pennypost/internal/config"
	"pennypost/internal/mail"
	"pennypost/internal/office/caller"
	"pennypost/internal/office/gate"
	"pennypost/internal/wire"
)

// below returns the context of a call that claims to be from an agent, made by a process below these programs.
func below(t testing.TB, name mail.Name, programs ...string) context.Context {
	t.Helper()
	return asked(t, name, gate.FarPeer(append([]string{"99.1@b"}, programs...), nil, false))
}

// asked returns the context of a call that claims to be from name, made by a process.
func asked(t testing.TB, name mail.Name, p *gate.Peer) (ctx context.Context) {
	t.Helper()
	g := gate.New(gate.Options{Session: func([]string) mail.Name { return "" }})
	r := httptest.NewRequestWithContext(gate.WithPeer(t.Context(), p), http.MethodGet, wire.Base+"/rooms/a", nil)
	wire.SetAgent(r.Header, name)
	g.Admit(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if _, err := g.AuthenticateAll(r); err != nil {
			t.Error(err)
		}
		ctx = r.Context()
	})).ServeHTTP(httptest.NewRecorder(), r)
	return ctx
}

// testGate returns the gate in front of an office.
func testGate(t testing.TB, operator string, cfg *config.Config, o *caller.Rooms) *gate.Gate {
	t.Helper()
	scripts, err := gate.OpenScripts(filepath.Join(t.TempDir(), "scripts.json"))
	if err != nil {
		t.Fatal(err)
	}
	return newGate(operator, cfg, o, scripts, &guests{})
}
