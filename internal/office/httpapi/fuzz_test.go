package httpapi

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"testing"

	"pennypost/internal/mail"
	"pennypost/internal/wire"
)

// FuzzBodies holds that a posted body, on any route, does no more than get refused.
func FuzzBodies(f *testing.F) {
	paths := []string{"/marks", "/agents", "/agents/ann/rename", "/agents/ann/token", "/turns", "/bridges",
		"/workspaces", "/import", "/archive", "/verify"}
	for i, s := range []string{
		`{"ids":["m"],"mark":"read"}`, `{"name":"ann","roles":["x"],"task":null}`, `{"to":"bob"}`, ``,
		`{"moment":"turn-end","session":"s"}`, `{"dialect":"haak","dir":"/x"}`, `{"id":"x","dir":"/x"}`,
		`{"id":"m","type":"status","from":"agent:a","to":["all"],"body":"x"}` + "\n", `[]`, `null`,
	} {
		f.Add(uint8(i), []byte(s))
	}
	f.Fuzz(func(t *testing.T, which uint8, body []byte) {
		h, office := newTestAPI(t, Options{})
		if _, err := (&fakeService{office.room("lab"), "ann"}).Send(t.Context(),
			mail.Draft{To: mail.Recipients{"bob"}, Body: "hi"}); err != nil {
			t.Fatal(err)
		}
		path := paths[int(which)%len(paths)]
		kind := wire.JSON
		if path == "/import" {
			kind = wire.Lines
		}
		r := httptest.NewRequest(http.MethodPost, wire.Base+"/rooms/lab"+path, bytes.NewReader(body))
		r.Header.Set("Content-Type", kind)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code >= 500 && w.Code != http.StatusServiceUnavailable {
			t.Errorf("%s %q: %d %s", path, body, w.Code, w.Body)
		}
	})
}
