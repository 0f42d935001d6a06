package install

import (
	"os"
	"path/filepath"
)

// opencode is opencode 1.18 (opencode.ai/docs/config, /docs/plugins; seen with 1.18.33). Its plugin also offers the
// tools, to each session its own; an MCP server of ours would be one agent for all sessions, so it is removed.
func opencode() Client {
	return Client{
		Name: "opencode", Title: "opencode", Program: "opencode", Scopes: []Scope{User, Project},
		resume: []string{"run", "--session", "{session}", doorPrompt},
		files: func(o *Options) []file {
			config := filepath.Join(o.xdgConfig(), "opencode")
			dir := config
			if o.Scope == Project {
				config, dir = o.Root, filepath.Join(o.Root, ".opencode")
			}
			path := filepath.Join(config, "opencode.json")
			// opencode reads either name; a second file would be confusing
			if _, err := os.Stat(path); err != nil {
				if _, err := os.Stat(path + "c"); err == nil {
					path += "c"
				}
			}
			return []file{
				{filepath.Join(dir, "plugin", "pennypost.js"), "plugin", extension(o, "opencode")},
				{filepath.Join(dir, ".npmrc"), "no retries without a network", patience(o)},
				{path, "MCP server of an earlier version",
					&formerServer{jsonFile{o: o, server: &jsonServer{in: "mcp", list: true}}}},
			}
		},
		notes: func(o *Options) []string {
			return append(projectNote(o), "An opencode that never ran with a network downloads a package of its "+
				"own (@opencode-ai/plugin) at its next start, without asking.")
		},
	}
}

// formerServer is the editor of a file in which earlier versions had an MCP server.
type formerServer struct{ jsonFile }

func (f *formerServer) put(text []byte) ([]byte, error) {
	rest, _, err := f.strip(text, nil)
	return rest, err
}

func (f *formerServer) replay(base []byte, _ []piece) ([]byte, error) { return base, nil }

// blank reports that every existing file has content: a file that held only the server is still written.
func (f *formerServer) blank(text []byte) bool { return len(text) == 0 }
