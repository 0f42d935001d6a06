package install

import "path/filepath"

// windsurf is Windsurf (docs.windsurf.com/windsurf/cascade/mcp, 2026). Its hooks cannot put text before the model, so
// it gets none.
func windsurf() Client {
	return Client{
		Name: "windsurf", Title: "Windsurf", Program: "windsurf", Scopes: []Scope{User},
		files: func(o *Options) []file {
			path := filepath.Join(o.Home, ".codeium", "windsurf", "mcp_config.json")
			return []file{{path, "MCP server",
				&jsonFile{o: o, server: &jsonServer{in: "mcpServers",
					value: raw(stdioServer{Command: o.Binary, Args: mcpArgs(o)})}}}}
		},
		notes: func(*Options) []string {
			return []string{"Press refresh in Windsurf's list of MCP servers, or restart it.", noHooks}
		},
	}
}
