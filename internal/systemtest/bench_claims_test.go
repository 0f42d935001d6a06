package systemtest

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"pennypost/internal/room/journal/jetstream/natstest"
)

// BenchmarkClaims measures the whole process of the hook before a tool call, where two agents share a worktree: a
// read, the first write to a file, which is a durable append, and the next write to it. Alone is a first write
// without another agent in the tree, which claims nothing.
func BenchmarkClaims(b *testing.B) {
	b.Run("files", func(b *testing.B) { benchClaims(b) })
	b.Run("three servers", func(b *testing.B) {
		servers := natstest.Start(b, 3, natstest.Options{})
		benchClaims(b, `[journal]`, `kind = "jetstream"`, `prefix = "claims"`, `replicas = 3`,
			`urls = ["`+strings.Join(servers.URLs(), `", "`)+`"]`)
	})
}

func benchClaims(b *testing.B, config ...string) {
	o := startOffice(b, config...)
	o.bin = binary
	tree := b.TempDir()
	if out, err := exec.Command("git", "init", "-q", tree).CombinedOutput(); err != nil {
		b.Skipf("git init: %v\n%s", err, out)
	}
	says := func(agent, event, more string) {
		hook := o.command("hook", "claude", event, "--as", agent)
		hook.Dir = tree
		hook.Stdin = strings.NewReader(fmt.Sprintf(`{"session_id":"s-%s","hook_event_name":%q%s}`, agent, event, more))
		var told bytes.Buffer
		hook.Stdout, hook.Stderr = &told, os.Stderr
		if err := hook.Run(); err != nil || strings.Contains(told.String(), "deny") {
			b.Fatalf("hook %s of %s: %v\n%s", event, agent, err, told.String())
		}
	}
	start := func(agent string) {
		says(agent, "SessionStart", `,"source":"startup"`)
		says(agent, "UserPromptSubmit", `,"prompt":"go on"`)
	}
	n := 0
	first := func() {
		n++
		says("ann", "PreToolUse", fmt.Sprintf(
			`,"tool_name":"Write","tool_input":{"file_path":"src/%d.go","content":"x"}`, n))
	}
	run := func(name string, call func()) {
		b.Run(name, func(b *testing.B) {
			var took []time.Duration
			for b.Loop() {
				from := time.Now()
				call()
				took = append(took, time.Since(from))
			}
			slices.Sort(took)
			for _, share := range []int{50, 99} {
				b.ReportMetric(float64(took[len(took)*share/100].Microseconds())/1000, fmt.Sprintf("ms-p%d", share))
			}
		})
	}
	start("ann")
	run("alone", first)
	start("bob")
	run("read", func() { says("ann", "PreToolUse", `,"tool_name":"Read","tool_input":{"file_path":"src/1.go"}`) })
	run("first write", first)
	run("next write", func() { n--; first() })
	if held := o.output(b, "claims"); !strings.Contains(held, fmt.Sprintf("src/%d.go", n)) {
		b.Errorf("nothing is held: %s", held)
	}
}
