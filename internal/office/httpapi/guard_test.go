package httpapi

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestGuard(t *testing.T) {
	h, err := Guard(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNoContent)
	}),
		GuardOptions{Hosts: []string{"Mail.example.org"}, Origins: []string{"https://ui.example.org"}})
	if err != nil {
		t.Fatal(err)
	}
	tcp, unix := net.Addr(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8765}), net.Addr(&net.UnixAddr{Name: "s"})
	for _, c := range []struct {
		name   string
		local  net.Addr
		host   string
		header http.Header
		want   int
	}{
		{"loopback", tcp, "127.0.0.1:8765", nil, 204},
		{"loopback IPv6", tcp, "[::1]:8765", nil, 204},
		{"localhost", tcp, "LocalHost:8765", nil, 204},
		{"a name of ours", tcp, "mail.example.org", nil, 204},
		{"rebound", tcp, "evil.example:8765", nil, 403},
		{"another name of this machine", tcp, "pp-other.localhost:8765", nil, 403},
		{"looks like ours", tcp, "localhost.evil.example", nil, 403},
		{"no host", tcp, "", nil, 403},
		{"any host on a socket", unix, "whatever", nil, 204},
		{"same origin", tcp, "localhost:8765", http.Header{"Origin": {"http://localhost:8765"},
			"Sec-Fetch-Site": {"same-origin"}}, 204},
		{"cross origin", tcp, "localhost:8765", http.Header{"Origin": {"https://evil.example"},
			"Sec-Fetch-Site": {"cross-site"}}, 403},
		{"cross origin, old browser", tcp, "localhost:8765", http.Header{"Origin": {"https://evil.example"}}, 403},
		{"allowed origin", tcp, "localhost:8765", http.Header{"Origin": {"https://ui.example.org"},
			"Sec-Fetch-Site": {"cross-site"}}, 204},
	} {
		r := httptest.NewRequest(http.MethodPost, "/", nil)
		r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, c.local))
		r.Host = c.host
		for k, v := range c.header {
			r.Header[k] = v
		}
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, r)
		if rec.Code != c.want {
			t.Errorf("%s: %d, want %d", c.name, rec.Code, c.want)
		}
		if c.want == 403 {
			body, _ := io.ReadAll(rec.Result().Body)
			checkProblem(t, rec.Result(), body, "")
		}
	}
	for path, want := range map[string]int{"/api/v1/rooms/../messages": 400, "/api/v1//rooms": 400,
		"/api/v1/rooms/%2E%2E/inbox": 204, "/a//b": 204} {
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, httptest.NewRequest(http.MethodPost, path, nil))
		if rec.Code != want {
			t.Errorf("%s: %d, want %d", path, rec.Code, want)
		}
	}
	if _, err := Guard(h, GuardOptions{Origins: []string{"nonsense"}}); err == nil {
		t.Error("a malformed origin is accepted")
	}
}
