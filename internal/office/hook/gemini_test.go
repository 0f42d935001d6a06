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

// Transcript lines of Gemini CLI 0.61.0.
const (
	geminiStart  = `{"sessionId":"s1","kind":"main"}` + "\n" + geminiBack
	geminiPrompt = `{"id":"1","timestamp":"t","type":"user","content":[{"text":"go on"}]}` + "\n" + geminiSet
	geminiSaid   = `{"id":"2","timestamp":"t","type":"gemini","content":"I use a tool.","tokens":{}}` + "\n" +
		geminiSet
	geminiResult = `{"id":"3","timestamp":"t","type":"user","content":[{"functionResponse":{"id":"x"}}]}` + "\n" +
		geminiSet
	geminiEsc   = `{"id":"4","timestamp":"t","type":"info","content":"Request cancelled."}` + "\n" + geminiSet
	geminiBack  = `{"$set":{"messages":[{"id":"0","timestamp":"t","type":"user","content":[{"text":"…"}]}]}}` + "\n"
	geminiNudge = `{"id":"5","timestamp":"t","type":"user","content":[{"text":"[System: You …]"}]}` + "\n"
	geminiSet   = `{"$set":{"lastUpdated":"t"}}` + "\n"
)

// A turn interrupted in Gemini CLI is told nothing, and text told before is told again.
func TestGeminiBrokenOff(t *testing.T) {
	display := func(v any) map[string]any {
		return map[string]any{"tool_name": "run_shell_command", "tool_response": map[string]any{"returnDisplay": v}}
	}
	said := map[string]any{"prompt_response": "I use a tool."}
	for name, c := range map[string]struct {
		event, script string
		more          map[string]any
		over          bool
	}{
		"ended":              {"AfterAgent", geminiStart + geminiPrompt + geminiSaid, said, false},
		"ended after a tool": {"AfterAgent", geminiPrompt + geminiSaid + geminiResult + geminiSaid, said, false},
		"ended, Esc long ago": {"AfterAgent", geminiPrompt + geminiEsc + geminiBack + geminiPrompt + geminiSaid, said,
			false},
		"compressed": {"AfterAgent", geminiPrompt + geminiSaid + geminiBack + geminiResult + geminiSaid,
			said, false},
		"nobody knows": {"AfterAgent", "", said, false},
		"nothing said": {"AfterAgent", "", map[string]any{"prompt_response": "[no response text]"}, true},
		"Esc after a word": {"AfterAgent", geminiPrompt + geminiSaid + geminiResult + geminiEsc + geminiBack, said,
			true},
		"and the client asks": {"AfterAgent",
			geminiPrompt + geminiResult + geminiEsc + geminiBack + geminiNudge + geminiSaid, said, false},
		"no answer of a model": {"AfterAgent", geminiPrompt + geminiBack, said, true},
		"Esc in a command": {"AfterTool", "",
			display("Command cancelled by user.\n\nOutput before cancellation:\nx"), true},
		"a command":           {"AfterTool", "", display("cancelled"), false},
		"a command's colours": {"AfterTool", "", display([]any{map[string]any{"text": "x"}}), false},
		"it asks":             {"Notification", "", map[string]any{"notification_type": "ToolPermission"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "transcript.jsonl")
			if err := os.WriteFile(path, []byte(c.script), 0o600); err != nil {
				t.Fatal(err)
			}
			synctest.Test(t, func(t *testing.T) {
				b := newFixture(t)
				h := b.harness(hooktest.Gemini(), "ann", "s1")
				h.Start("startup")
				h.Prompt("go on")
				h.Before("run_shell_command", "ls", nil)
				time.Sleep(time.Minute)
				h.After("read_file", "")
				told := b.send("ann", "one")
				h.After("read_file", "")
				b.wantShown(h, "one")
				new := b.send("ann", "two")
				time.Sleep(time.Minute)
				c.more["transcript_path"] = path
				out := h.Fire(c.event, c.more).Out
				if c.over {
					b.wantAgent("ann", mail.Idle)
					b.wantState(told, "ann", mail.Queued)
				}
				if (out == "") != c.over {
					t.Errorf("broken off: %t; the hook says %q", c.over, out)
				}
				if c.over {
					b.wantState(new, "ann", mail.Queued)
				}
			})
		})
	}
}

// A turn of Gemini CLI that is interrupted after a tool has no end; the client's follow-up prompt begins the next.
func TestGeminiAsksByItself(t *testing.T) {
	b := newFixture(t)
	h := b.harness(hooktest.Gemini(), "ann", "s1")
	path := filepath.Join(t.TempDir(), "transcript.jsonl")
	b.must(os.WriteFile(path, []byte(geminiPrompt+geminiResult+geminiEsc+geminiBack), 0o600))
	h.Start("startup")
	h.Prompt("go on")
	id := b.send("ann", "one")
	h.Tool("run_shell_command", "ls")
	b.wantShown(h, "one")
	b.send("ann", "two")
	r := h.Fire("BeforeAgent", map[string]any{"prompt": "[System: You …]", "transcript_path": path})
	if !strings.Contains(r.Out, `\ntwo\n`) {
		t.Errorf("the next turn is told %+v", r)
	}
	b.wantState(id, "ann", mail.Queued)
}

// Tools of Gemini CLI's subagents run the session's hooks, as its own tools do. While a subagent works, only its
// transcript grows.
func TestGeminiSubagent(t *testing.T) {
	b := newFixture(t)
	h := b.harness(hooktest.Gemini(), "ann", "s1")
	dir := t.TempDir()
	own, sub := filepath.Join(dir, "session.jsonl"), filepath.Join(dir, "s1", "sub.jsonl")
	b.must(os.MkdirAll(filepath.Dir(sub), 0o700))
	grows := func(path string, at time.Time) {
		t.Helper()
		b.must(os.WriteFile(path, nil, 0o600))
		b.must(os.Chtimes(path, at, at))
	}
	at := time.Now()
	script := func(tool string) map[string]any { return map[string]any{"transcript_path": own, "tool_name": tool} }
	grows(own, at)
	h.Start("startup")
	h.Prompt("go on")
	h.Fire("BeforeTool", script("invoke_agent"))
	grows(sub, at.Add(time.Second))
	id := b.send("ann", "one")
	for _, event := range []string{"BeforeTool", "AfterTool"} {
		if r := h.Fire(event, script("run_shell_command")); r != (hooktest.Result{}) {
			t.Errorf("%s of the subagent: %+v", event, r)
		}
	}
	b.wantState(id, "ann", mail.Queued)
	if r := h.Fire("AfterTool", script("invoke_agent")); r == (hooktest.Result{}) {
		t.Error("the parent is told nothing when the subagent is done")
	}
	grows(own, at.Add(2*time.Second))
	b.send("ann", "two")
	if r := h.Fire("AfterTool", script("run_shell_command")); r == (hooktest.Result{}) {
		t.Error("the parent is told nothing after its own tool")
	}
	grows(sub, at.Add(3*time.Second))
	b.send("ann", "stop", typed(mail.Cancel))
	if r := h.Fire("BeforeTool", script("run_shell_command")); r == (hooktest.Result{}) {
		t.Error("a cancel does not stop the tools of a subagent")
	}
}
