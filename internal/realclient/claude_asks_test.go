package realclient

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// claudeAsk: without the rule Claude Code asks before a tool of ours, as install --ask and doctor say. An
// installation without --ask adds it.
func claudeAsk(t *testing.T, l *lab) {
	if said := l.pp("install", "claude", "--ask"); !strings.Contains(said, "asks you before") {
		t.Errorf("install does not say what will ask:\n%s", said)
	}
	l.startOffice()
	const missing = "it asks before it uses Pennypost's tools, and an agent that is alone waits there"
	if said := l.doctor(); !strings.Contains(said, missing) {
		t.Errorf("doctor does not say what will ask:\n%s", said)
	}
	w := l.tui()
	w.prompt("hello first [[say hi]]")
	w.sees("● hi") // the tools are loaded by then
	w.prompt("hello ask [[tool list_agents {}]] [[say never]]")
	w.sees("Do you want to proceed?")
	w.breakOff()
	w.leave()
	l.pp("install", "claude")
	if said := l.doctor(); strings.Contains(said, missing) {
		t.Errorf("doctor still says that it asks:\n%s", said)
	}
	l.finished(l.begin("hello allowed [[tool list_agents {}]] [[say bye]]"))
	l.request("hello allowed", `"you":`)
}

// claudePlan: in plan mode Claude Code asks before our tools that write, although they are allowed, and before no
// others.
func claudePlan(_ *testing.T, l *lab) {
	l.install()
	l.client.tui = []string{"--permission-mode", "plan"}
	w := l.tui()
	w.prompt("hello first [[say hi]]")
	w.sees("● hi") // the tools are loaded by then
	w.prompt("hello plan [[tool list_agents {}]] [[tool set_presence {}]] [[say bye]]")
	l.request("hello plan", `"you":`)
	w.sees("Do you want to proceed?")
	w.answer("Enter")
	l.request("hello plan", `"last_seen"`, `"name":"`+string(l.agent)+`"`)
}

// claudePluginAsks: a plugin cannot allow its tools, so Claude Code asks, until the rule that doctor names is there.
func claudePluginAsks(t *testing.T, l *lab) {
	plugin := filepath.Join(l.dir, "plugin")
	l.must(os.CopyFS(plugin, os.DirFS("../../plugin")))
	const allow = `{"permissions": {"allow": ["mcp__plugin_pennypost_pennypost"]}}`
	l.write(filepath.Join(plugin, "settings.json"), allow)
	l.startOffice()
	l.client.tui = append(l.client.tui, "--plugin-dir", plugin)
	w := l.tui()
	w.prompt("hello first [[say hi]]")
	w.sees("● hi") // the tools are loaded by then
	w.prompt("hello ask [[tool list_agents {}]] [[say never]]")
	l.until("it asks, or the plugin has allowed it", func() bool {
		return strings.Contains(w.screen(), "Do you want to proceed?") || l.asked(`"you":`)
	})
	if l.asked(`"you":`) {
		t.Error("a plugin can allow its tools after all: let ours do that")
	}
	w.breakOff()
	l.write(".claude/settings.json", allow)
	w = l.tui()
	w.prompt("hello again [[say hello]]")
	w.sees("● hello")
	w.prompt("hello allowed [[tool list_agents {}]] [[say bye]]")
	l.request("hello allowed", `"you":`)
}
