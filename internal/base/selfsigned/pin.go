package selfsigned

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"fmt"
)

// Pin names the key of a certificate: the first 16 bytes of the SHA-256 of its SubjectPublicKeyInfo. To impersonate
// its owner one must find another key with the same pin, which takes 2^128 tries; that two keys with one pin can be
// found in 2^64 does not help. A certificate renewed with its key keeps its pin.
type Pin [16]byte

// PinOf returns the pin of a certificate's key.
func PinOf(cert *x509.Certificate) Pin { return PinOfKey(cert.RawSubjectPublicKeyInfo) }

// PinOfKey is PinOf for a public key in the form of a SubjectPublicKeyInfo (PKIX, DER).
func PinOfKey(spki []byte) Pin {
	sum := sha256.Sum256(spki)
	return Pin(sum[:])
}

func (p Pin) String() string { return hex.EncodeToString(p[:]) }

// MarshalText implements encoding.TextMarshaler.
func (p Pin) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (p *Pin) UnmarshalText(b []byte) error {
	if hex.DecodedLen(len(b)) != len(p) {
		return fmt.Errorf("%q is not a pin: use %d hex digits", b, 2*len(p))
	}
	_, err := hex.Decode(p[:], b)
	return err
}

// OtherKeyError says that the peer of a connection does not have the pinned key. Nothing was sent to it.
type OtherKeyError struct {
	Got, Want Pin
	Err       error // why its certificate is not trusted without the pin, where it could be
}

func (e *OtherKeyError) Error() string {
	if e.Want == (Pin{}) {
		return fmt.Sprintf("the certificate has the unknown key %s", e.Got)
	}
	return fmt.Sprintf("the certificate has the key %s instead of %s", e.Got, e.Want)
}

func (e *OtherKeyError) Unwrap() error { return e.Err }

// Trust says how a machine verifies another.
type Trust struct {
	Pin Pin
	// Public says that a certificate for the right host from a certificate authority that this system trusts is
	// accepted too: its key may change any day.
	Public bool
}

// Config returns how to connect to host, a name or an IP address. A connection to a wrong key fails in the handshake,
// with an *OtherKeyError.
func (t Trust) Config(host string) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12, ServerName: host,
		InsecureSkipVerify: true, // VerifyConnection decides, even when a session is resumed
		VerifyConnection: func(cs tls.ConnectionState) error {
			cert := cs.PeerCertificates[0]
			got := PinOf(cert)
			if got == t.Pin {
				return nil
			}
			other := &OtherKeyError{Got: got, Want: t.Pin}
			if !t.Public {
				return other
			}
			between := x509.NewCertPool()
			for _, c := range cs.PeerCertificates[1:] {
				between.AddCert(c)
			}
			if _, err := cert.Verify(x509.VerifyOptions{DNSName: host, Intermediates: between}); err != nil {
				other.Err = err
				return other
			}
			return nil
		},
	}
}

// Peers returns how machines that know each other's keys connect, either way: TLS 1.3 with this machine's certificate,
// and only peers with a known pin. known is called at each handshake, so keys may change while the configuration is in
// use.
func Peers(cert tls.Certificate, known func(Pin) bool) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{cert}, ClientAuth: tls.RequireAnyClientCert,
		InsecureSkipVerify: true, // VerifyConnection decides, even when a session is resumed
		VerifyConnection: func(cs tls.ConnectionState) error {
			if got := PinOf(cs.PeerCertificates[0]); !known(got) {
				return &OtherKeyError{Got: got}
			}
			return nil
		},
	}
}
