package install

import (
	"path/filepath"
	"strings"

	"pennypost/internal/front/install/jsonc"
)

// gemini is Gemini CLI (0.61.0, the real one, and google-gemini/gemini-cli docs/hooks and docs/tools/mcp-server.md,
// August 2026). Its timeouts are in milliseconds.
func gemini() Client {
	settings := func(o *Options) string {
		return o.scoped(filepath.Join(o.Home, ".gemini", "settings.json"), ".gemini", "settings.json")
	}
	return Client{
		Name: "gemini", Title: "Gemini CLI", Program: "gemini", Scopes: []Scope{User, Project},
		allows: trustedEntry,
		files: func(o *Options) []file {
			return []file{{settings(o), "MCP server, hooks", &jsonFile{
				o: o,
				server: &jsonServer{in: "mcpServers",
					value: raw(stdioServer{Command: o.Binary, Args: mcpArgs(o), Timeout: 1000 * ToolTimeout,
						Trust: !o.Ask}), allows: trusted()},
				hooks: groupHooks(o, "gemini", func(string) int { return 1000 * hookTimeout },
					[]string{"SessionStart", "BeforeAgent", "BeforeTool", "AfterTool", "AfterAgent", "Notification",
						"SessionEnd"}),
			}}}
		},
		notes: func(o *Options) []string {
			out := []string{"In an untrusted folder, Gemini CLI runs neither hooks nor servers. If it asks, " +
				"answer \"Trust folder\".", restart}
			if o.Ask {
				out = append(out, "gemini -p cannot ask, so it has none of the tools.")
			}
			if says := geminiIndividual(o, settings(o)); says != "" {
				out = append(out, "Gemini CLI "+says)
			}
			if o.Scope == Project {
				out = append(out, "Gemini CLI shows a project's hooks before it runs them for the first "+
					"time.", sharedPath)
			}
			return out
		},
		warns: func(o *Options) []string { return geminiWarns(o, settings(o)) },
		disabled: func(o *Options) (string, string) {
			if path := settings(o); memberIs(path, jsonc.False, "hooksConfig", "enabled") {
				return path, `"hooksConfig": {"enabled": false}`
			}
			return "", ""
		},
	}
}

// trusted is the member of a server's entry that makes Gemini CLI and Qwen Code use its tools without asking.
func trusted() piece { return piece{name: "trust", raw: "true"} }

const trustedEntry = `"trust": true in the server's entry`

// geminiIndividual says why Gemini CLI will not serve someone who signs in as an individual, if settings and
// environment indicate that: since 2026-06-18 it serves only API keys and licences of organisations, which name a
// project (google-gemini/gemini-cli discussion 28017).
func geminiIndividual(o *Options, settings string) string {
	if jsonOf(settings).At("security", "auth", "selectedType").Text() != "oauth-personal" {
		return ""
	}
	for _, of := range []string{"GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_PROJECT_ID"} {
		if o.Getenv(of) != "" {
			return ""
		}
	}
	return "signs in with a Google account here, but since June 2026 it serves no personal accounts: use an API " +
		"key (/auth), an organisation's licence, or its successor, Antigravity CLI: pennypost install agy"
}

// geminiWarns names the settings of Gemini CLI that keep an agent from its mail.
func geminiWarns(o *Options, settings string) (out []string) {
	for _, asks := range trustWarns("gemini", settings) {
		out = append(out, "gemini -p has none of Pennypost's tools, and elsewhere "+asks)
	}
	if says := geminiIndividual(o, settings); says != "" {
		out = append(out, "it "+says)
	}
	off := memberIs(settings, jsonc.False, "security", "folderTrust", "enabled") ||
		o.Getenv("GEMINI_CLI_TRUST_WORKSPACE") == "true"
	if !off && o.Root != o.Home && !geminiTrusts(o) {
		out = append(out, "it does not trust "+o.Root+", and runs neither hooks nor the server there: start gemini "+
			"in it, and answer \"Trust folder\"")
	}
	return out
}

// geminiTrusts reports whether Gemini CLI's user has trusted the project, or a folder above it.
func geminiTrusts(o *Options) bool {
	folders := jsonOf(o.dir("GEMINI_CLI_TRUSTED_FOLDERS_PATH", ".gemini", "trustedFolders.json"))
	if folders == nil {
		return false
	}
	trusted, longest := false, -1 // the longest rule decides
	for _, it := range folders.Items {
		folder := it.Name
		if it.Value.Text() == "TRUST_PARENT" {
			folder = filepath.Dir(folder)
		}
		if within(o.Root, folder) && len(it.Name) > longest {
			longest, trusted = len(it.Name), it.Value.Text() != "DO_NOT_TRUST"
		}
	}
	return trusted
}

// within reports whether a path is a folder or is in it.
func within(path, folder string) bool {
	return path == folder || strings.HasPrefix(path, strings.TrimSuffix(folder, "/")+string(filepath.Separator))
}
