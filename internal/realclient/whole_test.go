package realclient

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pennypost/internal/mail"
	"pennypost/internal/realclient/model"
)

// A client that has the server of a dialect, and the room's longest letter in it, gives its model the whole letter,
// which is then presented; or it is known to cut such answers (dialect, cuts): then we cut the letter and say how to
// read the rest, and it is not presented. connect adds the server to the client's configuration.
func whole(connect func(l *lab, args []string)) func(*testing.T, *lab) {
	return func(t *testing.T, l *lab) {
		connect(l, []string{"mcp", "--dialect", "agenties", "--as", "ag_x1"})
		l.startOffice()
		l.pp("agents", "register", "ag_x1")
		var b strings.Builder
		for i := 0; b.Len() < 60_000; i++ {
			fmt.Fprintf(&b, "+ line %d of \"it\" <b>\n", i)
		}
		body := strings.TrimSpace(b.String())
		id := l.send("ag_x1", body)
		l.finished(l.begin("hello whole [[tool read_messages {}]] [[say bye]]"))
		var answer string
		requests := l.model.Requests()
		for _, p := range requests[len(requests)-1].Parts {
			if p.Role == model.Result {
				answer += p.Text
			}
		}
		last := fmt.Sprintf("line %d of", strings.Count(body, "\n"))
		middle := fmt.Sprintf("line %d of", strings.Count(body, "\n")/2)
		all := strings.Contains(answer, last) && strings.Contains(answer, middle)
		t.Logf("the model was given %d bytes, all of it: %v", len(answer), all)
		if shown := slices.Contains(l.marks(id, "ag_x1"), mail.MarkPresented); shown != all {
			t.Errorf("presented: %v", shown)
		}
		if !all && !strings.Contains(answer, "The whole: pennypost read "+string(id)) {
			t.Errorf("the answer does not say how to read the whole: %.200s … %s", answer,
				answer[max(0, len(answer)-300):])
		}
	}
}

func wholeInClaude(l *lab, args []string) {
	l.write(".claude/settings.json", map[string]any{"enableAllProjectMcpServers": true,
		"permissions": map[string]any{"allow": []string{"mcp__mailbox"}}})
	l.write(filepath.Join(l.project, ".mcp.json"), map[string]any{"mcpServers": map[string]any{
		"mailbox": map[string]any{"type": "stdio", "command": "pennypost", "args": args, "alwaysLoad": true},
	}})
}

func wholeInCodex(l *lab, args []string) {
	config := filepath.Join(l.home, ".codex", "config.toml")
	text, err := os.ReadFile(config)
	l.must(err)
	l.write(config, fmt.Sprintf("%s\n[mcp_servers.mailbox]\ncommand = %q\nargs = [\"%s\"]\n"+
		"default_tools_approval_mode = \"approve\"\nenv_vars = [\"PENNYPOST_HOME\"]\n", text, os.Getenv(binaryVar), strings.Join(args, `", "`)))
}
