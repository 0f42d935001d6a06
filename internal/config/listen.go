package config

import (
	"crypto/tls"
	"net"
	"net/netip"

	"pennypost/internal/mail"
)

// NoTCP is the listen address of a post office with only its Unix socket.
const NoTCP = "none"

// checkListen returns what is wrong with the syntax of the addresses.
func (c *Config) checkListen() error {
	if c.Listen != "" && c.Listen != NoTCP {
		if _, err := hostOf(c.Listen); err != nil {
			return err
		}
	}
	if c.TLS.Listen == "" {
		return nil
	}
	host, port, err := net.SplitHostPort(c.TLS.Listen)
	if err != nil || host == "" || !isPort(port) {
		return mail.Errorf(mail.Invalid,
			"%q is not a TLS address: write HOST:PORT, such as 192.168.1.5:8766, or 0.0.0.0:8766 for every "+
				"network", c.TLS.Listen)
	}
	return nil
}

// CheckServe returns why a post office cannot listen as configured, after its flags were applied. It refuses an
// address that other machines can reach, which its author may not have intended.
func (c *Config) CheckServe() error {
	if err := c.checkListen(); err != nil {
		return err
	}
	if t := &c.TLS; t.Listen != "" && t.Cert != "" {
		if _, err := t.Load(); err != nil {
			return bad("tls", "has an unusable certificate: %w", err)
		}
	}
	if c.Listen == "" || c.Listen == NoTCP {
		return nil
	}
	host, err := hostOf(c.Listen)
	if err != nil || host == "localhost" || c.Insecure {
		return err
	}
	if ip, err := netip.ParseAddr(host); err == nil && ip.IsLoopback() {
		return nil
	}
	return mail.Errorf(mail.Denied,
		"%q can be reached from other machines, and tokens would cross the network in the clear. Use TLS, with "+
			"--tls %s instead of --listen ([tls] in config.toml), or, on a network you trust, add --insecure "+
			"(insecure = true)", c.Listen, c.Listen)
}

// Load returns the certificate that t names.
func (t *TLS) Load() (tls.Certificate, error) { return tls.LoadX509KeyPair(t.Cert, t.Key) }

// hostOf returns the host of a listen address. A port alone would mean every network.
func hostOf(address string) (string, error) {
	host, port, err := net.SplitHostPort(address)
	switch {
	case err != nil && isPort(address):
		return "", mail.Errorf(mail.Invalid, "%q is only a port: write the host too, as in %q",
			address, net.JoinHostPort("127.0.0.1", address))
	case err != nil || !isPort(port):
		return "", mail.Errorf(mail.Invalid,
			"%q is not an address to listen on: write HOST:PORT, such as 127.0.0.1:8765, or none", address)
	case host == "":
		return "", mail.Errorf(mail.Invalid, "%q would listen on every network: write the host too, such as %q",
			address, "127.0.0.1"+address)
	}
	return host, nil
}

// isPort reports whether port is a valid port: a number, or one of the few names that systems know.
func isPort(port string) bool {
	_, err := net.LookupPort("tcp", port)
	return err == nil && port != ""
}
