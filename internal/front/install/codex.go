package install

import (
	"os"
	"path/filepath"
)

// codex is Codex CLI 0.169 (developers.openai.com/codex: config-reference, mcp, hooks).
//
// Hooks go into hooks.json, unless config.toml has hooks and hooks.json has none: Codex reads both, and warns of it at
// every start.
func codex() Client {
	return Client{
		Name: "codex", Title: "Codex", Program: "codex", Scopes: []Scope{User, Project},
		files: func(o *Options) []file {
			dir := o.codexDir()
			config, hooksFile := filepath.Join(dir, "config.toml"), filepath.Join(dir, "hooks.json")
			hooks := groupHooks(o, "codex", codexTimeout, codexEvents())
			here := hooksInTOML(config, hooksFile)
			files := []file{{config, "MCP server", &tomlFile{o: o, hooks: hooks, here: here}}}
			if here {
				files[0].what = "MCP server, hooks"
				hooks = &jsonHooks{client: "codex", groups: true} // none
			}
			return append(files, file{hooksFile, "hooks", &jsonFile{o: o, hooks: hooks}})
		},
		notes: func(o *Options) []string {
			out := []string{"Codex runs hooks only after you trusted them: type /hooks in it. An upgrade of " +
				"Pennypost does not change them."}
			if o.Scope == Project {
				out = append(out, "Codex reads the project's files only if you trust the project.", sharedPath)
			}
			return out
		},
		disabled: func(o *Options) (string, string) {
			for _, dir := range []string{o.codexDir(), filepath.Join(o.Root, ".codex")} {
				path := filepath.Join(dir, "config.toml")
				text, _ := os.ReadFile(path)
				m, err := decodeTOML(text)
				if err != nil {
					continue
				}
				for _, key := range []string{"hooks", "codex_hooks"} {
					if on, ok := dig(m, "features", key).(bool); ok && !on {
						return path, "[features] " + key + " = false"
					}
				}
			}
			return "", ""
		},
	}
}

func codexEvents() []string {
	return []string{"SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop", "Interrupt", "SessionEnd"}
}

// codexTimeout returns the timeout of a hook. Codex gives some three seconds at most, and warns of more.
func codexTimeout(event string) int {
	if event == "SessionEnd" || event == "Interrupt" {
		return 3
	}
	return hookTimeout
}

func (o *Options) codexDir() string {
	if o.Scope == Project {
		return filepath.Join(o.Root, ".codex")
	}
	if dir := o.Getenv("CODEX_HOME"); dir != "" {
		return dir
	}
	return filepath.Join(o.Home, ".codex")
}

// hooksInTOML reports whether hooks belong into config.toml. What cannot be read is found by who edits it.
func hooksInTOML(config, hooksFile string) bool {
	text, _ := os.ReadFile(config)
	m, err := decodeTOML(text)
	if err != nil {
		return false
	}
	events, _ := m["hooks"].(map[string]any)
	n := len(events)
	if _, ok := events["state"]; ok { // whom Codex trusts, no event
		n--
	}
	if n == 0 {
		return false
	}
	text, _ = os.ReadFile(hooksFile)
	return (&jsonFile{}).blank(text)
}
