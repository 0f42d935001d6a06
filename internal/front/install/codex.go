package install

import (
	"fmt"
	"os"
	"path/filepath"
)

// codex is Codex CLI 0.169 (developers.openai.com/codex: config-reference, mcp, hooks).
//
// Hooks go into hooks.json, unless config.toml has hooks and hooks.json has none: Codex reads both, and warns about
// having both at every start.
func codex() Client {
	return Client{
		Name: "codex", Title: "Codex", Program: "codex", Scopes: []Scope{User, Project},
		resume: []string{"exec", "resume", "--skip-git-repo-check", "{session}", doorPrompt},
		files:  codexFiles,
		notes: func(o *Options) []string {
			var out []string
			switch n := len(codexUntrusted(o)); {
			case o.Trust:
				out = append(out,
					"Codex trusts the hooks, and does not ask about them. Open windows use Pennypost after a "+
						"restart.")
			case n > 0:
				out = append(out, fmt.Sprintf(
					"Codex runs no hook that you have not trusted. At its next start it says \"Hooks need "+
						"review: %d hooks are new or changed\": answer \"Trust all and continue\", or look at "+
						"each with \"Review hooks\" (later: /hooks).", n),
					"codex exec does not ask, and runs none of them until then. To trust them without a "+
						"question: pennypost install codex --trust",
					"An upgrade of Pennypost does not change the hooks.")
			}
			if o.Scope == Project {
				out = append(out, "Codex reads the project's files only if you trust the project.", sharedPath)
			}
			return out
		},
		untrusted: codexUntrusted,
		warns:     codexWarns,
		disabled: func(o *Options) (string, string) {
			for _, dir := range []string{o.codexDir(), filepath.Join(o.Root, ".codex")} {
				path := filepath.Join(dir, "config.toml")
				m, err := tomlOf(path)
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

func codexFiles(o *Options) []file {
	dir := o.codexDir()
	config, hooksFile := filepath.Join(dir, "config.toml"), filepath.Join(dir, "hooks.json")
	hooks := groupHooks(o, "codex", codexTimeout, codexEvents())
	here := hooksInTOML(config, hooksFile)
	entries := &tomlFile{o: o, hooks: hooks, here: here}
	files := []file{{config, "MCP server", entries}}
	inJSON := &jsonFile{o: o, hooks: hooks}
	if here {
		files[0].what = "MCP server, hooks"
		inJSON.hooks = &jsonHooks{client: "codex", groups: true} // none
	}
	files = append(files, file{hooksFile, "hooks", inJSON})
	trust := func(tables []byte) []trustedHook { return codexTrust(files, here, tables) }
	if o.Scope == User {
		entries.trust = trust
		return files
	}
	// Codex keeps its trust in the person's own file, for a project's hooks too.
	own := &tomlFile{o: o, trust: func([]byte) []trustedHook {
		text, _ := os.ReadFile(config)
		return trust(text)
	}, only: true}
	path := filepath.Join(o.personal().codexDir(), "config.toml")
	text, _ := os.ReadFile(path)
	if _, taken, err := own.strip(text, nil); o.Trust || err == nil && len(taken) > 0 {
		files = append(files, file{path, "trust", own})
	}
	return files
}

// personal returns the options for the person's files instead of the project's.
func (o *Options) personal() *Options {
	own := *o
	own.Scope = User
	return &own
}

func codexEvents() []string {
	return []string{"SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PermissionRequest", "Stop",
		"Interrupt", "SessionEnd"}
}

// codexTimeout returns the timeout of a hook. Codex allows these two some three seconds at most, and warns above
// that. The hook of a dialog may wait.
func codexTimeout(event string) int {
	if event == "SessionEnd" || event == "Interrupt" {
		return 3
	}
	return seconds(event)
}

func (o *Options) codexDir() string {
	return o.scoped(o.dir("CODEX_HOME", ".codex"), ".codex")
}

// hooksInTOML reports whether hooks belong in config.toml. The editor of a file reports one that cannot be read.
func hooksInTOML(config, hooksFile string) bool {
	m, err := tomlOf(config)
	if err != nil {
		return false
	}
	events, _ := m["hooks"].(map[string]any)
	n := len(events)
	if _, ok := events["state"]; ok { // Codex's trust, not an event
		n--
	}
	if n == 0 {
		return false
	}
	text, _ := os.ReadFile(hooksFile)
	return (&jsonFile{}).blank(text)
}
