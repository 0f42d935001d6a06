package hook_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"pennypost/internal/mail"
	"pennypost/internal/office/hook"
)

// claudeSays runs a hook of Claude Code for ann and returns its output.
func (b *fixture) claudeSays(in string, environ ...string) string {
	b.Helper()
	p := pipe("claude", "", strings.NewReader(in), func(context.Context, *hook.Event) (*hook.Mailbox, error) {
		return &hook.Mailbox{Room: "lab", Agent: "ann", As: func(n mail.Name) (hook.Service, error) {
			return b.as(n), nil
		}}, nil
	})
	var out bytes.Buffer
	p.Hook.Environ, p.Stdout = environ, &out
	if exit := p.Run(b.Context()); exit != 0 {
		b.Errorf("the hook for %s ends with %d", in, exit)
	}
	return out.String()
}

// additionalContext keeps a turn going in versions that accept it, where the model sees one copy. In others, a
// decision.
func TestClaudeStop(t *testing.T) {
	for _, c := range []struct {
		variable string
		context  bool
	}{
		{"claude-code_2-1-330_harness", true}, {"claude-code_2-2-0_agent", true}, {"claude-code_10-0-0_x", true},
		{"claude-code_2-1-329_harness", false}, {"claude-code_2_harness", false}, {"claude-code_", false},
		{"another_9-9-9_agent", false}, {"", false},
	} {
		b := newFixture(t)
		b.claudeSays(`{"session_id":"s1","hook_event_name":"UserPromptSubmit"}`)
		b.send("ann", "to be told")
		out := b.claudeSays(stop, "AI_AGENT="+c.variable)
		if strings.Count(out, "to be told") != 1 || strings.Contains(out, `"additionalContext"`) != c.context ||
			strings.Contains(out, `"decision":"block"`) == c.context {
			t.Errorf("AI_AGENT=%s: %s", c.variable, out)
		}
	}
}

// A cancel never denies the tools needed to mark it: the dialects' tools of a server of any name, and the search
// without which deferred tools cannot be called.
func TestCancelLeavesTheWayOut(t *testing.T) {
	for tool, open := range map[string]bool{
		"mcp__pennypost__mark_messages": true, "mcp__plugin_pennypost_pennypost__mark_messages": true,
		"ToolSearch": true, "mcp__post__mark_read": true, "mcp_post_mark_read": true,
		"mcp__post__remark_reader": false,
		"mark_read":                false, "Bash": false, "Agent": false,
	} {
		b := newFixture(t)
		b.claudeSays(`{"session_id":"s1","hook_event_name":"UserPromptSubmit"}`)
		b.send("ann", "stop it", typed(mail.Cancel))
		out := b.claudeSays(`{"session_id":"s1","hook_event_name":"PreToolUse","tool_name":"` + tool + `"}`)
		if denied := strings.Contains(out, `"deny"`); denied == open {
			t.Errorf("%s: %q", tool, out)
		}
	}
}

// A background subagent does not make its idle parent count as working: mail for the parent need not wait for the
// subagent to end. A cancel of the parent stops the subagent's tools.
func TestBackgroundSubagent(t *testing.T) {
	const tool = `{"session_id":"s1","hook_event_name":"PreToolUse","tool_name":"Bash","agent_id":"a1"}`
	b := newFixture(t)
	b.claudeSays(`{"session_id":"s1","hook_event_name":"UserPromptSubmit"}`)
	b.claudeSays(stop)
	if out := b.claudeSays(tool); out != "" {
		t.Errorf("the subagent is told %s", out)
	}
	b.wantAgent("ann", mail.Idle)
	b.send("ann", "stop it", typed(mail.Cancel))
	if out := b.claudeSays(tool); !strings.Contains(out, `"deny"`) {
		t.Errorf("a cancelled subagent is told %q", out)
	}
}

// A running Claude Code picks up newly installed hooks, but not the tools. Such a session is no agent, and its person
// is told to restart it.
func TestInstalledWhileItRan(t *testing.T) {
	b := newFixture(t)
	run := b.runner("ann", "p1")
	says := func(event, more string) string {
		return run("claude", event, `{"session_id":"s1","hook_event_name":"`+event+`"`+more+`}`).Out
	}
	for event, want := range map[string]bool{"PreToolUse": false, "UserPromptSubmit": true, "Stop": false} {
		if out := says(event, ""); strings.Contains(out, `{"systemMessage":"Pennypost: `) != want ||
			!want && out != "" {
			t.Errorf("%s says %q", event, out)
		}
	}
	if out := says("SessionStart", `,"source":"clear"`); out != "" {
		t.Errorf("/clear says %q", out)
	}
	if list, err := mail.Roster(t.Context(), b.as(mail.User)); err != nil || len(list) > 0 {
		t.Errorf("the roster has %+v, %v", list, err)
	}
	says("SessionStart", `,"source":"resume"`)
	b.send("ann", "to be told")
	if out := says("UserPromptSubmit", ""); !strings.Contains(out, "to be told") {
		t.Errorf("started again it is told %q", out)
	}
}
