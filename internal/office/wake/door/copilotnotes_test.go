package door

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pennypost/internal/office/wake/sessions"
)

// Lines as Copilot CLI 1.0.102 wrote them, shortened.
const (
	copilotBegan  = `{"type":"session.start","data":{"sessionId":"1","copilotVersion":"1.0.102"}}`
	copilotHook   = `{"type":"hook.end","data":{"hookType":"userPromptSubmitted","success":true}}`
	copilotStop   = `{"type":"hook.end","data":{"hookType":"agentStop","success":true}}`
	copilotPrompt = `{"type":"user.message","data":{"content":"hello"}}`
	copilotTurn   = `{"type":"assistant.turn_start","data":{"turnId":"0"}}`
	copilotTool   = `{"type":"tool.execution_start","data":{"toolName":"bash"}}`
	copilotDone   = `{"type":"assistant.turn_end","data":{"turnId":"0"}}`
	copilotAbort  = `{"type":"abort","data":{"reason":"user_initiated"}}`
	copilotClosed = `{"type":"permission.completed","data":{"result":{"kind":"cancelled"}}}`
	copilotSub    = `{"type":"assistant.turn_end","data":{"turnId":"0"},"agentId":"s1"}`
	copilotRewind = `{"type":"session.usage_checkpoint","data":{"totalPremiumRequests":0}}`
)

// An interrupted turn runs no hook of Copilot's. Its log shows it, if it was written after the last hook.
func TestCopilotBrokenOff(t *testing.T) {
	const id = "f9a70f37-a1f1-48c0-86f7-92a739d46674"
	dir := t.TempDir()
	log := filepath.Join(dir, "session-state", id, "events.jsonl")
	if err := os.MkdirAll(filepath.Dir(log), 0o700); err != nil {
		t.Fatal(err)
	}
	n := CopilotNotes{Sessions: new(sessions.List), Dir: dir}
	n.Sessions.Put(sessions.Session{Room: "a", Agent: "ann", Client: "copilot", ID: id, Working: true})
	n.Sessions.Put(sessions.Session{Room: "a", Agent: "bob", Client: "copilot", ID: "../" + id, Working: true})
	n.Sessions.Put(sessions.Session{Room: "a", Agent: "cid", Client: "claude", ID: id, Working: true})
	heard := time.Now()
	for name, c := range map[string]struct {
		lines  []string
		behind time.Duration // after the last hook
		broken bool
	}{
		"a prompt is being handed over": {[]string{copilotBegan, copilotHook}, time.Second, false},
		"it thinks": {[]string{copilotBegan, copilotHook, copilotPrompt, copilotTurn}, time.Second,
			false},
		"a tool runs":             {[]string{copilotPrompt, copilotTurn, copilotTool}, time.Second, false},
		"a subagent has ended":    {[]string{copilotTurn, copilotTool, copilotSub}, time.Second, false},
		"a line is being written": {[]string{copilotAbort, copilotTurn[:20]}, time.Second, false},
		"Ctrl-C": {[]string{copilotPrompt, copilotTurn, copilotDone, copilotAbort}, time.Second,
			true},
		"Ctrl-C in a dialog": {[]string{copilotTurn, copilotTool, copilotDone, copilotAbort, copilotClosed},
			time.Second, true},
		"the next prompt is heard of": {[]string{copilotPrompt, copilotTurn, copilotDone, copilotAbort},
			-time.Second, false},
		"Esc, Esc in the first turn": {[]string{copilotBegan, copilotRewind}, time.Second, true},
		"Esc, Esc in the second":     {[]string{copilotDone, copilotStop, copilotRewind}, time.Second, true},
		"nothing but a long line's end": {[]string{copilotBegan, strings.Repeat("x", maxTail), copilotRewind},
			time.Second, false},
	} {
		if err := os.WriteFile(log, []byte(strings.Join(c.lines, "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		at := heard.Add(c.behind)
		if err := os.Chtimes(log, at, at); err != nil {
			t.Fatal(err)
		}
		got := n.BrokenOff(heard.Add(time.Minute))
		if (len(got) == 1 && got[0].Agent == "ann") != c.broken || len(got) > 1 {
			t.Errorf("%s: broken off are %v", name, got)
		}
		if got := n.BrokenOff(heard); len(got) > 0 {
			t.Errorf("%s: broken off while hooks may still run: %v", name, got)
		}
	}
}
