package install

import (
	"path/filepath"

	"pennypost/internal/front/install/jsonc"
)

// qwen is Qwen Code (the real one, 0.15.10). It counts milliseconds.
func qwen() Client {
	settings := func(o *Options) string {
		switch dir := o.Getenv("QWEN_HOME"); {
		case o.Scope == Project:
			return filepath.Join(o.Root, ".qwen", "settings.json")
		case dir != "":
			return filepath.Join(dir, "settings.json")
		}
		return filepath.Join(o.Home, ".qwen", "settings.json")
	}
	return Client{
		Name: "qwen", Title: "Qwen Code", Program: "qwen", Scopes: []Scope{User, Project},
		allows: trustedEntry,
		files: func(o *Options) []file {
			return []file{{settings(o), "MCP server, hooks", &jsonFile{
				o: o,
				server: &jsonServer{in: "mcpServers",
					value: raw(stdioServer{Command: o.Binary, Args: mcpArgs(o), Timeout: 1000 * toolTimeout,
						Trust: !o.Ask}), allows: trusted()},
				hooks: groupHooks(o, "qwen", func(string) int { return 1000 * hookTimeout },
					[]string{"SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure",
						"Stop",
						"StopFailure", "Notification", "SessionEnd"}),
			}}}
		},
		notes: projectNote,
		warns: func(o *Options) []string { return trustWarns("qwen", settings(o)) },
		disabled: func(o *Options) (string, string) {
			if path := settings(o); memberIs(path, jsonc.True, "disableAllHooks") {
				return path, `"disableAllHooks": true`
			}
			return "", ""
		},
	}
}
