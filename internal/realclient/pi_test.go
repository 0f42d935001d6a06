package realclient

import "regexp"

// pi is the pi coding agent.
func pi() client {
	return client{
		name: "pi", title: "pi",
		settings: func(l *lab) {
			l.write(".pi/agent/models.json", map[string]any{"providers": map[string]any{"fake": map[string]any{
				"baseUrl": l.model.URL + "/v1", "api": "openai-completions", "apiKey": "dummy",
				"models": []any{map[string]any{"id": "scripted", "contextWindow": 100000, "maxTokens": 8000}},
			}}})
			l.write(".pi/agent/settings.json", map[string]any{"defaultProvider": "fake", "defaultModel": "scripted",
				"quietStartup": true})
		},
		env:      func(*lab) []string { return []string{"PI_OFFLINE=1", "PI_TELEMETRY=0"} },
		write:    `[[tool write {"path":"PATH","content":"ours"}]]`,
		headless: func(prompt string) []string { return []string{"-p", prompt} },
		ready:    regexp.MustCompile(`scripted`),
		quit:     "/quit", resume: []string{"--continue"},
		breakOff: []string{"Escape"},
		lacks: map[string]string{
			"subagent": "it has no subagents",
			"prompt":   "its session is woken before its first turn too: see unheard",
		},
		more: []scenario{{"unheard", "told at a prompt", false, unheard}, {"marked", "", false, marked}},
	}
}
