package realclient

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pennypost/internal/mail"
)

// pluginTree is the part of the repository that its plugins consist of.
var pluginTree = []string{".agents", ".claude-plugin", ".github/plugin", "gemini-extension.json", "hooks", "mcp.json",
	"plugin", "plugin.json", "plugins", "skills"}

// fromRepository installs Pennypost by the client's own commands, the lines, from a directory with the repository's
// plugin files (ROOT), and checks that a session is told of mail.
func fromRepository(lines ...string) func(*testing.T, *lab) {
	return func(t *testing.T, l *lab) {
		root := filepath.Join(l.dir, "repository")
		for _, name := range pluginTree {
			from, to := filepath.Join("../..", name), filepath.Join(root, name)
			info, err := os.Stat(from)
			l.must(err)
			if info.IsDir() {
				l.must(os.CopyFS(to, os.DirFS(from)))
				continue
			}
			text, err := os.ReadFile(from)
			l.must(err)
			l.write(to, string(text))
		}
		began := time.Now()
		for _, line := range lines {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			cmd := l.command(ctx, l.version.program, strings.Fields(strings.ReplaceAll(line, "ROOT", root))...)
			cmd.Stdin = strings.NewReader("y\n") // yes, trust the folder that it is installed from
			out, err := cmd.CombinedOutput()
			cancel()
			if err != nil {
				t.Fatalf("%s: %v\n%s", line, err, out)
			}
		}
		l.startOffice()
		l.pp("agents", "register", string(l.agent))
		id := l.send(l.agent, "ZEBRA from the repository")
		w := l.open(append([]string{l.version.program}, l.client.tui...)...)
		if trusts := "2. Trust all and continue"; l.client.name == "codex" {
			w.sees(trusts)
			w.press("2", "Enter")
		}
		l.until("it is ready", func() bool { return l.client.ready.MatchString(w.screen()) })
		w.prompt("hello plugin [[say bye]]")
		l.told(l.request("hello plugin"), "ZEBRA from the repository")
		t.Logf("from the first command to the request with the mail: %.1f s", time.Since(began).Seconds())
		l.presented(id)
		l.until("its turn is over", func() bool { return l.state(l.agent) == mail.Idle })
		w.prompt("hello tools [[say bye]]") // the server has started
		if r := l.request("hello tools"); !r.Offers("read_messages") {
			t.Error("the tools are not offered")
		}
	}
}
