package hook_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/office/hook/hooktest"
)

// Qwen Code also runs a session's hooks for the tools of its subagents, and UserPromptSubmit for tool results.
func TestQwenSubagent(t *testing.T) {
	b := newFixture(t)
	h := b.harness(hooktest.Qwen(), "ann", "s1")
	path := filepath.Join(t.TempDir(), "transcript.jsonl")
	h.Prompt("go on")
	asked := func(tool, id string) map[string]any {
		line := `{"uuid":"1","type":"assistant","message":{"role":"model","parts":[{"text":"I do."},` +
			`{"functionCall":{"name":"` + tool + `","args":{}}}]}}` + "\n" + `{"uuid":"2","type":"system"}` + "\n"
		b.must(os.WriteFile(path, []byte(line), 0o600))
		return map[string]any{"transcript_path": path, "tool_name": id}
	}
	h.Fire("PreToolUse", asked("agent", "agent"))
	id := b.send("ann", "one")
	for _, event := range []string{"PreToolUse", "PostToolUse"} {
		if r := h.Fire(event, asked("agent", "run_shell_command")); r != (hooktest.Result{}) {
			t.Errorf("%s of the subagent: %+v", event, r)
		}
	}
	b.wantState(id, "ann", mail.Queued)
	if r := h.Fire("PostToolUse", asked("agent", "agent")); !strings.Contains(r.Out, "one") {
		t.Errorf("the parent is told %+v", r)
	}
	h.Fire("UserPromptSubmit", map[string]any{"prompt": ""})
	b.wantState(id, "ann", mail.Notified)
	h.Fire("PreToolUse", asked("run_shell_command", "run_shell_command"))
	b.wantState(id, "ann", mail.Presented)
}

// Qwen Code's notification that it waits for a prompt is also sent at the end of a turn, at the same time as Stop.
// Whichever hook is heard first, that turn was not interrupted, and new mail is rung for immediately.
func TestQwenEndsByItself(t *testing.T) {
	waits := func(h *hooktest.Harness) {
		h.Fire("Notification", map[string]any{"notification_type": "idle_prompt"})
	}
	stops := func(h *hooktest.Harness) { h.End() }
	for name, ends := range map[string][]func(*hooktest.Harness){
		"Stop first": {stops, waits}, "the notification first": {waits, stops},
	} {
		t.Run(name, func(t *testing.T) {
			b := newFixture(t)
			h := b.harness(hooktest.Qwen(), "ann", "s1")
			h.Prompt("go on")
			for _, end := range ends {
				end(h)
			}
			b.wantAgent("ann", mail.Idle)
			b.send("ann", "one")
			u := b.room.Unwoken(func(mail.Name, []string) bool { return true })
			if len(u) != 1 || u[0].Broken {
				t.Errorf("to be woken is %+v, want ann, whose turn has ended", u)
			}
		})
	}
}

// A turn interrupted in Qwen Code is told nothing, and text told before is told again.
func TestQwenBrokenOff(t *testing.T) {
	for name, c := range map[string]struct {
		event string
		more  map[string]any
		over  bool
	}{
		"Esc in a tool":    {"PostToolUseFailure", map[string]any{"is_interrupt": true}, true},
		"a tool fails":     {"PostToolUseFailure", map[string]any{"is_interrupt": false}, false},
		"Esc, or an end":   {"Notification", map[string]any{"notification_type": "idle_prompt"}, true},
		"it asks":          {"Notification", map[string]any{"notification_type": "permission_prompt"}, true},
		"no model answers": {"StopFailure", map[string]any{"error": "rate_limit"}, true},
		"it is let in":     {"Notification", map[string]any{"notification_type": "auth_success"}, false},
		"a tool's result":  {"UserPromptSubmit", map[string]any{"prompt": ""}, false},
		"the turn's end":   {"Stop", map[string]any{"stop_hook_active": true}, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newFixture(t)
				h := b.harness(hooktest.Qwen(), "ann", "s1")
				h.Prompt("go on")
				told := b.send("ann", "one")
				h.Tool("run_shell_command", "ls")
				b.wantShown(h, "one")
				time.Sleep(time.Minute)
				b.send("ann", "two")
				out := h.Fire(c.event, c.more).Out
				if (out == "") != c.over && name != "it is let in" {
					t.Errorf("broken off: %t; the hook says %q", c.over, out)
				}
				if c.over {
					b.wantAgent("ann", mail.Idle)
					b.wantState(told, "ann", mail.Queued)
				}
			})
		})
	}
}
