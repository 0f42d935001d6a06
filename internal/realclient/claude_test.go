package realclient

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/realclient/model"
)

// claude is Claude Code.
func claude() client {
	return client{
		name: "claude", title: "Claude Code",
		settings: func(l *lab) { claudeState(l, map[string]any{}) },
		trust: func(l *lab) {
			claudeState(l, map[string]any{l.project: map[string]any{"hasTrustDialogAccepted": true,
				"hasCompletedProjectOnboarding": true}})
		},
		shell: grants("--allowedTools", "Bash"),
		env: func(l *lab) []string {
			return []string{
				"ANTHROPIC_BASE_URL=" + l.model.URL, "ANTHROPIC_API_KEY=" + claudeKey, "IS_SANDBOX=1",
				"DISABLE_TELEMETRY=1", "DISABLE_AUTOUPDATER=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
			}
		},
		headless: func(prompt string) []string { return []string{"-p", prompt} },
		// Its auto mode asks the vendor's server about commands, which is not there.
		tui:      []string{"--permission-mode", "default"},
		modes:    [][]string{nil, {"--permission-mode", "auto"}},
		once:     []dialog{{"Yes, I trust this folder", []string{"Down", "Enter"}}},
		ready:    regexp.MustCompile(`(?m)^\s*❯`),
		breakOff: []string{"Escape"},
		subagent: func(prompt string) string {
			input, _ := json.Marshal(map[string]any{"description": "scripted", "prompt": prompt,
				"subagent_type": "general-purpose"})
			return "[[tool Agent " + string(input) + "]]"
		},
		doorless: "claude_below = \"1.0.0\"\n",
		more: []scenario{
			{"comment", "", false, claudeComment},
			{"ask", "", false, claudeAsk},
			{"plan", "", false, claudePlan},
			{"pluginAsks", "", false, claudePluginAsks},
			{"escDialog", "Esc in a dialog", false, claudeEscDialog},
			{"background", "", true, claudeBackground},
			{"wayOut", "", false, claudeWayOut},
			{"plugin", "", false, claudePlugin},
			{"queued", "", true, claudeQueued},
			{"killed", "", true, claudeKilled},
			{"escTwice", "", true, claudeEscTwice},
			{"reopened", "", true, claudeReopened},
			{"typing", "", false, claudeTyping},
			{"shell", "", false, claudeShell},
			{"bypass", "", false, claudeBypass},
			{"poster", "", false, claudePoster},
			{"monitor", "", false, claudeMonitor},
			{"mcponly", "", false, claudeMCPOnly},
			{"restart", "", false, claudeRestart},
			{"teamInside", "", false, claudeTeamInside},
			{"teamApart", "", false, claudeTeamApart},
			{"haak", "", false, claudeHaak},
		},
	}
}

const claudeKey = "dummy-key-for-tests-1234567890"

// claudeState writes what Claude Code knows of its user, and of projects.
func claudeState(l *lab, projects map[string]any) {
	l.write(".claude.json", map[string]any{
		"hasCompletedOnboarding": true, "theme": "dark", "projects": projects,
		"customApiKeyResponses": map[string]any{"approved": []string{claudeKey[len(claudeKey)-20:]},
			"rejected": []string{}},
	})
}

// claudeComment: Claude Code ignores settings.json for a comment in it. Doctor says so, and install does not edit it.
func claudeComment(t *testing.T, l *lab) {
	l.install()
	settings := filepath.Join(l.home, ".claude", "settings.json")
	text, err := os.ReadFile(settings)
	l.must(err)
	l.write(settings, "// mine\n"+string(text))
	l.pp("agents", "register", string(l.agent))
	l.send(l.agent, "ZEBRA untold")
	l.finished(l.begin("hello comment [[say bye]]"))
	if r := l.request("hello comment"); r.Has("ZEBRA") {
		t.Error("the client reads a file with a comment after all: install may edit it again")
	}
	if said, _ := l.try("doctor"); !strings.Contains(said, "has comments") {
		t.Errorf("doctor says nothing of it:\n%s", said)
	}
	if said, err := l.try("install", "claude"); err == nil || !strings.Contains(said, "take them out") {
		t.Errorf("install edits it: %v\n%s", err, said)
	}
}

// claudeEscDialog: mail that came while a dialog stood reaches the model after the person has closed it with Esc.
func claudeEscDialog(t *testing.T, l *lab) {
	l.install()
	w := l.open(l.version.program, "--permission-mode", "default")
	w.waitReady()
	w.prompt("hello dialog [[sh touch dialog]] [[say never]]")
	w.sees("Do you want to")
	id := l.send(l.agent, "ZEBRA before Esc", "--urgent")
	w.breakOff()
	l.afterEsc(id, "ZEBRA before Esc")
}

// claudeBackground: while a subagent works in the background, its idle parent is woken at once, and a cancel of the
// parent stops the subagent's tools.
func claudeBackground(t *testing.T, l *lab) {
	l.install()
	l.shell()
	w := l.tui()
	tool, open := l.gate("gate")
	w.prompt("hello parent " + l.client.subagent("hello child "+tool+" [[sh touch more]] [[say done]]") +
		" [[say bye]]")
	l.began("gate")
	l.until("the parent is idle", func() bool { return l.state(l.agent) == mail.Idle })
	began := time.Now()
	l.send(l.agent, "ZEBRA for the parent")
	r := l.request("hello parent", "ZEBRA for the parent")
	if took := r.At.Sub(began); took > 10*time.Second {
		t.Errorf("the parent was told after %v", took)
	}
	l.told(r, "ZEBRA for the parent")
	l.until("the parent is idle", func() bool { return l.state(l.agent) == mail.Idle })
	open()
}

// claudeWayOut: a cancel leaves open what it takes to mark it, and then the tools run again.
func claudeWayOut(t *testing.T, l *lab) {
	l.install()
	l.shell()
	tool, open := l.gate("gate")
	done := l.begin("hello cancel " + tool +
		` [[sh touch forbidden]] [[tool ToolSearch {"query":"select:WebSearch"}]]` +
		` [[tool mark_messages {"ids":["{{id=\"(msg_[^\"]+)\"}}"],"mark":"read"}]] [[sh touch allowed]] [[say stopped]]`)
	l.began("gate")
	id := l.send(l.agent, "ZEBRA cancelled", "--type", "cancel")
	open()
	l.finished(done)
	if l.exists("forbidden") || !l.exists("allowed") {
		t.Error("forbidden, or not allowed")
	}
	if !slices.Contains(l.marks(id, l.agent), mail.MarkRead) {
		t.Error("the cancel was not marked read")
	}
	for _, r := range l.model.Requests() {
		for _, p := range r.Parts {
			if p.Role == model.Result && strings.Contains(p.Text, "a cancel for") &&
				strings.Contains(p.Text, "ToolSearch") {
				t.Errorf("ToolSearch is denied: %s", p.Text)
			}
		}
	}
}

// claudePlugin: the plugin tells as the installation does, and a headless run with it ends.
func claudePlugin(t *testing.T, l *lab) {
	plugin, err := filepath.Abs("../../plugin")
	l.must(err)
	l.startOffice()
	l.pp("agents", "register", string(l.agent))
	id := l.send(l.agent, "ZEBRA by the plugin")
	headless := l.client.headless
	l.client.headless = func(prompt string) []string { return append(headless(prompt), "--plugin-dir", plugin) }
	done := <-l.begin("hello plugin [[say bye]]")
	if done.err != nil || done.took > 20*time.Second {
		t.Errorf("the run took %v: %v\n%s", done.took, done.err, done.out)
	}
	r := l.request("hello plugin")
	l.told(r, "ZEBRA by the plugin")
	l.presented(id)
	if !r.Offers("read_messages") {
		t.Error("the tools are not there from the first request on")
	}
	l.alone()
}

// thinks is how long a model thinks in scenarios of life: longer than any pause by which one could guess.
const thinks = 6 * time.Second

// claudeQueued: a prompt that the person types while the model works, and thinks for as long as models do, does not
// have mail told twice.
func claudeQueued(t *testing.T, l *lab) {
	l.install()
	l.shell()
	w := l.tui()
	tool, open := l.gate("gate")
	w.prompt("hello work " + tool + " [[hold on]] [[say bye]]")
	l.began("gate")
	id := l.send(l.agent, "ZEBRA while it works")
	open()
	l.told(l.request("hello work", passed), "ZEBRA while it works")
	time.Sleep(thinks)
	w.prompt("and then this [[say bye]]")
	time.Sleep(thinks)
	l.model.Release("on")
	l.told(l.request("hello work", "and then this"), "ZEBRA while it works")
	l.presented(id)
	l.until("the agent is idle", func() bool { return l.state(l.agent) == mail.Idle })
	l.once("ZEBRA while it works")
}

// once holds that no request has a text more than once.
func (l *lab) once(text string) {
	l.t.Helper()
	for _, r := range l.model.Requests() {
		if n := r.Copies(text); n > 1 {
			l.t.Errorf("request %d has %q %d times", r.N, text, n)
		}
	}
}

// claudeKilled: a session that is killed while the model thinks, and continued, has what it was told once.
func claudeKilled(t *testing.T, l *lab) {
	for _, first := range []bool{false, true} {
		l := newLab(t, l.client, l.version)
		body, tool, open := "ZEBRA in the first request", "", func() {}
		l.install()
		l.shell()
		if first {
			l.pp("agents", "register", string(l.agent))
			l.send(l.agent, body)
		}
		w := l.tui()
		if !first {
			body = "ZEBRA behind a tool"
			tool, open = l.gate("gate")
		}
		w.prompt("hello work " + tool + " [[hold on]] [[say bye]]")
		if !first {
			l.began("gate")
			l.send(l.agent, body)
			open()
		}
		l.told(l.request("hello work", body), body)
		time.Sleep(thinks)
		l.kill(l.version.program)
		w = l.tui("--continue")
		w.prompt("hello again [[say bye]]")
		l.told(l.request("hello again", body), body)
		l.until("the agent is idle", func() bool { return l.state(l.agent) == mail.Idle })
		l.once(body)
	}
}

// kill ends a program of the lab as kill -9 does.
func (l *lab) kill(program string) {
	l.t.Helper()
	killed := false
	for pid := range l.processes() {
		exe, _ := os.Readlink("/proc/" + strconv.Itoa(pid) + "/exe") // of one that ends there is none
		if real, err := filepath.EvalSymlinks(program); err == nil && exe == real {
			l.must(syscall.Kill(pid, syscall.SIGKILL))
			killed = true
		}
	}
	if !killed {
		l.t.Fatalf("%s does not run\n%s", program, l.scene())
	}
}

// claudeEscTwice: after Esc in a turn that had tools, and a prompt of the person's at once, mail told is there once.
func claudeEscTwice(t *testing.T, l *lab) {
	l.install()
	l.shell()
	w := l.tui()
	tool, open := l.gate("gate")
	w.prompt("hello work " + tool + " [[hold on]] [[say bye]]")
	l.began("gate")
	id := l.send(l.agent, "ZEBRA before Esc")
	open()
	l.told(l.request("hello work", passed), "ZEBRA before Esc")
	time.Sleep(thinks)
	w.breakOff()
	w.prompt("and then this [[say bye]]")
	l.told(l.request("and then this"), "ZEBRA before Esc")
	l.presented(id)
	l.once("ZEBRA before Esc")
}

// claudeReopened: mail that came while the session was closed is seen when it is opened again, though nobody types.
func claudeReopened(t *testing.T, l *lab) {
	l.install()
	w := l.tui()
	w.prompt("hello first [[say bye]]")
	l.request("hello first")
	l.until("the agent is idle", func() bool { return l.state(l.agent) == mail.Idle })
	w.prompt("/exit")
	l.until("the session has ended", func() bool { s := l.state(l.agent); return s == mail.Gone || s == mail.Frozen })
	id := l.send(l.agent, "ZEBRA while it was closed", "--urgent")
	l.tui()
	l.until("the session is there", func() bool { return l.state(l.agent) == mail.Idle })
	began := time.Now()
	r := l.request("ZEBRA while it was closed")
	if l.seconds = r.At.Sub(began); l.seconds > 20*time.Second {
		t.Errorf("the model was asked after %v", l.seconds)
	}
	l.told(r, "ZEBRA while it was closed")
	l.presented(id)
	l.once("ZEBRA while it was closed")
}

// claudeTyping: nobody is rung while the person types the first prompt of a session, which is left as it was typed.
func claudeTyping(t *testing.T, l *lab) {
	l.install()
	l.pp("agents", "register", string(l.agent))
	l.send(l.agent, "ZEBRA at the opening")
	w := l.tui()
	for range 12 { // half a minute
		w.press("-l", "word ")
		time.Sleep(2500 * time.Millisecond)
	}
	if n := len(l.model.Requests()); n > 0 {
		t.Errorf("it was rung while the person typed\n%s", l.scene())
	}
	w.prompt("and an end [[say bye]]")
	l.told(l.request("word word word", "and an end"), "ZEBRA at the opening")
	l.once("ZEBRA at the opening")
}

// claudeShell: the command by which mail is marked works as agents are told it, in their shell.
func claudeShell(t *testing.T, l *lab) {
	l.install()
	l.shell()
	tool, open := l.gate("gate")
	done := l.begin("hello shell " + tool + ` [[sh {{by: (pennypost mark) ID}} {{id="(msg_[^"]+)"}} ` +
		`{{pennypost mark ID (--read --as [\w-]+)}}]] [[say bye]]`)
	l.began("gate")
	id := l.send(l.agent, "ZEBRA to be marked")
	open()
	l.finished(done)
	if !slices.Contains(l.marks(id, l.agent), mail.MarkRead) {
		t.Errorf("the message has the marks %v", l.marks(id, l.agent))
	}
}
