package install

import (
	"path/filepath"

	"pennypost/internal/front/install/jsonc"
)

// agy is Antigravity CLI, which replaced Gemini CLI for individuals. It was not tried here. MCP servers:
// antigravity.google/docs/cli/gcli-migration. Hooks: antigravity.google/docs/hooks, and automatis-tools' observations
// of 1.2.7 (agents-can-communicate, packages/adapter-antigravity/COMPATIBILITY.md, September 2026). It refuses to
// start over a comment in the file of servers, and ignores a file of hooks that has one. Its hooks are in no groups,
// but in a member named after their author. If two files have the same name in them, only the person's counts.
func agy() Client {
	paths := func(o *Options) (servers, hooks string) {
		dir := o.scoped(filepath.Join(o.Home, ".gemini", "config"), ".agents")
		return filepath.Join(dir, "mcp_config.json"), filepath.Join(dir, "hooks.json")
	}
	return Client{
		Name: "agy", Title: "Antigravity CLI", Program: "agy", Scopes: []Scope{User, Project},
		files: func(o *Options) []file {
			servers, hooks := paths(o)
			ours := &jsonHooks{client: "agy", in: serverName}
			for _, ev := range []string{"PreInvocation", "Stop"} {
				h := hookHandler{Type: "command", Command: hookCommand(o, "agy", ev), Timeout: hookTimeout}
				ours.events = append(ours.events, jsonHook{ev, h.Command, raw(h)})
			}
			return []file{
				{servers, "MCP server", &jsonFile{o: o, strict: true, server: &jsonServer{in: "mcpServers",
					value: raw(stdioServer{Command: o.Binary, Args: mcpArgs(o)})}}},
				{hooks, "hooks", &jsonFile{o: o, strict: true, hooks: ours}},
			}
		},
		notes: func(o *Options) []string {
			return append(projectNote(o), "Antigravity CLI has not been tested with Pennypost: these settings "+
				"follow its documentation. It asks before it uses a tool of a server. agy -p reads the hooks of "+
				"a project only with --add-dir.")
		},
		disabled: func(o *Options) (string, string) {
			if _, hooks := paths(o); memberIs(hooks, jsonc.False, serverName, "enabled") {
				return hooks, `"enabled": false`
			}
			return "", ""
		},
	}
}
