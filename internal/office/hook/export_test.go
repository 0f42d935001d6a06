package hook_test

import (
	"context"
	"os/exec"
	"strings"
	"testing"

	"pennypost/internal/mail"
	"pennypost/internal/office/hook"
)

// Commands in a session's shell speak as the session's agent, for any name.
func TestExport(t *testing.T) {
	const start, vscode = `{"session_id":"s1","hook_event_name":"SessionStart"}`,
		`{"sessionId":"s1","hookEventName":"SessionStart","timestamp":"t"}`
	name := mail.Name(`it's $(me) "小克" \`)
	for _, c := range []struct {
		in, file, set string
		writes        bool
	}{
		{start, "/env", "", true},
		{start, "/env", "another", true},
		{start, "/env", string(name), false}, // inherited
		{start, "", "", false},
		{vscode, "/env", "", false},
		{strings.Replace(start, "SessionStart", "Stop", 1), "/env", "", false},
	} {
		b := newFixture(t)
		text := ""
		p := pipe("claude", "SessionStart", strings.NewReader(c.in), func(context.Context, *hook.Event) (*hook.Mailbox,
			error) {
			return &hook.Mailbox{Room: "lab", Agent: name, As: func(n mail.Name) (hook.Service, error) {
				return b.as(n), nil
			}}, nil
		})
		p.Hook.Environ = []string{"CLAUDE_ENV_FILE=" + c.file, "PENNYPOST_AGENT=" + c.set}
		p.Append = func(path, line string) error { text += path + ":" + line; return nil }
		if exit := p.Run(t.Context()); exit != 0 || (text != "") != c.writes {
			t.Errorf("%+v: exit %d, and it wrote %q", c, exit, text)
		}
		if !c.writes {
			continue
		}
		script, ok := strings.CutPrefix(text, c.file+":")
		sh, err := exec.LookPath("sh")
		if err != nil || !ok {
			t.Skip(err, text)
		}
		if out, err := exec.Command(sh, "-c", script+`printf %s "$PENNYPOST_AGENT"`).CombinedOutput(); err != nil ||
			string(out) != string(name) {
			t.Errorf("after %q the agent is %q, %v", script, out, err)
		}
	}
}
