package main

import (
	"maps"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/front/install"
)

// object is a JSON object that is defined once. Its members are in alphabetical order.
type object map[string]any

// pluginDirs are the directories of the plugins with a skill of their own: those of Claude Code, Codex and Copilot
// CLI.
func pluginDirs() []string { return []string{"plugin", "plugins/codex", "plugins/copilot"} }

// manifest is the common part of all plugins' manifests, with further members of one of them.
func (p *product) manifest(more object) object {
	m := object{"name": p.Name, "version": p.Version, "description": p.Says, "author": object{"name": p.Title},
		"homepage": p.Home, "repository": p.Home, "license": p.License, "keywords": p.Keywords}
	maps.Copy(m, more)
	return m
}

// hooks returns the hooks of a client, in the form of its own file, with further members.
func hooks(client string, more object) (object, error) {
	text, err := install.PluginHooks(client)
	if err != nil {
		return nil, err
	}
	file := object{}
	if err := jsonx.Unmarshal(text, &file); err != nil {
		return nil, err
	}
	maps.Copy(file, more)
	return file, nil
}

// servers is the MCP server of a plugin, with further members that the client wants.
func servers(more object) object {
	server := object{"command": "pennypost", "args": []string{"mcp"}}
	maps.Copy(server, more)
	return object{"mcpServers": object{"pennypost": server}}
}

// hooksSay describes a plugin's hooks.
const hooksSay = "Tells the agent of mail, and the post office how the session fares. Each hook is silent when " +
	"there is nothing to say."

// claude is Claude Code's plugin and marketplace (code.claude.com/docs: plugins-reference, plugin-marketplaces, as of
// 2.1.240).
func (p *product) claude(files map[string][]byte) error {
	of, err := hooks("claude", object{"description": hooksSay})
	if err != nil {
		return err
	}
	return put(files, map[string]any{
		".claude-plugin/marketplace.json": object{"name": p.Name, "owner": object{"name": p.Title},
			"metadata": object{"description": p.Says, "version": p.Version},
			"plugins": []object{{"name": p.Name, "source": "./plugin", "description": p.Says,
				"version": p.Version}}},
		"plugin/.claude-plugin/plugin.json": p.manifest(object{
			"experimental": object{"monitors": "./monitors/monitors.json"}}),
		"plugin/.mcp.json":        servers(object{"type": "stdio", "alwaysLoad": true}),
		"plugin/hooks/hooks.json": of,
	})
}

// codex is Codex's plugin and marketplace (developers.openai.com/codex/plugins/build; seen with 0.169.0). Its
// marketplaces cannot have their own root as a plugin.
func (p *product) codex(files map[string][]byte) error {
	of, err := hooks("codex", nil)
	if err != nil {
		return err
	}
	const dir = "plugins/codex/"
	return put(files, map[string]any{
		".agents/plugins/marketplace.json": object{"name": p.Name, "interface": object{"displayName": p.Title},
			"plugins": []object{{"name": p.Name, "category": "Productivity",
				"source": object{"source": "local", "path": "./plugins/codex"},
				"policy": object{"installation": "AVAILABLE", "authentication": "ON_INSTALL"}}}},
		dir + ".codex-plugin/plugin.json": p.manifest(object{"skills": "./skills/", "mcpServers": "./.mcp.json",
			"hooks":     "./hooks/hooks.json",
			"interface": object{"displayName": p.Title, "shortDescription": p.Says, "category": "Productivity"}}),
		dir + ".mcp.json": servers(object{"tool_timeout_sec": install.ToolTimeout,
			"env_vars": install.ServerVariables()}),
		dir + "hooks/hooks.json": of,
	})
}

// copilot is Copilot CLI's plugin and marketplace (docs.github.com: cli-plugin-reference; seen with 1.0.102). It
// looks for a marketplace there before it uses Claude Code's, whose hooks have other names.
func (p *product) copilot(files map[string][]byte) error {
	of, err := hooks("copilot", nil)
	if err != nil {
		return err
	}
	const dir = "plugins/copilot/"
	return put(files, map[string]any{
		".github/plugin/marketplace.json": object{"name": p.Name, "owner": object{"name": p.Title},
			"metadata": object{"description": p.Says, "version": p.Version},
			"plugins": []object{{"name": p.Name, "source": "./plugins/copilot", "description": p.Says,
				"version": p.Version}}},
		dir + "plugin.json": p.manifest(object{"skills": "skills/", "mcpServers": ".mcp.json", "hooks": "hooks.json"}),
		dir + ".mcp.json":   servers(object{"type": "local", "tools": []string{"*"}}),
		dir + "hooks.json":  of,
	})
}

// gemini is Gemini CLI's extension, which is the repository itself (geminicli.com/docs/extensions; seen with 0.61.0).
// An extension cannot make its server trusted.
func (p *product) gemini(files map[string][]byte) error {
	of, err := hooks("gemini", nil)
	if err != nil {
		return err
	}
	server := servers(object{"timeout": 1000 * install.ToolTimeout})
	return put(files, map[string]any{
		"gemini-extension.json": object{"name": p.Name, "version": p.Version, "description": p.Says,
			"mcpServers": server["mcpServers"]},
		"hooks/hooks.json": object{"hooks": of["hooks"]},
	})
}

// openCode is opencode's plugin, a package in npm's form that may be anywhere (opencode.ai/docs/plugins; seen with
// 1.18.33, which loads the module that exports name "./server").
func (p *product) openCode(files map[string][]byte) error {
	const dir = "plugins/opencode/"
	files[dir+openCodeModule] = install.PluginModule()
	return put(files, map[string]any{dir + "package.json": p.npmPackage("opencode-"+p.Name, object{"type": "module",
		"exports": openCodeExports(), "files": []string{openCodeModule}})})
}

const openCodeModule = "opencode.mjs"

func openCodeExports() object { return object{"./server": "./" + openCodeModule} }

// portable is the repository as an Agent Plugin 1.0 (agent-plugins.org), which has skills and servers, no hooks, and
// only the members of its schema.
func (p *product) portable(files map[string][]byte) error {
	const schemas = "https://agent-plugins.org/schemas/1.0.0/"
	server := servers(object{"type": "stdio"})
	server["$schema"] = schemas + "mcp.schema.json"
	return put(files, map[string]any{
		"plugin.json": p.manifest(object{"$schema": schemas + "plugin.schema.json"}),
		"mcp.json":    server,
	})
}
