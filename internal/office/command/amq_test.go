package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAMQExample: the example in docs/cli.md equals the commands and output of script amq.
func TestAMQExample(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "cli.md"))
	if err != nil {
		t.Fatal(err)
	}
	script, err := os.ReadFile(filepath.Join("testdata", "script", "amq.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	const typed = "pennypost import --from amq .agent-mail/collab\n"
	commands, printed, _ := strings.Cut(string(script), "-- example --\n")
	if !strings.Contains(commands, "\nexec "+typed+"cmp stdout example\n") {
		t.Error("the script does not run the example")
	}
	if printed == "" || !strings.Contains(string(page), "```\n$ "+typed+printed+"```\n") {
		t.Error("docs/cli.md shows something else")
	}
}
