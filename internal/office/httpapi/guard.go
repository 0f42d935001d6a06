package httpapi

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"

	"pennypost/internal/mail"
	"pennypost/internal/wire"
)

// GuardOptions are the names under which the post office may be reached. The zero value means localhost and IP
// addresses.
type GuardOptions struct {
	Hosts   []string // names without port that the Host header may have, other than localhost
	Origins []string // "https://mail.example.org": pages that may send changes from another origin
}

// Guard wraps everything that a post office serves and refuses requests that a browser was tricked into sending: one
// whose Host header is a stranger's name that points at us (DNS rebinding), and a change requested by a page of
// another origin (request forgery). It fails on a malformed origin.
func Guard(next http.Handler, opts GuardOptions) (http.Handler, error) {
	hosts := make(map[string]bool, len(opts.Hosts))
	for _, h := range opts.Hosts {
		hosts[strings.ToLower(h)] = true
	}
	cross := http.NewCrossOriginProtection()
	for _, o := range opts.Origins {
		if err := cross.AddTrustedOrigin(o); err != nil {
			return nil, fmt.Errorf("allowed origin: %w", err)
		}
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !hostAllowed(r, hosts) {
			writeProblem(w, problem(mail.Errorf(mail.Denied,
				"unknown host name %s; use the IP address of the post office or localhost. To open its pages: "+
					"pennypost open", strings.ToValidUTF8(r.Host, "\uFFFD"))))
			return
		}
		if err := cross.Check(r); err != nil {
			writeProblem(w, problem(mail.Errorf(mail.Denied, "a page from another origin may not do this")))
			return
		}
		if strings.HasPrefix(r.URL.Path, wire.Base+"/") { // ahead of next, which may be a mux
			if err := checkPath(r); err != nil {
				writeProblem(w, problem(err))
				return
			}
		}
		next.ServeHTTP(w, r)
	}), nil
}

// hostAllowed reports whether the Host header names us. Only names can be rebound, so an IP address is believed. A
// request over a Unix socket is from no browser, and its Host means nothing.
func hostAllowed(r *http.Request, hosts map[string]bool) bool {
	if _, tcp := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr); !tcp {
		return true
	}
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		host = r.Host
	}
	host = strings.ToLower(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"))
	if host == "localhost" || hosts[host] {
		return true
	}
	_, err = netip.ParseAddr(host)
	return err == nil
}
