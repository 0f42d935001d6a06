package realclient

import (
	"encoding/json"
	"regexp"
)

// claude is Claude Code.
func claude() client {
	const key = "dummy-key-for-tests-1234567890"
	return client{
		name: "claude", title: "Claude Code",
		settings: func(l *lab) {
			l.write(".claude.json", map[string]any{
				"hasCompletedOnboarding": true, "theme": "dark",
				"customApiKeyResponses": map[string]any{"approved": []string{key[len(key)-20:]},
					"rejected": []string{}},
				"projects": map[string]any{l.project: map[string]any{
					"hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true,
				}},
			})
		},
		env: func(l *lab) []string {
			return []string{
				"ANTHROPIC_BASE_URL=" + l.model.URL, "ANTHROPIC_API_KEY=" + key, "IS_SANDBOX=1", "DISABLE_TELEMETRY=1",
				"DISABLE_AUTOUPDATER=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
			}
		},
		headless: func(prompt string) []string {
			return []string{"-p", prompt, "--allowedTools", claudeTools}
		},
		tui:      []string{"--permission-mode", "default", "--allowedTools", claudeTools},
		ready:    regexp.MustCompile(`(?m)^\s*❯`),
		breakOff: []string{"Escape"},
		subagent: func(prompt string) string {
			input, _ := json.Marshal(map[string]any{"description": "scripted", "prompt": prompt,
				"subagent_type": "general-purpose"})
			return "[[tool Agent " + string(input) + "]]"
		},
		doorless: "claude_below = \"1.0.0\"\n",
	}
}

// claudeTools are allowed, so that no dialog stands in the way.
const claudeTools = "Bash,Agent,ToolSearch,mcp__pennypost"
