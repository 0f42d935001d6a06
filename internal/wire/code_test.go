package wire

import (
	"strings"
	"testing"

	"pennypost/internal/base/selfsigned"
	"pennypost/internal/mail"
)

func someCode(public bool) Code {
	return Code{Secret: NewSecret(), Trust: selfsigned.Trust{Pin: selfsigned.Pin{1, 2, 3, 15: 255}, Public: public}}
}

// TestCode checks that a code is read however it was copied, and that every typing error in one character is
// detected.
func TestCode(t *testing.T) {
	for _, public := range []bool{false, true} {
		want := someCode(public)
		s := want.String()
		if len(s) != 48 || !strings.HasPrefix(s, want.Secret.String()) {
			t.Fatalf("code = %q, want 48 characters that begin with the secret %s", s, want.Secret)
		}
		for _, typed := range []string{s, strings.ToUpper(s), s[:20] + "\n  " + s[20:], s[:8] + "-" + s[8:],
			strings.NewReplacer("0", "O", "1", "l").Replace(s)} {
			if got, err := ParseCode(typed); err != nil || got != want {
				t.Errorf("ParseCode(%q) = %v, %v", typed, got, err)
			}
		}
		for i := range s {
			for _, c := range "0az" {
				wrong := s[:i] + string(c) + s[i+1:]
				if _, err := ParseCode(wrong); wrong != s && mail.CodeOf(err) != mail.Invalid {
					t.Errorf("ParseCode(%q) = %v, want that it is misspelt", wrong, err)
				}
			}
		}
		for _, wrong := range []string{"", s + "x", s[:47], s + s, "pp-machine." + s, "ü" + s[1:]} {
			if _, err := ParseCode(wrong); mail.CodeOf(err) != mail.Invalid {
				t.Errorf("ParseCode(%q) = %v", wrong, err)
			}
		}
	}
}

// FuzzParseCode checks that a code is written as it was read, except for case and separators.
func FuzzParseCode(f *testing.F) {
	for _, public := range []bool{false, true} {
		s := someCode(public).String()
		f.Add(s)
		f.Add(strings.ToUpper(s) + "\r\n")
		f.Add(s[:47] + "-")
	}
	f.Fuzz(func(t *testing.T, s string) {
		c, err := ParseCode(s)
		if err != nil {
			if mail.CodeOf(err) != mail.Invalid || len(err.Error()) > 300 {
				t.Fatalf("ParseCode(%q) = %v", s, err)
			}
			return
		}
		plain := strings.NewReplacer("-", "", " ", "", "\n", "", "\r", "", "\t", "", "o", "0", "i", "1", "l", "1").
			Replace(strings.ToLower(s))
		if c.String() != plain {
			t.Fatalf("ParseCode(%q) = %s", s, c)
		}
	})
}
