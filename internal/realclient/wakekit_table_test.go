package realclient

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pennypost/internal/realclient/model"
)

// kitPage is the document with the kit's table, and below it the texts that reached the model.
const (
	kitPage      = "../../docs/wake-kit.md"
	kitFrom      = "<!-- what ./test wake-kit has seen -->\n"
	kitTo        = "<!-- end -->\n"
	kitBytesFrom = "<!-- what the models were given -->\n"
	kitBytesTo   = "<!-- end of what the models were given -->\n"
)

// kitSeen collects the results of this run of the kit.
var kitSeen kitSightings

type kitSightings struct {
	mu    sync.Mutex
	cells map[[2]string]string // by bus and client, and column
	texts map[string]string    // texts given to the model, by bus and client
}

func kitColumns() []string {
	return []string{"bus, client", "versions", "tried", rowWakes, rowOnce, rowEsc, rowKilled, rowBytes}
}

func (b *bus) key() string { return b.title + ", " + b.client.title }

// bytes keeps the part of a request that contains a text, and describes its role and length.
func (s *kitSightings) bytes(b *bus, r model.Request, text string) string {
	i := slices.IndexFunc(r.Parts, func(p model.Part) bool {
		return p.Role != model.Assistant && strings.Contains(p.Text, text)
	})
	p := r.Parts[i]
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.texts == nil {
		s.texts = map[string]string{}
	}
	s.texts[b.key()] = p.Text
	return fmt.Sprintf("%s, %d bytes", p.Role, len(p.Text))
}

// note prints the results and, with -update, writes them into the page.
func (s *kitSightings) note(b *bus, found answers) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cells == nil {
		s.cells = map[[2]string]string{}
	}
	s.cells[[2]string{b.key(), "versions"}] = strings.TrimSpace(b.release + " / " + b.version.version)
	s.cells[[2]string{b.key(), "tried"}] = time.Now().Format(time.DateOnly)
	for _, row := range slices.Sorted(maps.Keys(found)) {
		fmt.Printf("%s  %s: %s: %s\n", time.Now().Format(time.TimeOnly), b.key(), row, found[row])
		s.cells[[2]string{b.key(), row}] = found[row]
	}
	if !*update {
		return nil
	}
	raw, err := os.ReadFile(kitPage)
	if err != nil {
		return err
	}
	text, err := s.into(string(raw))
	if err != nil {
		return err
	}
	return os.WriteFile(kitPage, []byte(text), 0o644)
}

// into returns the page with the results. Cells that this run did not try stay, except those of other versions. s.mu
// is held.
func (s *kitSightings) into(page string) (string, error) {
	before, rest, ok := strings.Cut(page, kitFrom)
	old, rest, ok2 := strings.Cut(rest, kitTo)
	between, rest, ok3 := strings.Cut(rest, kitBytesFrom)
	oldTexts, after, ok4 := strings.Cut(rest, kitBytesTo)
	if !ok || !ok2 || !ok3 || !ok4 {
		return "", fmt.Errorf("%s lacks one of its marks", kitPage)
	}
	cells := readTable(old)
	maps.DeleteFunc(cells, func(at [2]string, _ string) bool {
		is, tried := s.cells[[2]string{at[0], "versions"}]
		return tried && cells[[2]string{at[0], "versions"}] != is
	})
	maps.Copy(cells, s.cells)
	keys := map[string]bool{}
	for at := range cells {
		keys[at[0]] = true
	}
	texts := readTexts(oldTexts)
	for key, text := range s.texts {
		texts[key] = folded(text)
	}
	return before + kitFrom + drawTable(kitColumns(), slices.Sorted(maps.Keys(keys)), cells) + kitTo + between +
		kitBytesFrom + drawTexts(texts) + kitBytesTo + after, nil
}

// mostShown limits the bytes of a text that the page shows.
const mostShown = 1200

// folded returns a text as the page shows it: indented, in lines of limited length, and without characters that a
// page must not have.
func folded(text string) string {
	if len(text) > mostShown {
		text = strings.ToValidUTF8(text[:mostShown], "") + "…"
	}
	text = strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' || r == 0x7f {
			return '�'
		}
		return r
	}, text)
	var b strings.Builder
	for line := range strings.Lines(text) {
		runes := []rune(strings.TrimRight(line, " \n"))
		for len(runes) > 100 {
			b.WriteString("    " + strings.TrimRight(string(runes[:100]), " ") + " ↩\n")
			runes = runes[100:]
		}
		b.WriteString(strings.TrimRight("    "+string(runes), " ") + "\n")
	}
	return b.String()
}

func readTexts(text string) map[string]string {
	texts := map[string]string{}
	for _, part := range strings.Split("\n"+text, "\n**")[1:] {
		key, shown, _ := strings.Cut(part, "**\n\n")
		texts[key] = strings.TrimRight(shown, "\n") + "\n"
	}
	return texts
}

func drawTexts(texts map[string]string) string {
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(texts)) {
		b.WriteString("\n**" + key + "**\n\n" + texts[key])
	}
	return b.String() + "\n"
}

// A run that tries one bus with one client keeps the results of others, and removes those of another version.
func TestKitPage(t *testing.T) {
	const row = "| versions | tried | once | after Esc |\n"
	page := "before\n" + kitFrom + "| bus, client " + row + "|---|---|---|---|---|\n" +
		"| A, Codex CLI | 1 / 2 | 2026-01-01 | ✓ | ✗ never |\n" +
		"| A, Claude Code | 1 / 2 | 2026-01-01 | ✓ | ✓ 1.0 s |\n" + kitTo + "between\n" + kitBytesFrom +
		"\n**A, Codex CLI**\n\n    text one\n\n**B, Codex CLI**\n\n    text two\n\n" + kitBytesTo + "after\n"
	const codex = "A, Codex CLI"
	s := kitSightings{
		cells: map[[2]string]string{{codex, "versions"}: "1 / 3", {codex, "once"}: "✗ 2 times"},
		texts: map[string]string{codex: "new\x1b[1m " + strings.Repeat("x", 130) + "\n\nend"},
	}
	got, err := s.into(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"before\n" + kitFrom, kitTo + "between\n", kitBytesTo + "after\n",
		"| A, Claude Code | 1 / 2 | 2026-01-01 | ○ | ✓ | ✓ 1.0 s | ○ | ○ |\n",
		"| A, Codex CLI | 1 / 3 | ○ | ○ | ✗ 2 times | ○ | ○ | ○ |\n",
		"\n**A, Codex CLI**\n\n    new�[1m " + strings.Repeat("x", 92) + " ↩\n    " + strings.Repeat("x", 38) +
			"\n\n    end\n",
		"\n**B, Codex CLI**\n\n    text two\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the page lacks %q:\n%s", want, got)
		}
	}
	if again, err := (&kitSightings{}).into(got); err != nil || again != got {
		t.Errorf("a run that saw nothing changes the page: %v\n%s", err, again)
	}
}
