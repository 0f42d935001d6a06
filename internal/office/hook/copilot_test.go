package hook_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"pennypost/internal/mail"
	"pennypost/internal/office/hook"
)

// A prompt carries mail only where Copilot is known to pass it on. Other versions drop it, and the end of the turn
// would then wrongly prove that the model had it.
func TestCopilotPrompt(t *testing.T) {
	for _, c := range []struct {
		version string
		told    bool
	}{{"1.0.102", true}, {"1.0.65", true}, {"1.1.0", true}, {"1.0.64", false}, {"0.9", false}, {"", false}} {
		b := newFixture(t)
		run := func(event, in string) string {
			t.Helper()
			p := pipe("copilot", event, strings.NewReader(in), func(context.Context, *hook.Event) (*hook.Mailbox,
				error) {
				return &hook.Mailbox{Room: "lab", Agent: "ann", As: func(n mail.Name) (hook.Service, error) {
					return b.as(n), nil
				}}, nil
			})
			var out bytes.Buffer
			p.Hook.Environ, p.Stdout = []string{"COPILOT_CLI_BINARY_VERSION=" + c.version}, &out
			if exit := p.Run(b.Context()); exit != 0 {
				b.Errorf("the hook ends with %d", exit)
			}
			return out.String()
		}
		run("sessionStart", `{"sessionId":"s1","timestamp":1,"source":"new"}`)
		b.send("ann", "to be told")
		out := run("userPromptSubmitted", `{"sessionId":"s1","timestamp":1,"prompt":"hello"}`)
		if strings.Contains(out, "to be told") != c.told {
			t.Errorf("version %q: the prompt's hook says %q", c.version, out)
		}
		out = run("agentStop", `{"sessionId":"s1","timestamp":1,"stopReason":"end_turn"}`)
		if strings.Contains(out, "to be told") == c.told {
			t.Errorf("version %q: the end's hook says %q", c.version, out)
		}
	}
}
