// Package selfsigned makes, keeps and names TLS certificates that a machine signs itself.
//
// No authority vouches for such a certificate, so people compare its fingerprint when they first meet it. The key
// stays the same when the certificate is renewed, because it expires or the machine has new addresses.
package selfsigned

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"pennypost/internal/base/durable"
)

const (
	// lasts is below the 825 days that Apple's systems accept for any certificate that a person trusts
	// (support.apple.com/en-us/103769); the shorter limits of browsers are for public authorities.
	lasts = 730 * 24 * time.Hour
	// renewal is how long before its end a certificate is renewed.
	renewal = 60 * 24 * time.Hour
	// backdated allows for other devices' clocks that are slow.
	backdated = time.Hour
)

// Keep returns the certificate in the file at path, for the given names and IP addresses. It makes a new one if the
// file is missing, or if the certificate expires soon or lacks a name. The file also has the key, and is readable only
// by its owner.
func Keep(path string, names []string, now time.Time) (tls.Certificate, error) {
	return keepWith(path, names, now, func() (crypto.Signer, error) {
		return ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	})
}

// KeepEd25519 is Keep with an Ed25519 key, which browsers do not accept, and whose signatures are deterministic.
func KeepEd25519(path string, names []string, now time.Time) (tls.Certificate, error) {
	return keepWith(path, names, now, func() (crypto.Signer, error) {
		_, key, err := ed25519.GenerateKey(rand.Reader)
		return key, err
	})
}

func keepWith(path string, names []string, now time.Time, newKey func() (crypto.Signer, error)) (tls.Certificate,
	error) {
	text, err := durable.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return tls.Certificate{}, fmt.Errorf("read the certificate: %w", err)
	}
	var key crypto.PrivateKey
	if err == nil {
		if err := os.Chmod(path, 0o600); err != nil {
			return tls.Certificate{}, fmt.Errorf("restrict access to the certificate's key: %w", err)
		}
		cert, err := tls.X509KeyPair(text, text)
		if err != nil {
			return cert, fmt.Errorf("%s contains no certificate and key: %w. Remove the file; a new one is created "+
				"at the next start", path, err)
		}
		if fits(cert.Leaf, names, now) {
			return cert, nil
		}
		key = cert.PrivateKey
	}
	text, err = sign(key, newKey, names, now)
	if err == nil {
		err = durable.WriteFile(path, text, 0o600)
	}
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("create a certificate: %w", err)
	}
	return tls.X509KeyPair(text, text)
}

// fits reports whether a certificate is valid for some time yet, and for all names.
func fits(cert *x509.Certificate, names []string, now time.Time) bool {
	return now.After(cert.NotBefore) && now.Add(renewal).Before(cert.NotAfter) &&
		!slices.ContainsFunc(names, func(name string) bool { return cert.VerifyHostname(name) != nil })
}

// sign makes a certificate, and a key if there is none, as PEM.
func sign(key crypto.PrivateKey, newKey func() (crypto.Signer, error), names []string, now time.Time) ([]byte,
	error) {
	signer, ok := key.(crypto.Signer)
	if !ok {
		made, err := newKey()
		if err != nil {
			return nil, err
		}
		signer = made
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	cert := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "Pennypost"},
		NotBefore: now.Add(-backdated), NotAfter: now.Add(lasts - backdated),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
	}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			cert.IPAddresses = append(cert.IPAddresses, ip)
		} else {
			cert.DNSNames = append(cert.DNSNames, name)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, cert, cert, signer.Public(), signer)
	if err != nil {
		return nil, err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(signer)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	for _, block := range []*pem.Block{{Type: "CERTIFICATE", Bytes: der}, {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := pem.Encode(&out, block); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), nil
}

// Fingerprint returns the SHA-256 of a certificate (DER) as browsers show it: pairs of hex digits with colons between.
func Fingerprint(cert []byte) string {
	sum := sha256.Sum256(cert)
	pairs := make([]string, len(sum))
	for i, b := range sum {
		pairs[i] = fmt.Sprintf("%02X", b)
	}
	return strings.Join(pairs, ":")
}
