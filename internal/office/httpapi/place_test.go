package httpapi

import (
	"context"
	"net/http"
	"testing"

	"pennypost/internal/wire"
)

// TestPlaceOfSession: a session's place, for which clients of this machine are asked only for callers of this
// machine.
func TestPlaceOfSession(t *testing.T) {
	for _, local := range []bool{true, false} {
		var asked *wire.Place
		h, _ := newTestAPI(t, Options{
			Local: func(*http.Request) bool { return local },
			Place: func(_ context.Context, p *wire.Place) (wire.Placed, error) {
				asked = p
				return wire.Placed{Room: "lab", Agent: "ann"}, nil
			},
		})
		want{method: "POST", path: "/place", status: 200, has: `"agent":"ann"`,
			body: `{"client":"codex","own":"lab","free":"codex-x","session":"s1","session_home":"/x"}`}.check(t, h, nil)
		if asked == nil || (asked.Session == "s1" && asked.SessionHome == "/x") != local {
			t.Errorf("of a caller here, %t: asked is %+v", local, asked)
		}
	}
}
