package page

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestAllRooms(t *testing.T) {
	for _, c := range []struct {
		address, cookie string
		want            bool
		agents          string
	}{
		{"/agents", "", false, "/agents"},
		{"/agents", "all", true, "/agents"},
		{"/agents", "some", false, "/agents"},
		{"/agents?rooms=all", "", true, "/agents?rooms=all"},
		{"/agents?rooms=one", "all", false, "/agents?rooms=one"},
		{"/agents?rooms=two", "all", true, "/agents"},
	} {
		r := httptest.NewRequest(http.MethodGet, c.address, nil)
		if c.cookie != "" {
			r.AddCookie(&http.Cookie{Name: ScopeCookie, Value: c.cookie})
		}
		v := NewView(new(Site), httptest.NewRecorder(), r)
		if got := v.AllRooms(); got != c.want {
			t.Errorf("%s with the cookie %q: AllRooms() = %v, want %v", c.address, c.cookie, got, c.want)
		}
		if got := v.Scoped("/agents"); got != c.agents {
			t.Errorf("%s with the cookie %q: Scoped(/agents) = %s, want %s", c.address, c.cookie, got, c.agents)
		}
	}
}

func TestScopeOf(t *testing.T) {
	for _, c := range []struct {
		cookie string
		all    bool
		want   string
	}{{"", true, ScopeAll}, {"", false, ""}, {ScopeAll, true, ""}, {ScopeAll, false, ScopeOne}} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.AddCookie(&http.Cookie{Name: ScopeCookie, Value: c.cookie})
		if got := NewView(new(Site), httptest.NewRecorder(), r).ScopeOf(c.all); got != c.want {
			t.Errorf("with the cookie %q: ScopeOf(%v) = %q, want %q", c.cookie, c.all, got, c.want)
		}
	}
}
