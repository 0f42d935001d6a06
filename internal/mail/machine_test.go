package mail

import (
	"strings"
	"testing"
)

func TestParseMachine(t *testing.T) {
	for _, name := range []string{"laptop-2", "build.example.org", "A", "0_x", strings.Repeat("m", maxMachine)} {
		if got, err := ParseMachine(name); string(got) != name || err != nil {
			t.Errorf("ParseMachine(%q) = %q, %v, want it", name, got, err)
		}
	}
	for _, name := range []string{"", "-x", ".x", "a b", "a/b", "ä", "a\n", strings.Repeat("m", maxMachine+1)} {
		if got, err := ParseMachine(name); err == nil || got != "" {
			t.Errorf("ParseMachine(%q) = %q, %v, want an error", name, got, err)
		}
	}
}
