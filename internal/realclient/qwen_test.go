package realclient

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"pennypost/internal/mail"
)

func qwen() client {
	return client{
		name: "qwen", title: "Qwen Code",
		swallows: true,
		settings: func(l *lab) {
			l.write(".qwen/settings.json", map[string]any{
				"security": map[string]any{"auth": map[string]any{"selectedType": "openai"}},
				"general":  map[string]any{"enableAutoUpdate": false},
				"privacy":  map[string]any{"usageStatisticsEnabled": false},
			})
			l.write(l.dir+"/pp/config.toml", "[room.wake."+string(l.agent)+"]\ntmux = true\n")
		},
		env: func(l *lab) []string {
			return []string{"OPENAI_API_KEY=dummy", "OPENAI_BASE_URL=" + l.model.URL + "/v1", "OPENAI_MODEL=scripted"}
		},
		// A command that touches a file outside the project counts as writing. Newer versions (0.24.4) begin in a
		// mode in which a model decides which commands may run.
		shell: grants("--approval-mode", "default", "--allowed-tools", "run_shell_command", "write_file", "edit",
			"agent"),
		write:    `[[tool write_file {"file_path":"PATH","content":"ours"}]]`,
		headless: func(prompt string) []string { return []string{"-p", prompt} },
		ready:    regexp.MustCompile(`(?m)^\s*[>*]   Type your message`),
		quit:     "/quit", resume: []string{"--continue"},
		asking: &asking{open: func(l *lab) *terminal { return l.tui("--approval-mode", "default") },
			shows: "Yes, allow once", yes: []string{"Enter"}, no: []string{"Escape"}},
		breakOff: []string{"Escape"},
		outlives: true,
		uses:     qwenUse,
		subagent: func(prompt string) string {
			input, _ := json.Marshal(map[string]any{"description": "scripted", "prompt": prompt,
				"subagent_type": "general-purpose"})
			return "[[tool agent " + string(input) + "]]"
		},
		doorless: "# none\n",
		lacks: map[string]string{
			"tools": "tools of servers stand behind tool_search, and no setting changes that: see found",
			"two":   "send_message is a tool of its own, and ours stands behind tool_search: see twoFound",
			"gone":  "when a run ends it does not say that its session has",
		},
		more: []scenario{
			{"found", "", false, qwenFound},
			{"twoFound", "two sessions, two agents", false, qwenTwo},
			{"escDialog", "Esc in a dialog", false, escDialog("Yes, allow once")},
			{"dialogs", "", false, qwenDialogs},
			{"dialogsOffice", "", false, qwenDialogsOffice},
			{"dialogsOthers", "", false, qwenDialogsOthers},
		},
	}
}

// qwenUse is a Qwen Code model's use of a tool of ours.
func qwenUse(name, input string) string {
	name = "mcp__pennypost__" + name
	return `[[tool tool_search {"query":"select:` + name + `"}]] [[tool ` + name + " " + input + "]]"
}

// qwenFound: a headless run finds and uses our tools.
func qwenFound(t *testing.T, l *lab) {
	l.install()
	l.finished(l.begin("hello tools " + qwenUse("list_agents", "{}") + " [[say bye]]"))
	if r := l.request("hello tools", `"you":"`+string(l.agent)+`"`); !r.Offers("list_agents") {
		t.Error("what was found is not offered")
	}
}

// qwenTwo: two sessions in one project are two agents, in hooks, tools and shells alike.
func qwenTwo(t *testing.T, l *lab) {
	l.install()
	l.shell()
	for i, name := range []mail.Name{l.agent, l.agent + "-2"} {
		w, n := l.tui(), strconv.Itoa(i+1)
		w.prompt("hello " + n + " " + qwenUse("send_message", `{"to":["user"],"type":"status","body":"by tool `+n+
			`"}`) +
			" [[sh pennypost send --to user --type status --body 'by shell " + n + "']] [[say bye]]")
		l.until("the roster has "+string(name), func() bool { return l.state(name) != "" })
	}
	from := map[string]mail.Address{}
	l.until("all mail is there", func() bool {
		for line := range strings.Lines(l.pp("export")) {
			var m mail.Message
			l.must(json.Unmarshal([]byte(line), &m))
			from[m.Body] = m.From
		}
		return len(from) >= 4
	})
	for body, name := range map[string]mail.Name{"by tool 1": l.agent, "by shell 1": l.agent,
		"by tool 2": l.agent + "-2", "by shell 2": l.agent + "-2"} {
		if from[body] != "agent:"+mail.Address(name) {
			t.Errorf("%q is from %s, want agent:%s", body, from[body], name)
		}
	}
}
