package acceptance

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// item is a line of a checklist.
type item struct {
	id   string
	says string // the document's requirement, in a few words
	// differs is how Pennypost differs, and why someone who comes from the original can live with that.
	differs string
	// holds tries the item in its program's post office and fails with a sentence; also is a second part.
	holds, also func(*testing.T, *office)
}

// system is an earlier system with its checklist.
type system struct {
	name, prefix, page string
	count              int // number of items in the checklist
	items              func() []item
}

func systems() []system {
	return []system{
		{"Agenties", "AG", "agenties.md", 32, agentiesItems},
		{"HAAK", "HK", "haak.md", 30, haakItems},
		{"SuperPortia", "SP", "superportia.md", 18, superportiaItems},
		{"OpenAlice", "OA", "openalice.md", 19, openaliceItems},
		{"Claude Code's agent teams", "CC", "claudeteams.md", 19, teamsItems},
	}
}

// play tries the items of a checklist in one post office, with this configuration.
func play(t *testing.T, config string, items []item) {
	o := plannedOffice(t, binary, person)
	if err := os.MkdirAll(o.home, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(o.home, "config.toml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	o.serve(t)
	t.Run("items", func(t *testing.T) {
		for _, it := range items {
			t.Run(it.id, func(t *testing.T) {
				t.Parallel()
				it.holds(t, o)
				if it.also != nil {
					t.Run("also", func(t *testing.T) { it.also(t, o) })
				}
			})
		}
	})
}

func TestAgenties(t *testing.T)    { play(t, agConfig, agentiesItems()) }
func TestHaak(t *testing.T)        { play(t, "", haakItems()) }
func TestSuperPortia(t *testing.T) { play(t, "", superportiaItems()) }
func TestOpenAlice(t *testing.T)   { play(t, "", openaliceItems()) }
func TestClaudeTeams(t *testing.T) { play(t, "", teamsItems()) }

const (
	tableFile         = "../../docs/dialects/acceptance.md"
	tableBegin        = "<!-- table -->\n"
	tableEnd          = "<!-- end of table -->\n"
	tableInstructions = "go test ./internal/acceptance -run TestTable -update"
)

// TestTable: the document's table matches the items, and no item of a checklist is missing.
func TestTable(t *testing.T) {
	var b strings.Builder
	for _, s := range systems() {
		items := s.items()
		if len(items) != s.count {
			t.Errorf("%s has %d items, and its checklist %d", s.name, len(items), s.count)
		}
		fmt.Fprintf(&b, "\n## %s\n\n| item | [%s](%s) | |\n|---|---|---|\n", s.name, strings.TrimSuffix(s.page, ".md"),
			s.page)
		var notes strings.Builder
		for i, it := range items {
			if want := fmt.Sprintf("%s-%02d", s.prefix, i+1); it.id != want {
				t.Errorf("%s stands where %s is expected", it.id, want)
			}
			here := "✅"
			if it.differs != "" {
				here = "differs"
				notes.WriteString(folded("- **" + it.id + "**: " + it.differs))
			}
			fmt.Fprintf(&b, "| %s | %s | %s |\n", it.id, it.says, here)
		}
		if notes.Len() > 0 {
			fmt.Fprintf(&b, "\n%s", &notes)
		}
	}
	text, err := os.ReadFile(tableFile)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), tableBegin)
	_, after, ends := strings.Cut(rest, tableEnd)
	if !ok || !ends {
		t.Fatalf("%s has no place for the table", tableFile)
	}
	want := before + tableBegin + b.String() + "\n" + tableEnd + after
	if want == string(text) {
		return
	}
	if !*update {
		t.Fatalf("%s is not what the items say; write it: %s", tableFile, tableInstructions)
	}
	if err := os.WriteFile(tableFile, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

// folded breaks a list item into lines that end before column 120.
func folded(text string) string {
	var b strings.Builder
	column := 0
	for i, word := range strings.Fields(text) {
		n := utf8.RuneCountInString(word)
		switch {
		case column+1+n >= 120:
			b.WriteString("\n  ")
			column = 2
		case i > 0:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += n
	}
	return b.String() + "\n"
}
