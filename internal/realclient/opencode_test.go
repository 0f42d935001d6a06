package realclient

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"pennypost/internal/mail"
)

func opencode() client {
	return client{
		name: "opencode", title: "opencode",
		settings: func(l *lab) { l.write(".config/opencode/opencode.json", opencodeSettings(l)) },
		env: func(*lab) []string {
			return []string{"OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_AUTOUPDATE=1",
				"OPENCODE_DISABLE_LSP_DOWNLOAD=1"}
		},
		write: `[[tool write {"filePath":"PATH","content":"ours"}]]`,
		headless: func(prompt string) []string { // it would put an argument with spaces in quotes
			return append([]string{"run", "--"}, strings.Split(prompt, " ")...)
		},
		shell: func(l *lab) { // outside the project too, where gates are
			l.more = append(l.more, `OPENCODE_PERMISSION={"external_directory":"allow"}`)
		},
		ready: regexp.MustCompile(`ctrl\+p commands`),
		quit:  "/exit", resume: []string{"--continue"},
		asking: &asking{open: opencodeAsks().open, shows: "Permission required", yes: []string{"Enter"},
			no: []string{"Escape"}, desk: true},
		breakOff: []string{"Escape", "Escape"},
		subagent: func(prompt string) string {
			input, _ := json.Marshal(map[string]any{"description": "scripted", "prompt": prompt,
				"subagent_type": "general"})
			return "[[tool task " + string(input) + "]]"
		},
		lacks: map[string]string{
			"prompt":   "it has no session before its first prompt: see unheard",
			"reopened": "it has no session before its first prompt",
		},
		more: append(opencodeAsks().scenarios("dialog"), []scenario{
			{"acp", "", false, overACP("acp")},
			{"acpInstalled", "", false, overACPInstalled("acp")},
			{"unheard", "told at a prompt", false, unheard},
			{"fromRepository", "", false, opencodeFromRepository},
			{"queued", "", false, opencodeQueued},
			{"marked", "", false, marked},
			{"twoInOne", "", false, opencodeTwoInOne},
			{"plan", "", false, opencodePlan},
			{"mcpOnly", "", false, opencodeMCPOnly},
		}...),
	}
}

// opencodeFromRepository runs without a network: without the file, opencode tries for minutes to fetch a package of
// its own.
func opencodeFromRepository(t *testing.T, l *lab) {
	l.write(".config/opencode/.npmrc", "fetch-retries=0\nfetch-timeout=5000\n")
	fromRepository("plugin -g ROOT/plugins/opencode")(t, l)
}

// unheard: mail that arrived for an idle session whose door is gone, because the waiting process was killed, is told
// with the next prompt.
func unheard(t *testing.T, l *lab) {
	l.install()
	w := l.tui()
	w.prompt("hello first [[say bye]]")
	l.request("hello first")
	l.until("the agent is idle", func() bool { return l.state(l.agent) == mail.Idle })
	waits := 0
	l.until("a process waits", func() bool {
		for pid, args := range l.processes() {
			if strings.Contains(args, "hook "+l.client.name+" wait") {
				waits = pid
			}
		}
		return waits != 0
	})
	l.must(signal(waits, syscall.SIGKILL))
	l.until("nobody waits", func() bool { return l.processes()[waits] == "" })
	id := l.send(l.agent, "ZEBRA at a prompt")
	w.prompt("hello second [[say bye]]")
	l.told(l.request("hello second"), "ZEBRA at a prompt")
	l.presented(id)
}

// marked: a cancel still allows the tool that marks it read, and after that all others.
func marked(t *testing.T, l *lab) {
	l.install()
	l.shell()
	tool, open := l.gate("gate")
	done := l.begin("hello marked " + tool + " [[sh touch forbidden]]" +
		` [[tool mark_messages {"ids":["{{id=\"(msg_[^\"]+)\"}}"],"mark":"read"}]] [[sh touch allowed]] [[say bye]]`)
	l.began("gate")
	l.send(l.agent, "ZEBRA cancelled", "--type", "cancel")
	open()
	l.finished(done)
	if l.exists("forbidden") || !l.exists("allowed") {
		t.Errorf("what a cancel forbids was run: %t; what may be run after it is marked was run: %t\n%s",
			l.exists("forbidden"), l.exists("allowed"), l.scene())
	}
}

// opencodeQueued: mail told in the middle of a turn is not told again when the person queues another prompt, and the
// queued prompt carries the mail that arrived since.
func opencodeQueued(t *testing.T, l *lab) {
	l.install()
	l.shell()
	w := l.tui()
	first, openFirst := l.gate("first")
	second, openSecond := l.gate("second")
	w.prompt("hello one " + first + " " + second + " [[say bye]]")
	l.began("first")
	l.send(l.agent, "ZEBRA mid-turn")
	openFirst()
	l.began("second")
	id := l.send(l.agent, "LION mid-turn")
	w.prompt("hello two [[say bye]]")
	l.until("the prompt is queued", func() bool { return slices.Contains(l.marks(id, l.agent), mail.MarkTold) })
	openSecond()
	r := l.request("hello two")
	l.told(r, "ZEBRA mid-turn")
	l.told(r, "LION mid-turn")
	l.presented(id)
}

// opencodePlan: waking a session that the person put in plan mode does not take it out of that mode.
func opencodePlan(t *testing.T, l *lab) {
	const rule = "Plan Mode"
	l.install()
	w := l.tui()
	w.press("Tab")
	w.sees("Plan · scripted")
	w.prompt("hello plan [[say bye]]")
	if r := l.request("hello plan"); !r.Has(rule) {
		t.Fatalf("a request of a session that plans does not say %q", rule)
	}
	l.until("the agent is idle", func() bool { return l.state(l.agent) == mail.Idle })
	l.send(l.agent, "ZEBRA while it plans")
	if r := l.request("hello plan", "ZEBRA while it plans"); !r.Has(rule) {
		t.Error("the session was woken as another agent of opencode's")
	}
}

// opencodeTwoInOne: two sessions of one opencode are two agents, in hooks, tools, shells and doors.
func opencodeTwoInOne(t *testing.T, l *lab) {
	l.install()
	l.shell()
	w := l.tui()
	for i, name := range []mail.Name{l.agent, l.agent + "-2"} {
		n := strconv.Itoa(i + 1)
		w.prompt("hello " + n + ` [[tool send_message {"to":["user"],"type":"status","body":"by tool ` + n + `"}]]` +
			" [[sh pennypost send --to user --type status --body 'by shell " + n + "']] [[say bye]]")
		l.until("the roster has an idle "+string(name), func() bool { return l.state(name) == mail.Idle })
		w.press("C-x", "n") // a new session
		l.until("a new session", func() bool { return l.client.ready.MatchString(w.screen()) })
	}
	for body, name := range map[string]mail.Name{"by tool 1": l.agent, "by shell 1": l.agent,
		"by tool 2": l.agent + "-2", "by shell 2": l.agent + "-2"} {
		if from := l.from(body); from != mail.AgentAddress(name) {
			t.Errorf("%q is from %s, want %s", body, from, name)
		}
	}
	id := l.send(l.agent, "ZEBRA for the first")
	l.told(l.request("hello 1", "ZEBRA for the first"), "ZEBRA for the first")
	l.presented(id)
}

// opencodeMCPOnly: at its start the TUI asks for every prompt of a server, to list it. That marks nothing.
func opencodeMCPOnly(t *testing.T, l *lab) {
	settings := opencodeSettings(l)
	settings["mcp"] = map[string]any{"pennypost": map[string]any{"type": "local",
		"command": []string{os.Getenv(binaryVar), "mcp"}, "enabled": true}}
	l.write(".config/opencode/opencode.json", settings)
	l.startOffice()
	l.pp("agents", "register", string(l.agent))
	id := l.send(l.agent, "ZEBRA while nobody looks")
	w := l.tui()
	w.sees("1 MCP")
	w.press("-l", "/pennypost")
	w.sees("pennypost:inbox")
	if marks := l.marks(id, l.agent); len(marks) > 0 {
		t.Errorf("the start of opencode marked it %v", marks)
	}
}

// opencodeSettings are the settings of a person whose model speaks chat completions.
func opencodeSettings(l *lab) map[string]any {
	return map[string]any{
		"$schema": "https://opencode.ai/config.json", "autoupdate": false, "share": "disabled",
		"model": "fake/scripted", "small_model": "fake/scripted",
		"provider": map[string]any{"fake": map[string]any{
			"npm":     "@ai-sdk/openai-compatible",
			"options": map[string]any{"baseURL": l.model.URL + "/v1", "apiKey": "dummy"},
			"models": map[string]any{"scripted": map[string]any{"tool_call": true,
				"limit": map[string]any{"context": 100000, "output": 8000}}},
		}},
	}
}
