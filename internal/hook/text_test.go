package hook

import (
	"os/exec"
	"testing"

	"pennypost/internal/mail"
)

// Whatever an agent is called, the shell reads the command that it is told as one with that name.
func TestMarkingIsOneShellWord(t *testing.T) {
	for _, name := range []mail.Name{"builder-1", "小克", "the boss", "it's", "$(touch x)", "a;b", "`a`", `a\b"c`, "*"} {
		word := shellWord(string(name))
		out, err := exec.Command("sh", "-c", "printf %s "+word).Output()
		if err != nil || mail.Name(out) != name {
			t.Errorf("%q is told as %s, which a shell reads as %q, %v", name, word, out, err)
		}
	}
}
