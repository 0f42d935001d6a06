package mcpserver

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestGuard(t *testing.T) {
	loopback := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080}
	lan := &net.TCPAddr{IP: net.IPv4(192, 168, 1, 5), Port: 8080}
	socket := &net.UnixAddr{Name: "/run/pennypost.sock", Net: "unix"}
	for _, test := range []struct {
		local   net.Addr
		host    string
		headers []string
		want    bool
	}{
		{loopback, "127.0.0.1:8080", nil, true},
		{loopback, "localhost:8080", nil, true},
		{loopback, "LOCALHOST", nil, true},
		{loopback, "[::1]:8080", nil, true},
		{loopback, "[::1]", nil, true},
		{loopback, "evil.example", nil, false},
		{loopback, "localhost.evil.example:8080", nil, false},
		{loopback, "192.168.1.5:8080", nil, false},
		{loopback, "", nil, false},
		{loopback, "mail.example.org", nil, true}, // configured
		{loopback, "Mail.Example.org:8080", nil, true},
		{lan, "192.168.1.5:8080", nil, true},
		{lan, "evil.example:8080", nil, false},
		{lan, "localhost:8080", nil, true}, // a published container port
		{socket, "anything", nil, true},

		{loopback, "localhost:8080", []string{"Origin", "http://localhost:8080"}, true},
		{loopback, "localhost:8080", []string{"Origin", "http://localhost:3000"}, false},
		{loopback, "localhost:8080", []string{"Origin", "https://evil.example"}, false},
		{loopback, "localhost:8080", []string{"Origin", "null"}, false},
		{loopback, "localhost:8080", []string{"Origin", "://"}, false},
		{loopback, "localhost:8080", []string{"Origin", "https://front.example.org"}, true}, // configured
		{loopback, "localhost:8080", []string{"Sec-Fetch-Site", "cross-site"}, false},
		{loopback, "localhost:8080", []string{"Sec-Fetch-Site", "same-origin"}, true},
		{socket, "anything", []string{"Origin", "https://evil.example"}, false},
	} {
		g, err := newGuard([]string{"mail.example.org"}, []string{"https://front.example.org"})
		if err != nil {
			t.Fatal(err)
		}
		for _, method := range []string{"POST", "GET", "DELETE"} {
			r := httptest.NewRequest(method, "/mcp", nil)
			r.Host = test.host
			for i := 0; i < len(test.headers); i += 2 {
				r.Header.Set(test.headers[i], test.headers[i+1])
			}
			if method == "GET" && test.headers != nil && test.headers[0] == "Sec-Fetch-Site" {
				continue // a navigation, which carries no token
			}
			r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, test.local))
			ref := g.check(r)
			if got := ref == nil; got != test.want {
				t.Errorf("%s from %v, Host %q, %q: allowed %v, want %v", method, test.local, test.host, test.headers,
					got, test.want)
			}
			if ref != nil && (ref.status != http.StatusForbidden || ref.body.Error.Message == "") {
				t.Errorf("refusal %+v, want 403 and a message", ref)
			}
		}
	}
}

// A request that announces too much is refused before it has sent any of its body.
func TestAnnouncedOversizedBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := openOffice(t, HTTPOptions{}, &http.Server{})
		conn, err := o.dial(t.Context(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprint(conn, "POST /mcp HTTP/1.1\r\nHost: office\r\nContent-Length: 104857600\r\n\r\n")
		conn.SetReadDeadline(time.Now().Add(time.Minute))
		r := bufio.NewReader(conn)
		if got := nextLine(t, r, "HTTP/"); !strings.HasPrefix(got, "HTTP/1.1 413 ") {
			t.Errorf("reply %q, want status 413", got)
		}
		if _, err := io.Copy(io.Discard, r); err != nil {
			t.Errorf("after the reply: %v, want the end of the connection", err)
		}
	})
}

func TestMalformedOrigin(t *testing.T) {
	_, err := NewHTTPHandler(nil, HTTPOptions{Origins: []string{"mail.example.org"}})
	if err == nil || !strings.Contains(err.Error(), "mail.example.org") {
		t.Errorf("NewHTTPHandler = %v, want an error that names the origin", err)
	}
}

// serveTCP serves the conformance server on a real loopback port and returns its URL.
func serveTCP(t *testing.T, opts HTTPOptions) (string, *http.Client) {
	t.Helper()
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, before) })
	s := conformanceServer()
	h, err := NewHTTPHandler(func(*http.Request) (*Server, error) { return s, nil }, opts)
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(h)
	t.Cleanup(web.Close)
	t.Cleanup(h.Close)
	return web.URL + "/mcp", web.Client()
}

// The guard is in the path of a real request, and admits configured names despite the SDK's own check.
func TestGuardServes(t *testing.T) {
	url, c := serveTCP(t, HTTPOptions{Hosts: []string{"mail.example.org"}})
	for host, want := range map[string]int{"mail.example.org": 200, "evil.example": 403, "": 200} {
		r := newRequest(t, "POST", url, initializeBody)
		r.Host = host
		if got := do(t, c, r); got.Status != want {
			t.Errorf("Host %q = %d %s, want %d", host, got.Status, got.Body, want)
		}
	}
	got := do(t, c, newRequest(t, "POST", url, initializeBody, "Origin", "https://evil.example"))
	if got.Status != http.StatusForbidden || got.Error.Message == "" {
		t.Errorf("foreign Origin = %d %s, want 403 and a message", got.Status, got.Body)
	}
}

// endless is a body that counts the bytes taken from it.
type endless struct {
	left  int64
	taken *atomic.Int64
}

func (e *endless) Read(p []byte) (int, error) {
	if e.left == 0 {
		return 0, io.EOF
	}
	n := int(min(int64(len(p)), e.left))
	for i := range p[:n] {
		p[i] = ' '
	}
	e.left -= int64(n)
	e.taken.Add(int64(n))
	return n, nil
}

// A body of 100 MB is refused before all of it was sent, whether or not it announces its length; one that just fits
// is served.
func TestOversizedBody(t *testing.T) {
	const huge = 100 << 20
	for _, length := range []int64{huge, -1} {
		url, c := serveTCP(t, HTTPOptions{})
		var taken atomic.Int64
		r := newRequest(t, "POST", url, "")
		r.Body = io.NopCloser(&endless{huge, &taken})
		r.ContentLength = length
		start := time.Now()
		got := do(t, c, r)
		if got.Status != http.StatusRequestEntityTooLarge ||
			!strings.Contains(got.Error.Message, "exceeds 1048576 bytes") {
			t.Errorf("100 MB (length %d) = %d %s, want 413 and the limit", length, got.Status, got.Body)
		}
		// Bytes in the sockets' buffers count as taken.
		if n := taken.Load(); n > huge/4 {
			t.Errorf("%d bytes were taken from the client in %v, want a fraction of %d", n, time.Since(start), huge)
		}
		fits := initializeBody + strings.Repeat(" ", defaultMaxBody-len(initializeBody))
		if got := do(t, c, newRequest(t, "POST", url, fits)); got.Status != http.StatusOK {
			t.Errorf("a body of the limit = %d %s, want 200", got.Status, got.Body)
		}
		if got := do(t, c, newRequest(t, "POST", url, fits+" ")); got.Status != http.StatusRequestEntityTooLarge {
			t.Errorf("a body past the limit = %d %s, want 413", got.Status, got.Body)
		}
	}
}
