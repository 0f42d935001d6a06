package install

import (
	"path/filepath"

	"pennypost/internal/front/install/jsonc"
)

// copilot is GitHub Copilot CLI 1.0 (docs.github.com: hooks reference; add-mcp-servers). Its hooks stand in files of
// any name, so ours is our own.
func copilot() Client {
	places := func(o *Options) (servers, hooks string) {
		if o.Scope == Project {
			return filepath.Join(o.Root, ".github", "mcp.json"),
				filepath.Join(o.Root, ".github", "hooks", "pennypost.json")
		}
		dir := o.Getenv("COPILOT_HOME")
		if dir == "" {
			dir = filepath.Join(o.Home, ".copilot")
		}
		return filepath.Join(dir, "mcp-config.json"), filepath.Join(dir, "hooks", "pennypost.json")
	}
	return Client{
		Name: "copilot", Title: "Copilot CLI", Program: "copilot", Scopes: []Scope{User, Project},
		files: func(o *Options) []file {
			servers, hooksFile := places(o)
			hooks := &jsonHooks{client: "copilot"}
			for _, ev := range []string{"sessionStart", "userPromptSubmitted", "preToolUse", "postToolUse",
				"agentStop", "errorOccurred", "sessionEnd"} {
				h := copilotHook{Type: "command", Timeout: hookTimeout}
				command := hookCommand(o, "copilot", ev)
				if o.GOOS == "windows" {
					command = "& " + command
					h.PowerShell = command
				} else {
					h.Bash = command
				}
				hooks.events = append(hooks.events, jsonHook{ev, command, raw(h)})
			}
			server := stdioServer{Type: "local", Command: o.Binary, Args: mcpArgs(o), Tools: []string{"*"}}
			return []file{
				{servers, "MCP server", &jsonFile{o: o, server: &jsonServer{in: "mcpServers", value: raw(server)}}},
				{hooksFile, "hooks", &jsonFile{o: o, scaffold: hooksVersion(), hooks: hooks}},
			}
		},
		notes: projectNote,
		disabled: func(o *Options) (string, string) {
			if _, path := places(o); memberIs(path, jsonc.True, "disableAllHooks") {
				return path, `"disableAllHooks": true`
			}
			return "", ""
		},
	}
}

// copilotHook has a command line for each shell.
type copilotHook struct {
	Type       string `json:"type"`
	Bash       string `json:"bash,omitempty"`
	PowerShell string `json:"powershell,omitempty"`
	Timeout    int    `json:"timeoutSec"`
}
