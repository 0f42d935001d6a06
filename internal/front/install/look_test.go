package install

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLook(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	p := newPlace(t)
	o := p.options(User)
	report := func(client string, scope Scope) Report {
		t.Helper()
		for _, r := range Look(*o) {
			if r.Client.Name == client && r.Scope == scope {
				return r
			}
		}
		t.Fatalf("nothing is said of %s %s", client, scope)
		return Report{}
	}
	if r := report("codex", User); r.Present || r.Installed() {
		t.Errorf("nothing is there, and Look says %+v", r)
	}
	c, _ := Find("codex")
	p.install(c, o)
	if r := report("codex", User); !r.Present || !r.Installed() || r.Behind() || r.Disabled != "" ||
		len(r.Files[1].Entries) != len(codexEvents()) {
		t.Errorf("Codex is installed, and Look says %+v", r)
	}
	if r := report("codex", Project); r.Installed() {
		t.Errorf("the project is not installed, and Look says %+v", r)
	}
	p.write("home/.codex/config.toml", []byte("[features]\nhooks = false\n[mcp_servers.pennypost]\ncommand = "+
		"\"/gone/pennypost\"\nargs = [\"mcp\"]\n[mcp_servers.builder]\ncommand = \"pennypost\"\nargs = [\"mcp\", "+
		"\"--as\", \"builder\"]\n"))
	r := report("codex", User)
	if !r.Behind() || !strings.Contains(r.Disabled, "hooks = false") {
		t.Errorf("an old and disabled configuration: %+v", r)
	}
	if e := r.Files[0].Entries; len(e) != 2 || e[0] != (Entry{"MCP server pennypost", "/gone/pennypost", 3}) ||
		e[1] != (Entry{"MCP server builder", "pennypost", 6}) {
		t.Errorf("entries %+v", e)
	}
	p.write("home/.claude/settings.json", []byte(`{"enabledPlugins": {"pennypost@pennypost": true}}`))
	if r := report("claude", User); r.Plugin != "pennypost@pennypost" || len(r.Warnings) == 0 {
		t.Errorf("the plugin is not seen, or not what it will ask: %+v", r)
	}
	p.install(claude(), o)
	p.write("home/.claude/settings.json", []byte("// mine\n"+p.files()["home/.claude/settings.json"]))
	if r := report("claude", User); r.Files[0].Err == nil ||
		!strings.Contains(r.Files[0].Err.Error(), "has comments") {
		t.Errorf("a file that Claude Code ignores: %+v", r)
	}
	p.write("home/.cursor/mcp.json", []byte(`{`))
	if r := report("cursor", User); r.Files[0].Err == nil || r.Installed() {
		t.Errorf("a torn file: %+v", r)
	}
}

// Gemini CLI runs neither hooks nor servers in an untrusted folder, and asks before each tool of an untrusted server:
// doctor says so.
func TestGeminiWarns(t *testing.T) {
	const allows = `{"mcpServers": {"pennypost": {"trust": true}}}`
	for name, c := range map[string]struct {
		settings, trusted string
		want              []string
	}{
		"trusted":      {allows, `{"ROOT": "TRUST_FOLDER"}`, nil},
		"a parent":     {allows, `{"HOME": "TRUST_FOLDER"}`, nil},
		"parent of":    {allows, `{"ROOT/below": "TRUST_PARENT"}`, nil},
		"but not here": {allows, `{"HOME": "TRUST_FOLDER", "ROOT": "DO_NOT_TRUST"}`, []string{"does not trust"}},
		"another":      {allows, `{"ROOT2": "TRUST_FOLDER"}`, []string{"does not trust"}},
		"nothing":      {allows, `{}`, []string{"does not trust"}},
		"it never asks": {`{"security": {"folderTrust": {"enabled": false}}, "mcpServers": {"pennypost": {"trust": ` +
			`true}}}`, `{}`, nil},
		"tools need leave": {`{"mcpServers": {"pennypost": {"trust": false}}}`, `{"ROOT": "TRUST_FOLDER"}`,
			[]string{"says otherwise: $EDITOR"}},
		"an individual's account": {`{"security": {"auth": {"selectedType": "oauth-personal"}}, "mcpServers": ` +
			`{"pennypost": {"trust": true}}}`, `{"ROOT": "TRUST_FOLDER"}`, []string{"no personal accounts"}},
		"an API key": {`{"security": {"auth": {"selectedType": "gemini-api-key"}}, "mcpServers": ` +
			`{"pennypost": {"trust": true}}}`, `{"ROOT": "TRUST_FOLDER"}`, nil},
		"installed with --ask": {`{"mcpServers": {"pennypost": {}}}`, `{"ROOT": "TRUST_FOLDER"}`,
			[]string{"waits there: pennypost install gemini"}},
	} {
		home := t.TempDir()
		o := &Options{Scope: User, Home: home, Root: filepath.Join(home, "shop"), Getenv: func(string) string {
			return ""
		}}
		dir := filepath.Join(home, ".gemini")
		text := strings.NewReplacer("ROOT", o.Root, "HOME", home).Replace(c.trusted)
		for _, err := range []error{
			os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, "settings.json"), []byte(c.settings), 0o600),
			os.WriteFile(filepath.Join(dir, "trustedFolders.json"), []byte(text), 0o600),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		got := gemini().warns(o)
		if len(got) != len(c.want) || len(got) > 0 && !strings.Contains(got[0], c.want[0]) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// Someone with an organisation's licence names its project.
func TestGeminiLicence(t *testing.T) {
	p := newPlace(t)
	p.write("home/.gemini/settings.json", []byte(`{"security": {"auth": {"selectedType": "oauth-personal"}}}`))
	o := p.options(User)
	if notes := strings.Join(gemini().notes(o), " "); !strings.Contains(notes, "install agy") {
		t.Errorf("an individual is told %q", notes)
	}
	p.env["GOOGLE_CLOUD_PROJECT"] = "shop"
	if notes := strings.Join(gemini().notes(o), " "); strings.Contains(notes, "install agy") {
		t.Errorf("an organisation is told %q", notes)
	}
}
