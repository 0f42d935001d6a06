package install

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Doctor names the tools about which Copilot will ask in this project, and says whether idle sessions are woken.
func TestCopilotWarns(t *testing.T) {
	const all = "before send_message, mark_messages, set_presence, and an agent"
	for _, c := range []struct {
		settings, allowed string
		want              []string // a part of each warning
	}{
		{"", "", []string{all, "enabledFeatureFlags.EXTENSIONS true"}},
		{`{"experimental": true}`, `{"toolName": "send_message"}`, []string{"before mark_messages, set_presence, and"}},
		{`{"enabledFeatureFlags": {"EXTENSIONS": true}}`,
			`{"toolName": "send_message"}, {"toolName": "mark_messages"}, {"toolName": "set_presence"}`, nil},
		{`{"enabledFeatureFlags": {"EXTENSIONS": false}, "defaultPermissionMode": "allow-all"}`, "",
			[]string{"enabledFeatureFlags.EXTENSIONS true"}},
		{`{"experimental": true}`, `{"serverName": "other", "toolName": "send_message"}`,
			[]string{all}},
		{`{"experimental": true}`, `{}`, nil}, // all of the server's
		{"{", "{", []string{all, "enabledFeatureFlags.EXTENSIONS true"}},
	} {
		p := newPlace(t)
		o := p.options(User)
		dir := filepath.Join(o.Home, ".copilot")
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		approvals := strings.ReplaceAll(c.allowed, "{", `{"kind": "mcp", "serverName": "pennypost", `)
		approvals = strings.ReplaceAll(approvals, ", }", "}")
		for name, text := range map[string]string{
			"settings.json": c.settings, "config.json": `{"trustedFolders": [` + raw(filepath.Dir(o.Root)) + `]}`,
			"permissions-config.json": `{"locations": {` + raw(o.Root) + `: {"tool_approvals": [` + approvals +
				`]}, ` +
				`"/elsewhere": {"tool_approvals": [{"kind": "mcp", "serverName": "pennypost"}]}}}`,
		} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if c.settings == "" {
			p.install(copilot(), o)
			if got := copilotWarns(o); len(got) != 1 {
				t.Errorf("installed: %q", got)
			}
			o.Ask = true
			p.install(copilot(), o)
		}
		got := copilotWarns(o)
		ok := len(got) == len(c.want)
		for i := range min(len(got), len(c.want)) {
			ok = ok && strings.Contains(got[i], c.want[i])
		}
		if !ok {
			t.Errorf("%s, %s: %q, want %q", c.settings, c.allowed, got, c.want)
		}
	}
}
