package install

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Codex 0.169.0 reported these hashes for these hooks (app-server, hooks/list).
func TestCodexTrustHashes(t *testing.T) {
	const hooks = `{"hooks": {
		"PreToolUse": [{"matcher": "Bash", "hooks": [
			{"type": "command", "command": "/usr/local/bin/pennypost hook codex PreToolUse", "timeout": 10}]}],
		"Stop": [{"hooks": [{"type": "command", "command": "make check", "timeout": 10},
			{"type": "command", "command": "/usr/local/bin/pennypost hook codex Stop --as 'weiß <ß> & \"q\"'", "timeout": 10}]}],
		"SessionEnd": [{"hooks": []}, {"hooks": [
			{"type": "command", "command": "/usr/local/bin/pennypost hook codex SessionEnd", "timeout": 3}]}]
	}}`
	want := []trustedHook{
		{"PreToolUse", "/h/hooks.json:pre_tool_use:0:0",
			"sha256:4de4b2188aab64f96b1eae6ba0542dcd0b797ff70a1f27dd89aaff85f15b4fbd"},
		{"SessionEnd", "/h/hooks.json:session_end:1:0",
			"sha256:c96299f61e4fa43308f840fe961af0af84ed86f89c57e36d5bac7e927481621d"},
		{"Stop", "/h/hooks.json:stop:0:1", "sha256:b7165e2ee9b17f466a3ec5b02cfe896ff19a4d3d3728e1b75a809ac10352d572"},
	}
	if diff := cmp.Diff(want, trustOf("/h/hooks.json", []byte(hooks)),
		cmp.AllowUnexported(trustedHook{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// untrusted returns doctor's report on Codex.
func untrusted(t *testing.T, o *Options) []string {
	t.Helper()
	for _, r := range Look(*o) {
		if r.Client.Name == "codex" && r.Scope == o.Scope {
			return r.Untrusted
		}
	}
	return nil
}

// Trust is written where Codex writes it, is recognized as Codex would, and is removed with us, including the table
// that Codex made for it.
func TestCodexTrust(t *testing.T) {
	const inTables = "[[hooks.Stop]]\n[[hooks.Stop.hooks]]\n" +
		"type = \"command\"\ncommand = \"make check\"\ntimeout = 9\n"
	for _, tt := range []struct {
		name, config string
		scope        Scope
	}{{"user", "model = \"m\"\n", User}, {"none", "", User}, {"tables", inTables, User},
		{"project", "model = \"m\"\n", Project}} {
		t.Run(tt.name, func(t *testing.T) {
			p, o := newPlace(t), (*Options)(nil)
			c, _ := Find("codex")
			if o = p.options(tt.scope); tt.config != "" {
				p.write("home/.codex/config.toml", []byte(tt.config))
			}
			before := p.files()
			p.install(c, o)
			if got := untrusted(t, o); len(got) != len(codexEvents()) {
				t.Errorf("after install, %q are not trusted, want all", got)
			}
			o.Trust = true
			plan := p.install(c, o)
			if got := untrusted(t, o); len(got) > 0 {
				t.Errorf("after install --trust, %q are not trusted", got)
			}
			if strings.Contains(strings.Join(plan.Notes, ""), "Trust all") {
				t.Errorf("what was trusted is asked for: %q", plan.Notes)
			}
			if again := p.install(c, o); again.Changed() {
				t.Errorf("a second time changes %+v", again.Changes)
			}
			// Codex writes the parent table too, and a key of its own.
			config := p.files()["home/.codex/config.toml"]
			at := strings.Index(config, "[hooks.state.")
			p.write("home/.codex/config.toml",
				[]byte(config[:at]+"[hooks.state]\n\n"+config[at:]+"\n[tui]\nx = true\n"))
			p.uninstall(c, o)
			after := p.files()
			left := after["home/.codex/config.toml"]
			if strings.Contains(left, "hooks.state") || strings.Contains(left, "pennypost") ||
				!strings.Contains(left, "[tui]") ||
				!strings.HasPrefix(left, before["home/.codex/config.toml"]) {
				t.Errorf("uninstall left\n%s", left)
			}
		})
	}
}

// A person's trust in other hooks stays.
func TestCodexTrustOfOthers(t *testing.T) {
	p := newPlace(t)
	c, _ := Find("codex")
	o := p.options(User)
	o.Trust = true
	const config = "[hooks.state]\n\n[hooks.state.\"/elsewhere/hooks.json:stop:0:0\"]\ntrusted_hash = \"sha256:1\"\n"
	p.write("home/.codex/config.toml", []byte(config))
	before := p.files()
	p.install(c, o)
	changed := strings.ReplaceAll(p.files()["home/.codex/config.toml"], "trusted_hash = \"sha256:",
		"trusted_hash = \"sha256:0")
	p.write("home/.codex/config.toml", []byte(strings.Replace(changed, "sha256:01", "sha256:1", 1)))
	if got := untrusted(t, o); !slices.Contains(got, "Stop") {
		t.Errorf("hooks that changed since are not missed: %q", got)
	}
	p.install(c, o)
	if got := untrusted(t, o); len(got) > 0 {
		t.Errorf("not trusted again: %q", got)
	}
	p.uninstall(c, o)
	if diff := cmp.Diff(before, p.files()); diff != "" {
		t.Errorf("uninstall (-want +got):\n%s", diff)
	}
	claude, _ := Find("claude")
	if _, err := Install(claude, o); err == nil {
		t.Error("claude is installed with --trust")
	}
}
