package minisign

import (
	"bytes"
	"crypto/rand"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func newSecret(t *testing.T) *Secret {
	t.Helper()
	s, err := NewSecret(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestVerify checks that no relevant bit of a signature or of the signed text can be changed.
func TestVerify(t *testing.T) {
	s := newSecret(t)
	again, err := ParseSecret(s.String())
	if err != nil {
		t.Fatal(err)
	}
	key, err := ParseKey(again.Key.String())
	if err != nil {
		t.Fatal(err)
	}
	text := []byte("a sum  a file\n")
	signature := s.Sign(text, "pennypost v1.2.3")
	if comment, err := key.Verify(text, signature); err != nil || comment != "pennypost v1.2.3" {
		t.Errorf("Verify = %q, %v", comment, err)
	}
	if !bytes.Equal(signature, again.Sign(text, "pennypost v1.2.3")) {
		t.Error("a second signature differs")
	}
	for i := range text {
		changed := bytes.Clone(text)
		changed[i] ^= 1
		if _, err := key.Verify(changed, signature); !errors.Is(err, ErrWrong) {
			t.Errorf("with byte %d of the text changed: %v", i, err)
		}
	}
	counts := bytes.IndexByte(signature, '\n') + 1
	for i := counts; i < len(signature)-1; i++ {
		changed := bytes.Clone(signature)
		changed[i] ^= 1
		if _, err := key.Verify(text, changed); err == nil {
			t.Errorf("with byte %d of the signature changed it is taken", i)
		}
	}
	for i := range len(signature) - 1 {
		if _, err := key.Verify(text, signature[:i]); err == nil {
			t.Errorf("of %d bytes of the signature it is taken", i)
		}
	}
	if _, err := newSecret(t).Verify(text, signature); !errors.Is(err, ErrWrong) {
		t.Errorf("with another key: %v", err)
	}
	for _, bad := range []string{"", "x", s.String(), strings.Repeat("A", 56)} {
		if _, err := ParseKey(bad); err == nil {
			t.Errorf("%q is taken for a public key", bad)
		}
	}
}

// TestMinisign lets minisign itself check one of our signatures.
func TestMinisign(t *testing.T) {
	program, err := exec.LookPath("minisign")
	if err != nil {
		t.Skip("minisign is not here")
	}
	s := newSecret(t)
	file := filepath.Join(t.TempDir(), "SHA256SUMS")
	text := []byte("a sum  a file\n")
	check := func() (string, error) {
		out, err := exec.Command(program, "-V", "-P", s.Key.String(), "-m", file).CombinedOutput()
		return string(out), err
	}
	for name, text := range map[string][]byte{file: text, file + ".minisig": s.Sign(text, "pennypost v1.2.3")} {
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := check(); err != nil || !strings.Contains(out, "Trusted comment: pennypost v1.2.3") {
		t.Errorf("minisign says %q and ends with %v", out, err)
	}
	if err := os.WriteFile(file, append(text, ' '), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := check(); err == nil {
		t.Errorf("of another text minisign says %q", out)
	}
}

func FuzzVerify(f *testing.F) {
	s, err := NewSecret(bytes.NewReader(make([]byte, 100)))
	if err != nil {
		f.Fatal(err)
	}
	text := []byte("a sum  a file\n")
	f.Add(s.Sign(text, "pennypost v1.2.3"))
	f.Add([]byte("untrusted comment: \nRWQ=\ntrusted comment: \nAA==\n"))
	f.Fuzz(func(t *testing.T, signature []byte) {
		if comment, err := s.Verify(text, signature); err == nil && comment != "pennypost v1.2.3" {
			t.Errorf("the comment %q is taken", comment)
		}
	})
}
