package install

import (
	"path/filepath"

	"pennypost/internal/front/install/jsonc"
)

// gemini is Gemini CLI (google-gemini/gemini-cli docs/hooks and docs/tools/mcp-server.md, August 2026; 0.61). It
// counts milliseconds.
func gemini() Client {
	settings := func(o *Options) string {
		if o.Scope == Project {
			return filepath.Join(o.Root, ".gemini", "settings.json")
		}
		return filepath.Join(o.Home, ".gemini", "settings.json")
	}
	return Client{
		Name: "gemini", Title: "Gemini CLI", Program: "gemini", Scopes: []Scope{User, Project},
		files: func(o *Options) []file {
			return []file{{settings(o), "MCP server, hooks", &jsonFile{
				o: o,
				server: &jsonServer{in: "mcpServers",
					value: raw(stdioServer{Command: o.Binary, Args: mcpArgs(o), Timeout: 1000 * toolTimeout})},
				hooks: groupHooks(o, "gemini", func(string) int { return 1000 * hookTimeout },
					[]string{"SessionStart", "BeforeAgent", "BeforeTool", "AfterTool", "AfterAgent", "SessionEnd"}),
			}}}
		},
		notes: func(o *Options) []string {
			if o.Scope == Project {
				return []string{"Gemini CLI shows a project's hooks before it runs them the first time.", sharedPath}
			}
			return []string{restart}
		},
		disabled: func(o *Options) (string, string) {
			if path := settings(o); memberIs(path, jsonc.False, "hooksConfig", "enabled") {
				return path, `"hooksConfig": {"enabled": false}`
			}
			return "", ""
		},
	}
}
