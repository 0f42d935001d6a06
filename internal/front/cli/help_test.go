package cli_test

import (
	"bytes"
	"strings"
	"testing"

	"pennypost/internal/front/cli"
	"pennypost/internal/front/verbs"
)

// TestHelpFits: the terminal breaks no line of a manual page.
func TestHelpFits(t *testing.T) {
	for _, wide := range []int{40, 80} {
		for _, args := range [][]string{{"--help"}, {"send", "--help"}, {"mark", "--help"}, {"completion", "--help"}} {
			var out bytes.Buffer
			if err := cli.HelpAt(wide, &out, verbs.Front(), args); err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(out.String()) {
				line = strings.TrimRight(line, "\n")
				if cli.Columns(line) > wide && len(strings.Fields(line)) > 1 {
					t.Errorf("%q at %d columns has the line %q", args, wide, line)
				}
			}
			if wide == 80 && args[0] == "send" && !strings.Contains(out.String(), "\n    git diff | ") {
				t.Errorf("two examples are one:\n%s", out.String())
			}
			if wide == 80 && args[0] == "send" &&
				!strings.Contains(out.String(), "a tag such as\n    project:parser") {
				t.Errorf("the paragraphs are not refilled:\n%s", out.String())
			}
		}
	}
}

// Main needs nothing from the process it runs in.
func TestMainTakesItsWorld(t *testing.T) {
	var out, errs bytes.Buffer
	env := cli.Env{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Dir: t.TempDir()}
	if got := cli.Main([]string{"version", "--json"}, env, verbs.Front()); got != 0 || !strings.Contains(out.String(), `"version":"`) {
		t.Errorf("Main(version) = %d, %q, %q", got, &out, &errs)
	}
	out.Reset()
	if got := cli.Main([]string{"inbox"}, env, verbs.Front()); got != 2 ||
		!strings.Contains(errs.String(), "set PENNYPOST_HOME") {
		t.Errorf("Main(inbox) without a home = %d, %q, %q", got, &out, &errs)
	}
}
