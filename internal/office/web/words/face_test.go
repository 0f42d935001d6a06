package words

import (
	"strconv"
	"strings"
	"testing"
)

// TestInitials tests that numbered agents have different initials, with their number in full.
func TestInitials(t *testing.T) {
	for name, want := range map[string]string{"builder-1": "B1", "agent:builder-1": "B1", "role:designer": "RD",
		"小克": "小", "a": "A", "": "", "---": "", "one two three": "OT", "éa.ß": "Éß", "<script>": "<",
		"agent-10": "A10", "agent-11": "A11", "agent12": "A12", "code-reviewer-7": "CR7", "builder-2024": "B2024",
		"session-1748291": "S8291", "7": "7", "小克-3": "小3", "gpt-4o": "G4", "e2e-tester": "ET", "builder-1-2": "B2"} {
		if got := Initials(name); !strings.EqualFold(got, want) {
			t.Errorf("initials(%q) = %q, want %q", name, got, want)
		}
	}
	seen := make(map[string]string)
	for i := range 1200 {
		name := "agent-" + strconv.Itoa(i)
		if other := seen[Initials(name)]; other != "" {
			t.Errorf("%s and %s are both %s", other, name, Initials(name))
		}
		seen[Initials(name)] = name
	}
}
