package realclient

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// codex is the Codex CLI. Its terminal sessions share one background server by default, which is how it is tried; the
// scenarios that end in "Embedded" are those of sessions that are each a process of their own.
func codex() client {
	return client{
		name: "codex", title: "Codex CLI",
		settings: func(l *lab) {
			l.write(".codex/config.toml", strings.NewReplacer("URL", l.model.URL, "PROJECT",
				l.project).Replace(codexConfig))
			// Its shell is a login shell, whose profile may set another PATH.
			l.write(".bash_profile", "PATH="+filepath.Dir(os.Getenv(binaryVar))+":$PATH\n")
		},
		env: func(*lab) []string { return []string{"MODEL_KEY=dummy"} },
		headless: func(prompt string) []string {
			return []string{"exec", prompt}
		},
		installed: func(l *lab) { l.pp("install", "codex", "--trust") },
		tui:       []string{"--ask-for-approval", "never", "--sandbox", "danger-full-access"},
		ready:     regexp.MustCompile(`(?m)^\s*›`),
		breakOff:  []string{"Escape"},
		subagent: func(prompt string) string {
			input, _ := json.Marshal(map[string]any{"message": prompt})
			return "[[tool spawn_agent " + string(input) + "]]"
		},
	}
}

const codexConfig = `model = "scripted"
model_provider = "scripted"
check_for_update_on_startup = false

[analytics]
enabled = false

[model_providers.scripted]
name = "scripted"
base_url = "URL/v1"
wire_api = "responses"
env_key = "MODEL_KEY"

[projects."PROJECT"]
trust_level = "trusted"
`
