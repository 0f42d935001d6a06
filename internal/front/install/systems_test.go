package install

import (
	"path/filepath"
	"strings"
	"testing"
)

// The paths of clients' files on other systems, and the form of their hooks there. Paths are joined as on this
// system; nothing else depends on it.
func TestOtherSystems(t *testing.T) {
	for _, tt := range []struct {
		goos, client, appData string
		paths                 []string // relative to the home
		has, lacks            string   // parts of the written text
	}{
		{"linux", "vscode", "", []string{".config/Code/User/mcp.json"}, "", ""},
		{"darwin", "vscode", "", []string{"Library/Application Support/Code/User/mcp.json"}, "", ""},
		{"windows", "vscode", "", []string{"AppData/Roaming/Code/User/mcp.json"}, "", ""},
		{"windows", "vscode", "Roams", []string{"Roams/Code/User/mcp.json"}, "", ""},
		{"darwin", "goose", "", []string{".config/goose/config.yaml"}, "", ""},
		{"windows", "goose", "", []string{"AppData/Roaming/Block/goose/config/config.yaml"}, "", ""},
		{"windows", "claude", "", []string{".claude/settings.json", ".claude.json"}, "hook claude Stop",
			"asyncRewake"},
		{"darwin", "claude", "", []string{".claude/settings.json", ".claude.json"}, "asyncRewake", ""},
		{"windows", "copilot", "", []string{".copilot/mcp-config.json", ".copilot/hooks/pennypost.json",
			".copilot/extensions/pennypost/extension.mjs"},
			`"powershell": "& \"C:\\Program Files\\pp\\pennypost.exe\" hook copilot agentStop"`, `"bash": `},
		{"darwin", "copilot", "", []string{".copilot/mcp-config.json", ".copilot/hooks/pennypost.json",
			".copilot/extensions/pennypost/extension.mjs"}, `"bash": "/usr/local/bin/pennypost hook`, "powershell"},
		{"windows", "agy", "", []string{".gemini/config/mcp_config.json", ".gemini/config/hooks.json"},
			`\"C:\\Program Files\\pp\\pennypost.exe\" hook agy Stop`, ""},
	} {
		p := newPlace(t)
		o := p.options(User)
		if o.GOOS = tt.goos; tt.goos == "windows" {
			o.Binary = `C:\Program Files\pp\pennypost.exe`
		}
		if tt.appData != "" {
			p.env["APPDATA"] = filepath.Join(o.Home, tt.appData)
		}
		c, _ := Find(tt.client)
		files := c.files(o)
		if len(files) != len(tt.paths) {
			t.Fatalf("%s on %s has %d files, want %q", tt.client, tt.goos, len(files), tt.paths)
		}
		written := ""
		for i, f := range files {
			if want := filepath.Join(o.Home, filepath.FromSlash(tt.paths[i])); f.path != want {
				t.Errorf("%s on %s: %s, want %s", tt.client, tt.goos, f.path, want)
			}
			if tt.client != "goose" { // its file is not written
				written += put(t, f, "")
			}
		}
		if !strings.Contains(written, tt.has) || tt.lacks != "" && strings.Contains(written, tt.lacks) {
			t.Errorf("%s on %s: written is\n%s\nwant %s, and no %q", tt.client, tt.goos, written, tt.has, tt.lacks)
		}
	}
}
