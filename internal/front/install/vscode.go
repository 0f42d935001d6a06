package install

import "path/filepath"

// vscode is VS Code (code.visualstudio.com/docs: mcp-configuration, hooks, preview, 2026). It runs the hooks of
// Claude Code's settings files, so hooks of its own would report every event twice.
func vscode() Client {
	return Client{
		Name: "vscode", Title: "VS Code", Program: "code", Scopes: []Scope{User, Project},
		files: func(o *Options) []file {
			path := o.scoped(filepath.Join(o.configDir("Code", "User"), "mcp.json"), ".vscode", "mcp.json")
			return []file{{path, "MCP server",
				&jsonFile{o: o, server: &jsonServer{in: "servers",
					value: raw(stdioServer{Type: "stdio", Command: o.Binary, Args: mcpArgs(o)})}}}}
		},
		notes: func(o *Options) []string {
			return append([]string{"VS Code " + vscodeAsks,
				"VS Code runs Claude Code's hooks. To install them: pennypost install claude --" + string(o.Scope)},
				projectNote(o)...)
		},
		warns: func(*Options) []string { return []string{"it " + vscodeAsks} },
	}
}

// vscodeAsks follows VS Code's documents; it keeps the answers out of our files' reach.
const vscodeAsks = "asks whether you trust the server, and before it uses its tools: choose \"Always Allow\""

// configDir returns the directory of a program's configuration for this person and system.
func (o *Options) configDir(names ...string) string {
	switch o.GOOS {
	case "darwin":
		return filepath.Join(append([]string{o.Home, "Library", "Application Support"}, names...)...)
	case "windows":
		if dir := o.Getenv("APPDATA"); dir != "" {
			return filepath.Join(append([]string{dir}, names...)...)
		}
		return filepath.Join(append([]string{o.Home, "AppData", "Roaming"}, names...)...)
	}
	return filepath.Join(append([]string{o.xdgConfig()}, names...)...)
}

// xdgConfig returns $XDG_CONFIG_HOME or its default.
func (o *Options) xdgConfig() string {
	if dir := o.Getenv("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return dir
	}
	return filepath.Join(o.Home, ".config")
}
