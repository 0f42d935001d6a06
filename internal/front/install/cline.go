package install

import "path/filepath"

// cline is cline's command line (3.0.65, the real one). The text of its file hooks reaches the model only after a
// tool, and none can keep a turn going, so it gets the MCP server alone.
func cline() Client {
	return Client{
		Name: "cline", Title: "cline", Program: "cline", Scopes: []Scope{User},
		files: func(o *Options) []file {
			path := filepath.Join(o.Home, ".cline", "data", "settings", "cline_mcp_settings.json")
			return []file{{path, "MCP server", &jsonFile{o: o, server: &jsonServer{in: "mcpServers",
				value: raw(stdioServer{Command: o.Binary, Args: mcpArgs(o)})}}}}
		},
		notes: func(*Options) []string { return []string{restart, noHooks} },
	}
}
