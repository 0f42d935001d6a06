package install

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"pennypost/internal/front/install/jsonc"
)

// Doctor names the questions that clients will ask their user, because an agent that is alone waits there.

// asksEach is doctor's text for a client that asks about our tools.
const asksEach = "it asks before it uses Pennypost's tools, and an agent that is alone waits there"

// trustsFolder warns that the client asks about the project's folder when it starts there, unless it trusts the
// folder.
func trustsFolder(o *Options, trusts bool, answer string) []string {
	if trusts || o.Root == o.Home {
		return nil
	}
	return []string{"it asks whether you trust " + o.Root + " when it starts there: answer \"" + answer + "\""}
}

// claudeWarns looks for the rules that decide about our tools, and whether the folder is trusted.
func claudeWarns(o *Options) (out []string) {
	rule, mend := claudeRule, "pennypost install claude"
	if claudePlugin(o) != "" { // the plugin's server has another name, and it cannot bring a rule
		rule = "mcp__plugin_" + serverName + "_" + serverName
		mend = "add \"" + rule + "\" to permissions.allow of " + o.claudeDir("settings.json")
	}
	allowed := false
	for _, path := range o.claudeSettings() {
		permissions := jsonOf(path).Member("permissions")
		for _, list := range []string{"deny", "ask"} {
			for _, is := range texts(permissions.Member(list)) {
				if is == rule || strings.HasPrefix(is, rule+"__") {
					out = append(out, is+" in permissions."+list+" overrides the permission: $EDITOR "+path)
				}
			}
		}
		allow := texts(permissions.Member("allow"))
		allowed = allowed || slices.Contains(allow, rule) || slices.Contains(allow, rule+"__*")
	}
	if !allowed {
		out = append(out, asksEach+": "+mend)
	}
	project := jsonOf(o.claudeServers()).At("projects", o.Root)
	if o.Scope == Project && !claudeApproved(o, project) {
		out = append(out, "it asks once whether it may use the server in .mcp.json")
	}
	trusts := isTrue(project.Member("hasTrustDialogAccepted"))
	return append(out, trustsFolder(o, trusts, "Yes, I trust this folder")...)
}

// claudeApproved reports whether Claude Code's user has approved our server in the project's .mcp.json.
func claudeApproved(o *Options, project *jsonc.Node) bool {
	const list = "enabledMcpjsonServers"
	for _, path := range o.claudeSettings() {
		settings := jsonOf(path)
		if isTrue(settings.Member("enableAllProjectMcpServers")) ||
			slices.Contains(texts(settings.Member(list)), serverName) {
			return true
		}
	}
	return slices.Contains(texts(project.Member(list)), serverName)
}

// codexWarns names the keys that make Codex ask about our tools. By default it does not: they are marked as neither
// destructive nor open-world (seen with 0.169.0).
func codexWarns(o *Options) (out []string) {
	path := filepath.Join(o.codexDir(), "config.toml")
	m, _ := tomlOf(path)
	server, _ := dig(m, servers, serverName).(map[string]any)
	modes := map[string]any{"default_tools_approval_mode": server["default_tools_approval_mode"]}
	tools, _ := server["tools"].(map[string]any)
	for name := range tools {
		modes["tools."+name+".approval_mode"] = dig(tools, name, "approval_mode")
	}
	for key, mode := range modes {
		if mode == "prompt" || mode == "writes" {
			out = append(out, asksEach+", because of "+key+": $EDITOR "+path)
		}
	}
	slices.Sort(out)
	m, _ = tomlOf(filepath.Join(o.personal().codexDir(), "config.toml"))
	trusts := dig(m, "projects", o.Root, "trust_level") == "trusted"
	return append(out, trustsFolder(o, trusts, "Trust and continue")...)
}

const cursorRule = serverName + ":*"

// cursorAsks follows Cursor's documents (cursor.com/docs/reference/permissions). A list in its file replaces the one
// in its window, so install writes none.
const cursorAsks = "asks before it uses Pennypost's tools until you add them to its allowlist: in that question, " +
	"or as \"" + cursorRule + "\" in mcpAllowlist of ~/.cursor/permissions.json, if you keep such a list there"

func cursorWarns(o *Options) []string {
	for _, dir := range []string{o.Home, o.Root} {
		allowed := jsonOf(filepath.Join(dir, ".cursor", "permissions.json")).Member("mcpAllowlist")
		if slices.Contains(texts(allowed), cursorRule) {
			return nil
		}
	}
	return []string{"it " + cursorAsks}
}

// trustWarns says that the server's entry lacks the member that allows its tools, or has another value there.
func trustWarns(client, path string) []string {
	switch trust := jsonOf(path).At("mcpServers", serverName, "trust"); {
	case isTrue(trust):
		return nil
	case trust != nil: // install leaves it as it is
		return []string{asksEach + ", because the server's entry says otherwise: $EDITOR " + path}
	}
	return []string{asksEach + ": pennypost install " + client}
}

// jsonOf returns the content of a file, or nil if the file is missing or malformed.
func jsonOf(path string) *jsonc.Node {
	text, _ := os.ReadFile(path)
	root, err := jsonc.Parse(text)
	if err != nil {
		return nil
	}
	return root
}

func isTrue(n *jsonc.Node) bool { return n != nil && n.Kind == jsonc.True }

// texts returns the strings in a list.
func texts(n *jsonc.Node) (all []string) {
	if n == nil {
		return nil
	}
	for _, it := range n.Items {
		all = append(all, it.Value.Text())
	}
	return all
}
