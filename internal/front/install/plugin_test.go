package install

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pennypost/internal/front/install/jsonc"
)

// The plugin has the shape that code.claude.com/docs (plugins-reference, plugin-marketplaces, as of 2.1.240)
// describes. Its content equals install's, because scripts/manifests generates it from that.
func TestPlugin(t *testing.T) {
	top := filepath.Join("..", "..", "..")
	parse := func(name string, known ...string) *jsonc.Node {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(top, filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		n, err := jsonc.Parse(text)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, it := range n.Items {
			if n.Kind == jsonc.Object && !slices.Contains(known, it.Name) {
				t.Errorf("%s has the member %q, which is not documented", name, it.Name)
			}
		}
		return n
	}

	market := parse(".claude-plugin/marketplace.json", "name", "owner", "metadata", "plugins")
	if market.At("name").Text() == "" || market.At("owner", "name").Text() == "" ||
		len(market.At("plugins").Items) != 1 {
		t.Error("the marketplace needs a name, an owner with a name, and plugins")
	}
	entry := market.At("plugins").Items[0].Value
	source := entry.At("source").Text()
	if info, err := os.Stat(filepath.Join(top, source)); err != nil || !info.IsDir() ||
		!strings.HasPrefix(source, "./") {
		t.Errorf("the source %q is no directory relative to the marketplace: %v", source, err)
	}

	manifest := parse("plugin/.claude-plugin/plugin.json", "name", "version", "description", "author", "homepage",
		"repository", "license", "keywords", "experimental")
	if name := manifest.At("name").Text(); name != entry.At("name").Text() || name != serverName {
		t.Errorf("the plugin is called %q, and %q in the marketplace", name, entry.At("name").Text())
	}

	server := parse("plugin/.mcp.json", "mcpServers").At("mcpServers", serverName)
	if server.At("type").Text() != "stdio" || server.At("command").Text() != "pennypost" ||
		server.At("args").Items[0].Value.Text() != "mcp" || server.At("alwaysLoad").Kind != jsonc.True {
		t.Errorf("the server is %s", server.Raw())
	}

	for _, it := range parse(filepath.Join("plugin", manifest.At("experimental", "monitors").Text())).Items {
		if it.Value.At("command").Text() != "pennypost monitor" || it.Value.At("when").Text() != "always" {
			t.Errorf("the monitor is %s", it.Value.Raw())
		}
	}
}

// A command is Markdown after a head of keys that Claude Code knows, and names our tools as a plugin's server does.
func TestPluginCommands(t *testing.T) {
	dir := filepath.Join("..", "..", "..", "plugin", "commands")
	for _, name := range []string{"history", "inbox", "bye", "checkpoint"} {
		text, err := os.ReadFile(filepath.Join(dir, name+".md"))
		if err != nil {
			t.Error(err)
			continue
		}
		parts := strings.SplitN(string(text), "---\n", 3)
		if len(parts) != 3 || parts[0] != "" || strings.TrimSpace(parts[2]) == "" {
			t.Errorf("%s has no head, or no body", name)
			continue
		}
		for line := range strings.Lines(parts[1]) {
			key, value, ok := strings.Cut(line, ": ")
			if !ok || !slices.Contains([]string{"description", "argument-hint", "allowed-tools"}, key) {
				t.Errorf("%s has the line %q in its head", name, line)
			}
			for tool := range strings.SplitSeq(value, ",") {
				if tool = strings.TrimSpace(tool); key == "allowed-tools" &&
					!strings.HasPrefix(tool, "mcp__plugin_pennypost_pennypost__") &&
					!strings.HasPrefix(tool, "Bash(pennypost ") {
					t.Errorf("%s allows %q", name, tool)
				}
			}
		}
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) != 4 {
		t.Errorf("there are %d commands, %v", len(list), err)
	}
}
