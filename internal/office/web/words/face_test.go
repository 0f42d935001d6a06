package words

import (
	"strconv"
	"strings"
	"testing"

	"pennypost/internal/mail"
)

// Agents that are counted differ in their pictures: by the number, which is there in full, and by the colour.
func TestInitials(t *testing.T) {
	for name, want := range map[string]string{"builder-1": "B1", "agent:builder-1": "B1", "role:designer": "RD",
		"小克": "小", "a": "A", "": "", "---": "", "one two three": "OT", "éa.ß": "Éß", "<script>": "<",
		"agent-10": "A10", "agent-11": "A11", "agent12": "A12", "code-reviewer-7": "CR7", "builder-2024": "B2024",
		"session-1748291": "S8291", "7": "7", "小克-3": "小3", "gpt-4o": "GO4", "builder-1-2": "B2"} {
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

func TestColor(t *testing.T) {
	if Color(mail.Name("builder-1")) != Color(mail.Address("agent:builder-1")) ||
		Color("builder-1") != Color(mail.Name("builder-1")) || Color("user") != "me" {
		t.Error("an agent has one colour as a name and another as an address")
	}
	demo := strings.Fields("orchestrator builder-1 builder-2 reviewer docs-writer scout")
	seen := make(map[string]bool)
	for _, n := range strings.Fields("a b c d e f g h i j k l m n o p q r s t u v w x y z") {
		seen[Color(n)] = true
	}
	if len(seen) < looks/2 {
		t.Errorf("26 agents have %d looks", len(seen))
	}
	for i, n := range demo {
		for _, other := range demo[:i] {
			if Color(n) == Color(other) {
				t.Errorf("%s and %s of the demonstration look the same", n, other)
			}
		}
	}
	for _, stem := range []string{"agent-", "builder", "小克 "} {
		last := make(map[string]int) // the number that had the colour last
		for i := 1; i <= 100; i++ {
			c := Color(stem + strconv.Itoa(i))
			if before := last[c]; before > 0 && i-before < looks {
				t.Errorf("%s%d and %s%d are both %s", stem, before, stem, i, c)
			}
			last[c] = i
		}
	}
}
