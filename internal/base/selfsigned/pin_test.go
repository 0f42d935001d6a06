package selfsigned

import (
	"crypto/tls"
	"errors"
	"net"
	"path/filepath"
	"testing"
	"time"
)

// met returns the result of a connection to a server with a certificate.
func met(t *testing.T, cert tls.Certificate, trust Trust) error {
	t.Helper()
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{cert}})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		if conn.(*tls.Conn).Handshake() == nil {
			_, _ = conn.Read(make([]byte, 1)) // until the client has gone
		}
	}()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	return tls.Client(conn, trust.Config("127.0.0.1")).HandshakeContext(t.Context())
}

// TestPin checks that a pin outlives the certificate with its key, and that another key is refused in the handshake.
func TestPin(t *testing.T) {
	dir := t.TempDir()
	now := time.Now()
	keep := func(file, name string) tls.Certificate {
		cert, err := Keep(filepath.Join(dir, file), []string{name}, now)
		if err != nil {
			t.Fatal(err)
		}
		return cert
	}
	first := keep("a.pem", "127.0.0.1")
	renewed := keep("a.pem", "box.example") // because it lacks the name
	other := keep("b.pem", "127.0.0.1")
	pin := PinOf(first.Leaf)
	if string(first.Certificate[0]) == string(renewed.Certificate[0]) || PinOf(renewed.Leaf) != pin {
		t.Fatal("a certificate that is made anew with its key has another pin")
	}
	for _, c := range []tls.Certificate{first, renewed} {
		if err := met(t, c, Trust{Pin: pin}); err != nil {
			t.Errorf("the right key: %v", err)
		}
	}
	for _, public := range []bool{false, true} { // no authority vouches for it, so Public changes nothing
		err := met(t, other, Trust{Pin: pin, Public: public})
		if e, ok := errors.AsType[*OtherKeyError](err); !ok || e.Got != PinOf(other.Leaf) || e.Want != pin {
			t.Errorf("another key, public %v: %v", public, err)
		}
	}
	var read Pin
	if text, err := pin.MarshalText(); err != nil || read.UnmarshalText(text) != nil || read != pin {
		t.Errorf("%s is read as %s", text, read)
	}
	for _, wrong := range []string{"", "ab", pin.String() + "00", "zz" + pin.String()[2:]} {
		if read.UnmarshalText([]byte(wrong)) == nil {
			t.Errorf("%q is read", wrong)
		}
	}
}
