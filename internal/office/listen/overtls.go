package listen

import (
	"crypto/tls"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"pennypost/internal/base/selfsigned"
	"pennypost/internal/config"
	"pennypost/internal/mail"
)

// listenTLS listens for other machines, if cfg says so.
func listenTLS(cfg *config.Config, log *slog.Logger) (net.Listener, *Certificate, error) {
	if cfg.TLS.Listen == "" {
		return nil, nil, nil
	}
	host, _, err := net.SplitHostPort(cfg.TLS.Listen)
	if err != nil {
		return nil, nil, err
	}
	keep := &Certificate{load: func() (*tls.Certificate, error) { return loadCertificate(cfg, host) }, log: log,
		at: time.Now()}
	if keep.cert, err = keep.load(); err != nil {
		return nil, nil, err
	}
	l, err := net.Listen("tcp", cfg.TLS.Listen)
	if err != nil {
		return nil, nil, mail.Errorf(mail.Unavailable, "cannot listen on %s with TLS: %w", cfg.TLS.Listen, err)
	}
	return l, keep, nil
}

// loadCertificate returns the certificate that cfg names, or the post office's own for the host at which it listens.
func loadCertificate(cfg *config.Config, host string) (*tls.Certificate, error) {
	if cfg.TLS.Cert == "" {
		cert, err := selfsigned.Keep(cfg.Home.TLS(), namesOf(cfg, host), time.Now())
		return &cert, err
	}
	cert, err := cfg.TLS.Load()
	if err != nil {
		return nil, mail.Errorf(mail.Invalid, "the certificate of [tls] cannot be used: %w", err)
	}
	return &cert, nil
}

// namesOf returns the names and addresses by which other machines may know a listener at host.
func namesOf(cfg *config.Config, host string) []string {
	names := HostNames(cfg)
	ip, err := netip.ParseAddr(host)
	switch {
	case err != nil:
		names = append(names, host)
	case ip.IsUnspecified():
		for _, ip := range addresses() {
			names = append(names, ip.String())
		}
	default:
		names = append(names, ip.String())
	}
	return append(names, "localhost", "127.0.0.1", "::1")
}

// HostNames returns the names of this machine that the Host header of a request over TLS may have: no outsider
// decides where they lead, as they could with a domain of their own.
func HostNames(cfg *config.Config) (names []string) {
	if u, err := url.Parse(cfg.TLS.URL); err == nil && u.Hostname() != "" {
		names = append(names, u.Hostname())
	}
	if name, err := os.Hostname(); err == nil && name != "" {
		name = strings.ToLower(name)
		names = append(names, name)
		if !strings.Contains(name, ".") {
			names = append(names, name+".local")
		}
	}
	return names
}

// addresses returns this machine's addresses that others may reach, the likeliest first: on a private network, IPv4.
func addresses() (ips []netip.Addr) {
	all, _ := net.InterfaceAddrs()
	for _, a := range all {
		n, ok := a.(*net.IPNet)
		if !ok {
			continue
		}
		ip, ok := netip.AddrFromSlice(n.IP)
		if ip = ip.Unmap(); ok && ip.IsGlobalUnicast() {
			ips = append(ips, ip)
		}
	}
	rank := func(ip netip.Addr) int {
		switch {
		case ip.Is4() && ip.IsPrivate():
			return 0
		case ip.Is4():
			return 1
		}
		return 2
	}
	slices.SortStableFunc(ips, func(a, b netip.Addr) int { return rank(a) - rank(b) })
	return ips
}

// reloadCert is how often the running post office checks the certificate: its own is made again before it expires,
// and others are replaced by their keepers.
const reloadCert = time.Hour

// Certificate is the certificate for other machines.
type Certificate struct {
	load func() (*tls.Certificate, error)
	log  *slog.Logger

	mu   sync.Mutex
	cert *tls.Certificate
	at   time.Time // when it was loaded
}

// Current returns the certificate for new connections.
func (k *Certificate) Current() *tls.Certificate {
	k.mu.Lock()
	defer k.mu.Unlock()
	if time.Since(k.at) < reloadCert {
		return k.cert
	}
	k.at = time.Now()
	if cert, err := k.load(); err == nil {
		k.cert = cert
	} else {
		k.log.Error("certificate not reloaded; keeping the old one", "err", err)
	}
	return k.cert
}

// Fingerprint returns the fingerprint of the certificate, in the form that a person compares.
func (k *Certificate) Fingerprint() string { return selfsigned.Fingerprint(k.Current().Certificate[0]) }

// Config returns the TLS configuration of connections. They speak no HTTP/2: its streams would share the deadlines
// of one connection.
func (k *Certificate) Config() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return k.Current(), nil }}
}

// ForPhones returns the address at which other machines reach the listeners.
func ForPhones(cfg *config.Config, at Listeners) string {
	l := at.TLS
	if l == nil {
		l = at.TCP
	}
	if cfg.TLS.URL == "" && (l == nil || l.Addr().(*net.TCPAddr).IP.IsLoopback()) {
		return ""
	}
	return ForOthers(cfg, at)
}

// ForOthers returns the address for other machines. If no other machine can reach it directly, it may be the end of
// a tunnel.
func ForOthers(cfg *config.Config, at Listeners) string {
	if cfg.TLS.URL != "" {
		return strings.TrimSuffix(cfg.TLS.URL, "/")
	}
	scheme, l := "https", at.TLS
	if l == nil {
		scheme, l = "http", at.TCP
	}
	here := l.Addr().(*net.TCPAddr).AddrPort()
	ip := here.Addr().Unmap()
	if ip.IsUnspecified() {
		all := addresses()
		if len(all) == 0 {
			return ""
		}
		ip = all[0]
	}
	return scheme + "://" + netip.AddrPortFrom(ip, here.Port()).String()
}
