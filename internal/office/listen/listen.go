package listen

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"syscall"

	"pennypost/internal/config"
	"pennypost/internal/mail"
	"pennypost/internal/office/gate"
)

// Listeners are the listeners of a post office.
type Listeners struct {
	socket net.Listener
	TCP    net.Listener // nil: none
	twin   net.Listener // on the same port, at the other address that browsers try; nil: none
	TLS    net.Listener // for other machines; nil: none
	tokens net.Listener // a Unix socket for other users, where only tokens count; nil: none
	Cert   *Certificate // of TLS
}

// All returns the listeners that are not nil.
func (l Listeners) All() []net.Listener {
	var all []net.Listener
	for _, one := range []net.Listener{l.socket, l.TCP, l.twin, l.TLS, l.tokens} {
		if one != nil {
			all = append(all, one)
		}
	}
	return all
}

// Close closes them all.
func (l Listeners) Close() {
	for _, one := range l.All() {
		one.Close()
	}
}

// Open opens the Unix socket and the other configured listeners.
func Open(cfg *config.Config, log *slog.Logger) (Listeners, error) {
	var at Listeners
	err := cfg.CheckServe()
	if err == nil {
		at.TCP, at.twin, err = listenTCP(cfg, log)
	}
	if err == nil {
		at.TLS, at.Cert, err = listenTLS(cfg, log)
	}
	if err == nil {
		at.tokens, err = listenTokens(cfg)
	}
	if err == nil {
		at.socket, err = listenUnix(cfg.Home, cfg.User.Terminals, log)
	}
	if err != nil {
		at.Close()
		return Listeners{}, err
	}
	return at, nil
}

// listenUnix listens on the socket of home. The caller holds the home's lock, so an existing socket is a leftover.
func listenUnix(home config.Home, terminals []string, log *slog.Logger) (net.Listener, error) {
	if err := home.CheckSocket(true); err != nil {
		return nil, err
	}
	// Until the socket has its mode, the directory, which only the owner can enter, keeps others out.
	l, err := listenSocket(home.Socket(), 0o600)
	if err != nil {
		return nil, err
	}
	return gate.Listener{UnixListener: l, Log: log, Terminals: terminals}, nil
}

// listenSocket listens on a Unix socket with a mode. It replaces an existing socket, which is a leftover.
func listenSocket(path string, mode fs.FileMode) (*net.UnixListener, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("remove the old socket: %w", err)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("listen on the socket: %w", err)
	}
	if err := os.Chmod(path, mode); err != nil && runtime.GOOS != "windows" {
		l.Close()
		return nil, fmt.Errorf("set who may use the socket: %w", err)
	}
	return l, nil
}

// listenTokens listens for processes of other users, which only a token lets in: a container or a separate user that
// can reach the socket cannot read the data directory.
func listenTokens(cfg *config.Config) (net.Listener, error) {
	path := cfg.TokenSocket
	if path == "" {
		return nil, nil
	}
	if st, err := os.Lstat(path); err == nil && st.Mode()&fs.ModeSocket == 0 {
		return nil, mail.Errorf(
			mail.Invalid,
			"token_socket: %s exists and is not a socket. Nothing was removed",
			path,
		)
	}
	l, err := listenSocket(path, 0o666)
	if err != nil {
		return nil, mail.Errorf(mail.Unavailable, "token_socket: cannot listen on %s: %w", path, err)
	}
	return l, nil
}

// listenTCP listens at the configured address. At the default address it tolerates that another process is there.
func listenTCP(cfg *config.Config, log *slog.Logger) (tcp, twin net.Listener, err error) {
	address := cfg.Listen
	if address == config.NoTCP {
		return nil, nil, nil
	}
	if address == "" {
		tcp, twin, err = listenBoth(config.DefaultListen)
		if errors.Is(err, syscall.EADDRINUSE) {
			log.Warn("default port in use, serving on the Unix socket only; to use another port: pennypost serve "+
				"--listen 127.0.0.1:PORT", "address", config.DefaultListen)
			return nil, nil, nil
		}
		return tcp, twin, err
	}
	if tcp, twin, err = listenBoth(address); err != nil {
		return nil, nil, mail.Errorf(mail.Unavailable, "cannot listen on %s: %w", address, err)
	}
	return tcp, twin, nil
}

// portTries is how many of the ports that the system chooses are tried to find one that is free at both addresses.
const portTries = 10

// listenBoth listens at the address and, if that is one at which browsers look for a name below localhost, at the
// other of the two: they try the IPv6 one first. A process at the address that we left free would be taken for us,
// and would get the secrets that log the person in.
func listenBoth(address string) (tcp, twin net.Listener, err error) {
	for range portTries {
		if tcp, err = net.Listen("tcp", address); err != nil {
			return nil, nil, err
		}
		at := tcp.Addr().(*net.TCPAddr).AddrPort()
		other := twinOf(at.Addr().Unmap())
		if !other.IsValid() || !assigned(other) {
			return tcp, nil, nil
		}
		if twin, err = net.Listen("tcp", netip.AddrPortFrom(other, at.Port()).String()); err == nil {
			return tcp, twin, nil
		}
		tcp.Close()
		if _, port, _ := net.SplitHostPort(address); port != "0" {
			break
		}
	}
	return nil, nil, fmt.Errorf("browsers would reach another program instead of the post office: %w", err)
}

// twinOf returns the other address at which browsers look; none if they do not look at ip, or if ip is all
// addresses.
func twinOf(ip netip.Addr) netip.Addr {
	switch v4 := netip.AddrFrom4([4]byte{127, 0, 0, 1}); ip {
	case v4, netip.IPv4Unspecified():
		return netip.IPv6Loopback()
	case netip.IPv6Loopback():
		return v4
	}
	return netip.Addr{}
}

// assigned reports whether this machine has the address. A machine without IPv6 has no ::1, and no process can
// listen there.
func assigned(ip netip.Addr) bool {
	all, err := net.InterfaceAddrs()
	return err != nil || slices.ContainsFunc(all, func(a net.Addr) bool {
		n, ok := a.(*net.IPNet)
		return ok && n.IP.Equal(ip.AsSlice())
	})
}
