package install

import "path/filepath"

// cursor is Cursor (cursor.com/docs/agent/hooks and /context/mcp by third parties' accounts, 2026). Its hooks are in
// no groups.
func cursor() Client {
	return Client{
		Name: "cursor", Title: "Cursor", Program: "cursor", Scopes: []Scope{User, Project},
		files: func(o *Options) []file {
			dir := o.scoped(filepath.Join(o.Home, ".cursor"), ".cursor")
			hooks := &jsonHooks{client: "cursor"}
			for _, ev := range []string{"sessionStart", "beforeSubmitPrompt", "preToolUse", "postToolUse", "stop",
				"sessionEnd"} {
				h := hookHandler{Command: hookCommand(o, "cursor", ev), Timeout: hookTimeout}
				hooks.events = append(hooks.events, jsonHook{ev, h.Command, raw(h)})
			}
			return []file{
				{filepath.Join(dir, "mcp.json"), "MCP server",
					&jsonFile{o: o, server: &jsonServer{in: "mcpServers",
						value: raw(stdioServer{Command: o.Binary, Args: mcpArgs(o)})}}},
				{filepath.Join(dir, "hooks.json"), "hooks", &jsonFile{o: o, scaffold: hooksVersion(), hooks: hooks}},
			}
		},
		notes: func(o *Options) []string { return append(projectNote(o), "Cursor "+cursorAsks) },
		warns: cursorWarns,
	}
}

// hooksVersion is the member that Cursor and Copilot require in a file of hooks.
func hooksVersion() []piece { return []piece{{name: "version", raw: "1"}} }

// Notes for clients that need nothing special.
const (
	restart = "Running sessions use it after a restart."
	noHooks = "It has no hooks of ours: an agent there sees its mail when it calls read_messages or " +
		"wait_for_messages. Tell it to, in its instructions."
)

func projectNote(o *Options) []string {
	if o.Scope == Project {
		return []string{restart, sharedPath}
	}
	return []string{restart}
}
