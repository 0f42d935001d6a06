package install

import (
	"path/filepath"
	"strings"

	"pennypost/internal/front/install/jsonc"
)

// claude is Claude Code (code.claude.com/docs: hooks, mcp, settings, as of 2.1.240; events as of 2.1.329). VS Code
// runs these hooks too.
func claude() Client {
	return Client{
		Name: "claude", Title: "Claude Code", Program: "claude", Scopes: []Scope{User, Project},
		resume: []string{"-p", doorPrompt, "--resume", "{session}", "--allowedTools", claudeRule},
		allows: `"` + claudeRule + `" in permissions.allow`,
		files: func(o *Options) []file {
			settings, servers := o.claudeDir("settings.json"), o.claudeServers()
			if o.Scope == Project {
				settings, servers = filepath.Join(o.Root, ".claude", "settings.json"), filepath.Join(o.Root,
					".mcp.json")
			}
			return []file{
				{settings, "hooks", &jsonFile{o: o, strict: true, hooks: claudeHooks(o),
					allows: &allowance{[]string{"permissions", "allow"}, raw(claudeRule)}}},
				{servers, "MCP server", &jsonFile{o: o, strict: true,
					server: &jsonServer{in: "mcpServers",
						value: raw(stdioServer{Type: "stdio", Command: o.Binary, Args: mcpArgs(o),
							AlwaysLoad: true})}}},
			}
		},
		notes: func(o *Options) []string {
			out := []string{"Running sessions use it after a restart."}
			if o.Scope == Project {
				out = append(out, "Claude Code asks once whether it may use the server in .mcp.json.", sharedPath)
			}
			return out
		},
		disabled: hooksOff((*Options).claudeSettings),
		warns:    claudeWarns,
		plugin:   claudePlugin,
	}
}

// claudePlugin returns our plugin, if it is turned on.
func claudePlugin(o *Options) string {
	for _, path := range o.claudeSettings() {
		plugins := jsonOf(path).Member("enabledPlugins")
		if plugins == nil {
			continue
		}
		for _, it := range plugins.Items {
			if strings.HasPrefix(it.Name, serverName+"@") && isTrue(it.Value) {
				return it.Name
			}
		}
	}
	return ""
}

// claudeRule matches all tools of our server. With it no dialog is left in the default, auto, acceptEdits and dontAsk
// modes; in plan mode Claude Code still asks before the tools that write (seen with 2.1.330).
const claudeRule = "mcp__" + serverName

// sharedPath is a note for a person who installs for a project.
const sharedPath = "The files name the program by its path on this machine. If they are shared, all users must " +
	"install it themselves, or have it at the same path."

// claudeEvents are the events about mail or the session's state. Each costs a process, so there are no others.
func claudeEvents() []string {
	return []string{"SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PermissionRequest",
		"Elicitation", "ElicitationResult", "Stop", "StopFailure", "SubagentStop", "Notification", "SessionEnd"}
}

// claudeHooks returns the hooks of the events, and the one that waits in the background from the end of a turn
// (asyncRewake).
func claudeHooks(o *Options) *jsonHooks {
	h := groupHooks(o, "claude", seconds, claudeEvents())
	if o.GOOS == "windows" { // there such hooks were seen to hold a session up (2.1.246)
		return h
	}
	wait := hookHandler{Type: "command", Command: waitCommand(o), Timeout: waitTimeout, Rewake: true}
	h.events = append(h.events, jsonHook{"Stop", wait.Command, raw(hookGroup{[]hookHandler{wait}})})
	return h
}

// waitTimeout is how long the waiting hook may run, in seconds; package hook gives the reason.
const waitTimeout = 28_800

// claudeDir returns a file of the person's configuration.
func (o *Options) claudeDir(name string) string {
	return filepath.Join(o.dir("CLAUDE_CONFIG_DIR", ".claude"), name)
}

// claudeSettings returns the settings files, which all count.
func (o *Options) claudeSettings() []string {
	dir := filepath.Join(o.Root, ".claude")
	return []string{o.claudeDir("settings.json"), filepath.Join(dir, "settings.json"),
		filepath.Join(dir, "settings.local.json")}
}

// claudeServers returns the file of the person's MCP servers.
func (o *Options) claudeServers() string {
	return filepath.Join(o.dir("CLAUDE_CONFIG_DIR"), ".claude.json")
}

// stdioServer is an MCP server as most clients write it.
type stdioServer struct {
	Type    string   `json:"type,omitempty"`
	Command string   `json:"command"`
	Args    []string `json:"args"`
	Tools   []string `json:"tools,omitempty"`
	Timeout int      `json:"timeout,omitzero"`
	// AlwaysLoad makes Claude Code offer the tools from the first request, and not only after a search for tools.
	AlwaysLoad bool `json:"alwaysLoad,omitzero"`
	Trust      bool `json:"trust,omitzero"` // its tools are used without asking
}

// hookGroup is an element of an event's list in Claude Code, Codex and Gemini CLI.
type hookGroup struct {
	Hooks []hookHandler `json:"hooks"`
}

type hookHandler struct {
	Type    string `json:"type,omitempty"`
	Name    string `json:"name,omitempty"`
	Command string `json:"command"`
	Timeout int    `json:"timeout"`
	Rewake  bool   `json:"asyncRewake,omitzero"`
}

// seconds is the timeout of every hook for clients that count in seconds. The hook of a dialog may wait while the
// dialog is open.
func seconds(event string) int {
	if strings.EqualFold(event, "PermissionRequest") {
		return waitTimeout
	}
	return hookTimeout
}

// groupHooks returns hooks that are in groups.
func groupHooks(o *Options, client string, timeout func(event string) int, events []string) *jsonHooks {
	h := &jsonHooks{client: client, groups: true}
	for _, ev := range events {
		handler := hookHandler{Type: "command", Command: hookCommand(o, client, ev), Timeout: timeout(ev)}
		if client == "gemini" || client == "qwen" {
			handler.Name = serverName
		}
		h.events = append(h.events, jsonHook{ev, handler.Command, raw(hookGroup{[]hookHandler{handler}})})
	}
	return h
}

// hooksOff returns a Client.disabled that looks for the member that turns hooks off in several clients.
func hooksOff(files func(*Options) []string) func(*Options) (path, says string) {
	return func(o *Options) (string, string) {
		for _, path := range files(o) {
			if memberIs(path, jsonc.True, "disableAllHooks") {
				return path, `"disableAllHooks": true`
			}
		}
		return "", ""
	}
}

// memberIs reports whether a file has a member with a literal value.
func memberIs(path string, want jsonc.Kind, members ...string) bool {
	n := jsonOf(path).At(members...)
	return n != nil && n.Kind == want
}
