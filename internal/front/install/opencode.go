package install

import (
	"os"
	"path/filepath"
)

// opencode is opencode 1.18 (opencode.ai/docs/config, /docs/mcp-servers). It has no hooks but plugins; it is woken
// through its server.
func opencode() Client {
	return Client{
		Name: "opencode", Title: "opencode", Program: "opencode", Scopes: []Scope{User, Project},
		files: func(o *Options) []file {
			dir := filepath.Join(o.xdgConfig(), "opencode")
			if o.Scope == Project {
				dir = o.Root
			}
			path := filepath.Join(dir, "opencode.json")
			// either name is read; a second file beside the person's would hide what is where
			if _, err := os.Stat(path); err != nil {
				if _, err := os.Stat(path + "c"); err == nil {
					path += "c"
				}
			}
			server := opencodeServer{"local", append([]string{o.Binary}, mcpArgs(o)...), true}
			return []file{{path, "MCP server",
				&jsonFile{o: o, server: &jsonServer{in: "mcp", value: raw(server), list: true}}}}
		},
		notes: func(o *Options) []string { return append(projectNote(o), noHooks) },
	}
}

type opencodeServer struct {
	Type    string   `json:"type"`
	Command []string `json:"command"`
	Enabled bool     `json:"enabled"`
}
