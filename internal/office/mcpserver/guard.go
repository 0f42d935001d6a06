package mcpserver

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// A guard refuses requests that a browser was tricked into sending. MCP (every revision since 2025-03-26,
// basic/transports, Security) demands a 403 for a foreign Origin on every method; http.CrossOriginProtection lets
// GET pass, so it is only the second check.
type guard struct {
	hosts   map[string]bool // lower case, without port
	origins map[string]bool
	cross   *http.CrossOriginProtection
}

func newGuard(hosts, origins []string) (*guard, error) {
	g := &guard{
		hosts:   make(map[string]bool),
		origins: make(map[string]bool),
		cross:   http.NewCrossOriginProtection(),
	}
	for _, h := range hosts {
		g.hosts[strings.ToLower(h)] = true
	}
	for _, o := range origins {
		if err := g.cross.AddTrustedOrigin(o); err != nil {
			return nil, fmt.Errorf("allowed origin: %w", err)
		}
		g.origins[o] = true
	}
	return g, nil
}

func (g *guard) check(r *http.Request) *refusal {
	if !g.hostAllowed(r) {
		return forbid(fmt.Sprintf("host %q is not allowed", r.Host))
	}
	if !g.originAllowed(r) {
		return forbid(fmt.Sprintf("origin %q is not allowed", r.Header.Get("Origin")))
	}
	if err := g.cross.Check(r); err != nil {
		return forbid(err.Error())
	}
	return nil
}

func forbid(msg string) *refusal {
	return refuse(http.StatusForbidden, jsonrpc.CodeInvalidRequest, msg)
}

// hostAllowed reports whether the Host header names this server. DNS rebinding needs a name, so an IP address is
// accepted, except that on the loopback interface only loopback addresses make sense. A browser cannot reach a Unix
// socket, whose Host is arbitrary.
func (g *guard) hostAllowed(r *http.Request) bool {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	if !ok {
		return true
	}
	host := strings.ToLower(hostname(r.Host))
	if host == "localhost" || g.hosts[host] {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && (addr.IsLoopback() || !local.IP.IsLoopback())
}

func (g *guard) originAllowed(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" || g.origins[origin] {
		return true // not a browser, or a configured origin
	}
	u, err := url.Parse(origin)
	return err == nil && u.Host != "" && u.Host == r.Host
}

// hostname returns a Host header without its port and brackets.
func hostname(hostport string) string {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = hostport
	}
	return strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
}
