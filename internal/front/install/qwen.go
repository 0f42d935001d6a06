package install

import (
	"path/filepath"
)

// qwen is Qwen Code (the real one, 0.15.10). Its timeouts are in milliseconds.
func qwen() Client {
	settings := func(o *Options) string {
		return filepath.Join(o.scoped(o.dir("QWEN_HOME", ".qwen"), ".qwen"), "settings.json")
	}
	return Client{
		Name: "qwen", Title: "Qwen Code", Program: "qwen", Scopes: []Scope{User, Project},
		allows: trustedEntry,
		files: func(o *Options) []file {
			return []file{{settings(o), "MCP server, hooks", &jsonFile{
				o: o,
				server: &jsonServer{in: "mcpServers",
					value: raw(stdioServer{Command: o.Binary, Args: mcpArgs(o), Timeout: 1000 * ToolTimeout,
						Trust: !o.Ask}), allows: trusted()},
				hooks: groupHooks(o, "qwen", func(event string) int { return 1000 * seconds(event) },
					[]string{"SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure",
						"PermissionRequest", "Stop", "StopFailure", "Notification", "SessionEnd"}),
			}}}
		},
		notes:    projectNote,
		warns:    func(o *Options) []string { return trustWarns("qwen", settings(o)) },
		disabled: hooksOff(func(o *Options) []string { return []string{settings(o)} }),
	}
}
