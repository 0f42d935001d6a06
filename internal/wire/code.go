package wire

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"strings"

	"pennypost/internal/base/selfsigned"
	"pennypost/internal/mail"
)

// Code lets another machine in, once. It contains a secret by which the post office knows the machine, and the pin of
// the post office's key, by which the machine knows the post office. So the person who carries it from one to the
// other vouches for both, and neither has to ask.
type Code struct {
	Secret Secret
	Trust  selfsigned.Trust
	// Cluster says that the code is for pennypost cluster join, and not for pennypost join.
	Cluster bool
}

// Secret is the part of a code that is sent. With 80 bits it cannot be guessed online.
type Secret [10]byte

// NewSecret returns a random secret.
func NewSecret() (s Secret) {
	_, _ = rand.Read(s[:]) // it never fails
	return s
}

// The bytes of a code: the secret, the pin, the kind of trust, and a checksum that detects a typing error before
// anything is sent. Their number is a multiple of 5, so that base32 needs no padding.
const (
	pinAt   = len(Secret{})
	kindAt  = pinAt + len(selfsigned.Pin{})
	checkAt = kindAt + 1
	codeLen = checkAt + 3
)

// The kinds of trust.
const (
	pinned = 1 // the key of the pin
	public = 2 // or a certificate that the system trusts
	shares = 3 // the key of the pin, which is a cluster's
)

// String returns the secret as it is sent.
func (s Secret) String() string { return letters.EncodeToString(s[:]) }

var letters = base32.NewEncoding("abcdefghjkmnpqrstvwxyz0123456789").WithPadding(base32.NoPadding)

// ParseCode reads a code as typed or pasted: case, spaces and hyphens do not matter, and letters that look like 0 or
// 1 count as these.
func ParseCode(s string) (Code, error) {
	plain := strings.Map(func(r rune) rune {
		switch r {
		case '-', ' ', '\n', '\r', '\t':
			return -1
		case 'o':
			return '0'
		case 'i', 'l':
			return '1'
		}
		return r
	}, strings.ToLower(s))
	b, err := letters.DecodeString(plain)
	var c Code
	if err != nil || len(plain) != letters.EncodedLen(codeLen) {
		return c, mail.Errorf(mail.Invalid, "that is not a code: a code has %d letters and digits, and this has "+
			"%d characters. Copy the whole line that pennypost invite, or pennypost cluster invite, "+
			"printed", letters.EncodedLen(codeLen),
			len([]rune(plain)))
	}
	sum := codeSum(b[:checkAt])
	kind := b[kindAt]
	if string(b[checkAt:]) != sum || kind < pinned || kind > shares {
		return c, mail.Errorf(mail.Invalid,
			"the code is misspelt. Nothing was sent. Copy the line that pennypost invite printed")
	}
	copy(c.Secret[:], b)
	copy(c.Trust.Pin[:], b[pinAt:])
	c.Trust.Public, c.Cluster = kind == public, kind == shares
	return c, nil
}

func (c Code) String() string {
	kind := byte(pinned)
	switch {
	case c.Trust.Public:
		kind = public
	case c.Cluster:
		kind = shares
	}
	b := append(append(append([]byte{}, c.Secret[:]...), c.Trust.Pin[:]...), kind)
	return letters.EncodeToString(append(b, codeSum(b)...))
}

func codeSum(b []byte) string {
	sum := sha256.Sum256(append([]byte("pennypost join\x00"), b...))
	return string(sum[:codeLen-checkAt])
}
