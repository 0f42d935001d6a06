// Package minisign signs texts and checks their signatures in the format of minisign, so that anyone can check them
// with that program too. It supports signatures of the text itself ("Ed"), which every version of minisign reads;
// those of a BLAKE2 hash of it are refused. The format: jedisct1.github.io/minisign, "Signature format".
package minisign

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Prefixes of keys and signatures. A secret key has another one, so that it is not published by mistake for a public
// key.
const (
	algorithm = "Ed"
	secret    = "SK"
)

// Lengths in bytes.
const (
	idSize     = 8
	keySize    = len(algorithm) + idSize + ed25519.PublicKeySize
	secretSize = len(algorithm) + idSize + ed25519.SeedSize
	signedSize = len(algorithm) + idSize + ed25519.SignatureSize
)

// Lines of a signature.
const (
	untrustedPrefix = "untrusted comment: "
	trustedPrefix   = "trusted comment: "
)

// ErrWrong says that a text is not the signed one, or that another key signed it.
var ErrWrong = errors.New("the signature does not match the key")

// Key is a public key.
type Key struct {
	id  [idSize]byte
	key ed25519.PublicKey
}

// Secret signs. Its text differs from minisign's own files, which are locked by a passphrase.
type Secret struct {
	Key
	key ed25519.PrivateKey
}

// NewSecret makes a key from random bytes.
func NewSecret(random io.Reader) (*Secret, error) {
	raw := make([]byte, secretSize)
	if _, err := io.ReadFull(random, raw); err != nil {
		return nil, err
	}
	copy(raw, secret)
	return ParseSecret(base64.StdEncoding.EncodeToString(raw))
}

// ParseSecret reads the result of a Secret's String.
func ParseSecret(text string) (*Secret, error) {
	raw, err := decode(text, secret, secretSize)
	if err != nil {
		return nil, fmt.Errorf("not a secret key: %w", err)
	}
	s := &Secret{key: ed25519.NewKeyFromSeed(raw[len(algorithm)+idSize:])}
	copy(s.id[:], raw[len(algorithm):])
	s.Key.key = s.key.Public().(ed25519.PublicKey)
	return s, nil
}

// String returns the secret itself.
func (s *Secret) String() string { return encode(secret, s.id, s.key.Seed()) }

// ParseKey reads a public key, as in the second line of a minisign.pub.
func ParseKey(text string) (Key, error) {
	raw, err := decode(text, algorithm, keySize)
	if err != nil {
		return Key{}, fmt.Errorf("not a public key: %w", err)
	}
	k := Key{key: raw[len(algorithm)+idSize:]}
	copy(k.id[:], raw[len(algorithm):])
	return k, nil
}

// String returns the key in the form that ParseKey reads.
func (k Key) String() string { return encode(algorithm, k.id, k.key) }

// Sign returns the signature of a text, with a one-line comment that is signed too. It is deterministic.
func (s *Secret) Sign(text []byte, comment string) []byte {
	signed := ed25519.Sign(s.key, text)
	return fmt.Appendf(nil, "%ssignature of a release of Pennypost\n%s\n%s%s\n%s\n", untrustedPrefix,
		encode(algorithm, s.id, signed), trustedPrefix, comment,
		base64.StdEncoding.EncodeToString(ed25519.Sign(s.key, commented(signed, comment))))
}

// Verify returns the comment that was signed with the text. An error other than ErrWrong says that signature is not a
// signature.
func (k Key) Verify(text, signature []byte) (comment string, err error) {
	lines := strings.Split(strings.TrimSuffix(string(signature), "\n"), "\n")
	if len(lines) != 4 || !strings.HasPrefix(lines[0], untrustedPrefix) ||
		!strings.HasPrefix(lines[2], trustedPrefix) {
		return "", errors.New("not a minisign signature")
	}
	raw, err := decode(lines[1], algorithm, signedSize)
	if err != nil {
		return "", fmt.Errorf("not a minisign signature: %w", err)
	}
	global, err := base64.StdEncoding.Strict().DecodeString(lines[3])
	if err != nil {
		return "", fmt.Errorf("not a minisign signature: %w", err)
	}
	if !bytes.Equal(raw[len(algorithm):][:idSize], k.id[:]) {
		return "", fmt.Errorf("the signature was made with another key: %w", ErrWrong)
	}
	signed := raw[len(algorithm)+idSize:]
	comment = strings.TrimPrefix(lines[2], trustedPrefix)
	if !ed25519.Verify(k.key, text, signed) || !ed25519.Verify(k.key, commented(signed, comment), global) {
		return "", ErrWrong
	}
	return comment, nil
}

// commented returns the data of the second signature.
func commented(signed []byte, comment string) []byte { return append(bytes.Clone(signed), comment...) }

func encode(kind string, id [idSize]byte, of []byte) string {
	return base64.StdEncoding.EncodeToString(append(append([]byte(kind), id[:]...), of...))
}

// decode reads base64 data of a fixed size with the prefix kind.
func decode(text, kind string, size int) ([]byte, error) {
	raw, err := base64.StdEncoding.Strict().DecodeString(text)
	switch {
	case err != nil:
		return nil, err
	case len(raw) != size:
		return nil, fmt.Errorf("it has %d bytes instead of %d", len(raw), size)
	case string(raw[:len(kind)]) != kind:
		return nil, fmt.Errorf("it begins with %q instead of %q", raw[:len(kind)], kind)
	}
	return raw, nil
}
