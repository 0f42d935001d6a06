package systemtest

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"pennypost/internal/office/acp/acptest"
	"pennypost/internal/office/notify/telegramtest"
)

func readPage(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", name))
	check(t, err)
	return string(text)
}

// TestTelegramDocs follows docs/telegram.md, with the configuration from that page, and compares the output with the
// page.
func TestTelegramDocs(t *testing.T) {
	t.Parallel()
	page := readPage(t, "telegram.md")
	o := newOffice(t)
	server := telegramtest.New(t)
	token := filepath.Join(o.root, "bot-token")
	check(t, os.WriteFile(token, []byte(telegramtest.Token+"\n"), 0o600))
	writeConfig(t, o, strings.Replace(pageBlocks(page, "toml")[0], "/home/me/.config/pennypost-telegram", token, 1)+
		fmt.Sprintf("server = %q\n", server.URL))
	o.mustServe(t)
	_, shown, _ := strings.Cut(pageBlocks(page, "")[0], "$ pennypost notify pair telegram\n")
	pattern := regexp.QuoteMeta(shown)
	for like, any := range map[string]string{"K7QXPMWA": "([A-Z0-9]{8})", `14:32`: `\d\d:\d\d`, "@desk_bot": `@\S+`,
		`t\.me/desk_bot`: `\S+`} {
		pattern = strings.ReplaceAll(pattern, like, any)
	}
	got := o.must(t, "notify", "pair", "telegram")
	found := regexp.MustCompile("^" + pattern + "$").FindStringSubmatch(got)
	if found == nil {
		t.Fatalf("notify pair prints\n%s\nwant as on the page\n%s", got, shown)
	}
	me := telegramtest.Person{ID: 77, Server: server}
	me.Write("/pair "+found[1], 0)
	server.Shows(t, me.ID, "This chat is paired with your post office.")
	o.must(t, "notify", "test", "telegram")
	server.Shows(t, me.ID, "test")
}

// TestWakeDocs follows docs/wake.md, with the configuration from that page and an agent written for tests.
func TestWakeDocs(t *testing.T) {
	t.Parallel()
	page := readPage(t, "wake.md")
	s := newTheatre(t)
	notes := filepath.Join(s.root, "notes")
	s.must("stop")
	argv := strings.ReplaceAll(fmt.Sprintf("%q", acptest.Command(t, "turn", notes)), `" "`, `", "`)
	config := strings.Replace(pageBlocks(page, "toml")[0], `["gemini", "--acp"]`, argv, 1)
	config = strings.Replace(config, "/src/shop", s.dir, 1)
	check(t, os.WriteFile(filepath.Join(s.home, "config.toml"), []byte(config), 0o600))
	_, lines, _ := strings.Cut(page, "write to it:\n\n")
	lines, _, _ = strings.Cut(lines, "\n\n")
	var said string
	for line := range strings.Lines(lines) {
		line = strings.TrimSpace(line)
		r := typed(t, s.office, line)
		if said += r.stdout; r.code != 0 {
			t.Fatalf("%s: exit %d\n%s%s", line, r.code, r.stdout, r.stderr)
		}
	}
	if !strings.Contains(said, "is being woken") {
		t.Errorf("send does not say that reviewer is being woken:\n%s", said)
	}
	eventually(t, "the agent reads its mail", func() bool {
		text, _ := os.ReadFile(notes)
		return strings.Contains(string(text), "Is the parser good?")
	})
}
