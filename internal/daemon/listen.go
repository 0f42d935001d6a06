package daemon

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"runtime"
	"syscall"

	"pennypost/internal/config"
	"pennypost/internal/mail"
)

// NoTCP is the listen address of a post office with nothing but its Unix socket.
const NoTCP = "none"

// listeners are where a post office can be reached.
type listeners struct {
	socket net.Listener
	tcp    net.Listener // nil: none
}

// listen opens the Unix socket and, unless told otherwise, TCP.
func listen(cfg *config.Config, log *slog.Logger) (listeners, error) {
	tcp, err := listenTCP(cfg, log)
	if err != nil {
		return listeners{}, err
	}
	socket, err := listenUnix(cfg.Home, log)
	if err != nil && tcp != nil {
		tcp.Close()
	}
	return listeners{socket: socket, tcp: tcp}, err
}

// listenUnix listens on the socket of home. The caller holds the home's lock, so a socket that is there belongs to
// nobody any more.
func listenUnix(home config.Home, log *slog.Logger) (net.Listener, error) {
	if err := home.CheckSocket(true); err != nil {
		return nil, err
	}
	path := home.Socket()
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("remove the old socket: %w", err)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("listen on the socket: %w", err)
	}
	// Until here the directory, which is the owner's alone, kept others out.
	if err := os.Chmod(path, 0o600); err != nil && runtime.GOOS != "windows" {
		l.Close()
		return nil, fmt.Errorf("close the socket to others: %w", err)
	}
	return peerListener{l, log}, nil
}

// listenTCP listens where cfg says. At the default address it puts up with somebody else being there.
func listenTCP(cfg *config.Config, log *slog.Logger) (net.Listener, error) {
	address := cfg.Listen
	if address == NoTCP {
		return nil, nil
	}
	if address == "" {
		l, err := net.Listen("tcp", config.DefaultListen)
		if errors.Is(err, syscall.EADDRINUSE) {
			log.Warn("the default port is taken, so the post office is reached by its socket only; choose another with: pennypost serve --listen 127.0.0.1:PORT", "address", config.DefaultListen)
			return nil, nil
		}
		return l, err
	}
	if err := checkListen(address, cfg.Insecure); err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, &mail.Error{Code: mail.Unavailable, Msg: fmt.Sprintf("cannot listen on %s: %v", address, err), Err: err}
	}
	return l, nil
}

// checkListen refuses an address that says more than its author may have meant: a port alone means every network.
func checkListen(address string, insecure bool) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return mail.Errorf(mail.Invalid, "%q is not an address to listen on: write HOST:PORT, such as 127.0.0.1:8765, or none", address)
	}
	if host == "" {
		return mail.Errorf(mail.Invalid, "%q would listen on every network: write the host too, such as 127.0.0.1%s", address, address)
	}
	if host == "localhost" || insecure {
		return nil
	}
	if ip, err := netip.ParseAddr(host); err == nil && ip.IsLoopback() {
		return nil
	}
	return mail.Errorf(mail.Denied, "%q can be reached from other machines, and tokens would cross the network in the clear. "+
		"Put a proxy with TLS in front of 127.0.0.1, or, on a network you trust, add --insecure", address)
}
