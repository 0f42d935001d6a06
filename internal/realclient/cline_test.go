package realclient

import (
	"net"
	"strconv"
	"strings"
	"syscall"
)

// cline is cline's command line, which has only our MCP server.
func cline() client {
	const noHooks = "its hooks tell nobody (docs/clients-evidence.md)"
	return client{
		name: "cline", title: "cline",
		settings: func(l *lab) {
			l.write(".cline/data/settings/providers.json", map[string]any{
				"version": 1, "lastUsedProvider": "openai-compatible", "modes": map[string]any{},
				"providers": map[string]any{"openai-compatible": map[string]any{
					"settings": map[string]any{"provider": "openai-compatible", "apiKey": "dummy", "model": "scripted",
						"baseUrl": l.model.URL + "/v1"},
					"updatedAt": "2026-11-22T00:00:00.000Z", "tokenSource": "manual",
				}},
			})
			free, err := net.Listen("tcp", "127.0.0.1:0")
			l.must(err)
			defer free.Close()
			l.more = append(l.more, "CLINE_HUB_PORT="+strconv.Itoa(free.Addr().(*net.TCPAddr).Port))
		},
		env: func(*lab) []string { return []string{"CLINE_TELEMETRY_DISABLED=1", "CLINE_NO_AUTO_UPDATE=1"} },
		// The hub of all sessions, which cline starts and leaves running.
		ended: func(l *lab) {
			for pid, args := range l.processes() {
				if strings.Contains(args, "--cline-hub-daemon") {
					_ = signal(pid, syscall.SIGTERM) // it may end by itself meanwhile
				}
			}
		},
		headless: func(prompt string) []string { return []string{prompt} },
		lacks: map[string]string{
			"firstMinute": "its sessions are tried headless: see unattended",
			"start":       noHooks, "prompt": noHooks, "midturn": noHooks, "words": noHooks, "turnend": noHooks,
			"cancel": noHooks, "idle": noHooks, "subagent": noHooks, "escThinking": noHooks, "escTool": noHooks,
			"escRest": noHooks, "promises": noHooks, "typedAhead": noHooks, "escPrompt": noHooks, "killed": noHooks,
			"killedIdle": noHooks, "reopened": noHooks, "typing": noHooks,
			"gone": noHooks, "claims": noHooks,
			"headless": "it leaves a hub running, with us and without",
			"two":      "its shells say nothing of the session that they belong to",
		},
	}
}
