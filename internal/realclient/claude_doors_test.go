package realclient

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pennypost/internal/mail"
)

// bypassing opens a session that bypasses permission prompts.
func (l *lab) bypassing(args ...string) *terminal {
	l.t.Helper()
	w := l.open(append([]string{l.version.program, "--dangerously-skip-permissions"}, args...)...)
	w.sees("Yes, I accept")
	w.press("Down")
	w.press("Enter")
	w.sees("bypass permissions on")
	return w
}

// promised returns send's text on how the agent will be woken.
func (l *lab) promised(body string) string {
	l.t.Helper()
	sent := ask[mail.Sent](l, "send", "--to", string(l.agent), "--type", "question", "--body", body)
	return sent.Recipients[0].Wake
}

// claudeBypass: a session that bypasses permission prompts is promised no wake before its first turn; after it the
// waiting hook wakes it, again and again. There is never a dialog.
func claudeBypass(t *testing.T, l *lab) {
	l.install()
	w := l.bypassing()
	l.until("the session is known", func() bool { return l.state(l.agent) != "" })
	if door := l.promised("ZEBRA at first"); door != mail.WakeNoDoor {
		t.Errorf("before the first turn send promises %q", door)
	}
	w.prompt("hello bypass [[say bye]]")
	l.told(l.request("hello bypass"), "ZEBRA at first")
	for _, body := range []string{"LION later", "TIGER later"} {
		l.until("the agent is idle, and its hook waits", func() bool {
			return l.state(l.agent) == mail.Idle && slices.ContainsFunc(l.commands(), func(c string) bool {
				return strings.Contains(c, "hook claude wait")
			})
		})
		began := time.Now()
		if door := l.promised(body); door != mail.RewakeDoor {
			t.Errorf("send promises %q", door)
		}
		r := l.request("hello bypass", body)
		l.told(r, body)
		if took := r.At.Sub(began); took > 20*time.Second {
			t.Errorf("%s was told after %v", body, took)
		}
	}
	if screen := w.screen(); strings.Contains(screen, "Held") {
		t.Errorf("a message is held:\n%s", screen)
	}
}

// commands returns the command lines of the lab's processes.
func (l *lab) commands() (all []string) {
	for _, args := range l.processes() {
		all = append(all, args)
	}
	return all
}

// claudePoster: a child of a session that bypasses prompts is admitted, even before the first turn, and ends with it.
func claudePoster(t *testing.T, l *lab) {
	l.install()
	l.write(filepath.Join(l.project, ".claude", "settings.json"), map[string]any{"hooks": map[string]any{
		"SessionStart": []any{map[string]any{"hooks": []any{map[string]any{
			"type": "command", "command": "pennypost poster", "async": true, "timeout": 28800,
		}}}},
	}})
	w := l.bypassing()
	l.until("the poster waits", func() bool {
		return l.state(l.agent) != "" && slices.Contains(l.commands(), os.Getenv(binaryVar)+"d poster")
	})
	id := l.send(l.agent, "ZEBRA by the poster") // it may not listen yet, but it will
	l.told(l.request("ZEBRA by the poster"), "ZEBRA by the poster")
	l.presented(id)
	for _, a := range l.agents() {
		if a.Door != mail.PosterDoor && a.Door != mail.HookDoor {
			t.Errorf("%s was woken by %q", a.Name, a.Door)
		}
	}
	if screen := w.screen(); strings.Contains(screen, "Held") {
		t.Errorf("a message is held:\n%s", screen)
	}
}

// claudeMCPOnly: a session with the MCP server and no hooks is woken through its socket.
func claudeMCPOnly(t *testing.T, l *lab) {
	l.write(".claude/settings.json", map[string]any{"enableAllProjectMcpServers": true})
	l.write(filepath.Join(l.project, ".mcp.json"), map[string]any{"mcpServers": map[string]any{
		"pennypost": map[string]any{"type": "stdio", "command": "pennypost", "args": []string{"mcp"},
			"alwaysLoad": true},
	}})
	l.startOffice()
	w := l.tui()
	w.prompt("hello server [[say bye]]")
	l.request("hello server")
	l.until("the server is on the roster", func() bool { return l.state(l.agent) == mail.Idle })
	if door := l.promised("[[tool read_messages {}]] [[say seen]]"); door != "claude-socket" {
		t.Errorf("send promises %q", door)
	}
	l.request("hello server", "Notice from the post office")
}

// claudeRestart: a session that waited through a restart of the post office is woken.
func claudeRestart(t *testing.T, l *lab) {
	l.install()
	w := l.tui()
	w.prompt("hello restart [[say bye]]")
	l.request("hello restart")
	l.until("the agent is idle", func() bool { return l.state(l.agent) == mail.Idle })
	l.stopOffice()
	l.startOffice()
	l.send(l.agent, "ZEBRA after the restart")
	l.told(l.request("hello restart", "ZEBRA after the restart"), "ZEBRA after the restart")
}

// claudeMonitor: the plugin's monitor wakes a session that bypasses prompts, even before its first turn.
func claudeMonitor(t *testing.T, l *lab) {
	plugin, err := filepath.Abs("../../plugin")
	l.must(err)
	l.startOffice()
	w := l.bypassing("--plugin-dir", plugin)
	l.until("the monitor waits", func() bool {
		return l.state(l.agent) != "" && slices.ContainsFunc(l.commands(), func(c string) bool {
			return strings.HasSuffix(c, "pennypost monitor")
		})
	})
	id := l.send(l.agent, "ZEBRA by the monitor")
	l.told(l.request("ZEBRA by the monitor"), "ZEBRA by the monitor")
	l.presented(id)
	if screen := w.screen(); strings.Contains(screen, "Held") {
		t.Errorf("a message is held:\n%s", screen)
	}
}
