package realclient

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/realclient/model"
)

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
		write:    `[[tool Write {"file_path":"PATH","content":"ours"}]]`,
		headless: func(prompt string) []string { return []string{"-p", prompt} },
		// Its auto mode asks the vendor's server about commands, which is unreachable.
		tui:   []string{"--permission-mode", "default"},
		modes: [][]string{nil, {"--permission-mode", "auto"}},
		once:  []dialog{{"Yes, I trust this folder", []string{"Down", "Enter"}}},
		ready: regexp.MustCompile(`(?m)^\s*❯`),
		quit:  "/exit", resume: []string{"--continue"},
		breakOff: []string{"Escape"},
		asking: &asking{open: opens("--permission-mode", "default"), shows: "Do you want to",
			yes: []string{"Enter"}, no: []string{"Escape"}, desk: true, notes: true},
		subagent: func(prompt string) string {
			input, _ := json.Marshal(map[string]any{"description": "scripted", "prompt": prompt,
				"subagent_type": "general-purpose"})
			return "[[tool Agent " + string(input) + "]]"
		},
		doorless: "claude_below = \"1.0.0\"\n",
		more: append([]scenario{
			{"comment", "", false, claudeComment},
			{"ask", "", false, claudeAsk},
			{"plan", "", false, claudePlan},
			{"pluginAsks", "", false, claudePluginAsks},
			{"escDialog", "Esc in a dialog", false, claudeEscDialog},
			{"background", "", true, claudeBackground},
			{"wayOut", "", false, claudeWayOut},
			{"plugin", "", false, claudePlugin},
			{"fromRepository", "", false, fromRepository("plugin marketplace add ROOT",
				"plugin install pennypost@pennypost")},
			{"installedWhile", "", false, claudeInstalledWhile},
			{"shell", "", false, claudeShell},
			{"bypass", "", false, claudeBypass},
			{"poster", "", false, claudePoster},
			{"monitor", "", false, claudeMonitor},
			{"mcponly", "", false, claudeMCPOnly},
			{"restart", "", false, claudeRestart},
			{"teamInside", "", false, claudeTeamInside},
			{"teamApart", "", false, claudeTeamApart},
			{"haak", "", false, claudeHaak},
			{"whole", "", false, whole(wholeInClaude)},
		}, claudeDialogs()...),
	}
}

const claudeKey = "dummy-key-for-tests-1234567890"

// claudeState writes Claude Code's state of its user and projects.
func claudeState(l *lab, projects map[string]any) {
	l.write(".claude.json", map[string]any{
		"hasCompletedOnboarding": true, "theme": "dark", "projects": projects,
		"customApiKeyResponses": map[string]any{"approved": []string{claudeKey[len(claudeKey)-20:]},
			"rejected": []string{}},
	})
}

// claudeComment: Claude Code ignores a settings.json with a comment in it. Doctor says so, and install does not edit
// it.
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
	if said, err := l.try("install", "claude"); err == nil || !strings.Contains(said, "remove them") {
		t.Errorf("install edits it: %v\n%s", err, said)
	}
}

// claudeEscDialog: mail that arrived during a dialog reaches the model after the person has closed the dialog with
// Esc.
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

// claudeBackground: while a subagent works in the background, its idle parent is woken immediately, and a cancel of
// the parent stops the subagent's tools.
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

// claudeWayOut: a cancel still allows the tool that marks it read, and afterwards all tools run again.
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

// claudePlugin: the plugin tells the same as the installation does, and a headless run with it ends.
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

// claudeInstalledWhile: a session that was running when Pennypost was installed has no tools. It is no agent, nothing
// wakes it, and its person is told what to do; after a restart it is an agent.
func claudeInstalledWhile(t *testing.T, l *lab) {
	l.shell()
	w := l.tui()
	w.prompt("hello before [[say bye]]")
	l.request("hello before")
	l.install()
	for _, prompt := range []string{"hello after", "hello more"} { // the first still runs the hooks of before
		w.prompt(prompt + " [[sh printf 'ran-%s' '" + prompt + "']] [[say bye]]")
		l.request("ran-" + prompt)
		time.Sleep(thinks)
	}
	w.sees("began before Pennypost was set up")
	if all := l.agents(); len(all) > 0 {
		t.Errorf("it is an agent without tools: %+v", all)
	}
	w.prompt("/exit")
	w = l.tui("--continue")
	l.until("it has the tools", func() bool { // on a busy machine its servers take long to connect
		w.prompt("hello again [[say bye]]")
		l.until("it is an agent at rest", func() bool { return l.state(l.agent) == mail.Idle })
		all := l.model.Requests()
		return all[len(all)-1].Offers("send_message")
	})
}

// claudeShell: the command for marking mail works in the agents' shell as they are told it.
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
