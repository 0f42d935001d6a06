package realclient

import (
	"context"
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"pennypost/internal/mail"
)

// copilot is the GitHub Copilot CLI.
func copilot() client {
	return client{
		name: "copilot", title: "Copilot CLI",
		settings: func(l *lab) {
			l.write(".copilot/config.json", map[string]any{"banner": "never"})
		},
		trust: func(l *lab) {
			l.write(".copilot/config.json", map[string]any{"trustedFolders": []string{l.project}, "banner": "never"})
		},
		shell: grants("--allow-tool", "shell"),
		once:  []dialog{{"Do you trust the files in this folder?", []string{"2"}}},
		env: func(l *lab) []string {
			return []string{
				"COPILOT_OFFLINE=true", "COPILOT_PROVIDER_BASE_URL=" + l.model.URL + "/v1", "COPILOT_MODEL=scripted",
				"COPILOT_AUTO_UPDATE=false",
				// It unpacks itself there, 235 MB: once for all labs.
				"XDG_CACHE_HOME=" + filepath.Join(filepath.Dir(*installed), "copilot-cache"),
			}
		},
		write:    `[[tool create {"path":"PATH","file_text":"ours"}]]`,
		headless: func(prompt string) []string { return []string{"-p", prompt} },
		// Its extensions are on, which docs/clients.md requires for waking it; see extension.
		tui:   []string{"--experimental"},
		ready: regexp.MustCompile(`(?m)^\s*❯`),
		quit:  "/exit", resume: []string{"--continue"},
		pastes:   true,
		inUse:    "Resume anyway",
		asking:   &asking{open: opens(), shows: copilotAsks, yes: []string{"Enter"}, no: []string{"Escape"}},
		breakOff: []string{"C-c"},
		lacks: map[string]string{
			"killed":   "a session that is resumed lacks what the model was told with its prompts",
			"reopened": "it has no door before its first prompt; the person is told after five minutes",
		},
		uses: func(name, input string) string { return "[[tool pennypost-" + name + " " + input + "]] " },
		subagent: func(prompt string) string {
			input, _ := json.Marshal(map[string]any{"description": "scripted", "prompt": prompt,
				"agent_type": "general-purpose", "name": "child", "mode": "sync"})
			return "[[tool task " + string(input) + "]]"
		},
		more: append(append(copilotDialogs(), copilotBeside().scenarios("beside")...), []scenario{
			{"fromRepository", "", false, fromRepository("plugin marketplace add ROOT",
				"plugin install pennypost@pennypost")},
			{"subagentCancel", "", false, copilotSubagentCancel},
			{"escTwice", "", false, copilotEscTwice},
			{"escDialog", "Esc in a dialog", false, copilotEscDialog},
			{"extension", "", false, copilotExtension},
			{"modelFails", "", false, copilotModelFails},
			{"failure", "", false, copilotFailure},
			{"secondPrompt", "", false, copilotSecondPrompt},
			{"tmux", "", false, copilotTmux},
		}...),
	}
}

// copilotSubagentCancel: a cancel of the parent stops the tools of a subagent's subagent.
func copilotSubagentCancel(t *testing.T, l *lab) {
	l.install()
	l.shell()
	tool, open := l.gate("gate")
	done := l.begin("hello parent " + l.client.subagent("hello child "+
		l.client.subagent("hello grandchild "+tool+" [[sh touch forbidden]] [[say it is done]]")+
		" [[say child is done]]") +
		" [[say bye]]")
	l.began("gate")
	l.send(l.agent, "ZEBRA cancelled", "--type", "cancel")
	open()
	l.finished(done)
	if l.exists("forbidden") {
		t.Errorf("the subagent's tool was run\n%s", l.scene())
	}
	if !strings.Contains(l.scene(), "touch forbidden") {
		t.Errorf("the subagent did not try the tool\n%s", l.scene())
	}
}

// copilotEscTwice: Esc, Esc takes the turn back, and the prompt returns to the input line. Mail that arrived earlier
// still reaches the model.
func copilotEscTwice(t *testing.T, l *lab) {
	l.install()
	w := l.tui()
	w.prompt("hello esc [[hold for ever]] [[say never]]")
	l.request("hello esc")
	id := l.send(l.agent, "ZEBRA before Esc")
	l.until("the turn is taken back", func() bool { // two keys in quick succession
		w.press("Escape")
		return !strings.Contains(w.screen(), "Working")
	})
	l.afterEsc(id, "ZEBRA before Esc")
}

// copilotEscDialog: mail that arrived during a dialog reaches the model after the person has closed the dialog with
// Esc. The dialog is about a tool of ours; install and doctor have announced it.
func copilotEscDialog(t *testing.T, l *lab) {
	if said := l.pp("install", l.client.name, "--ask"); !strings.Contains(said, "asks you before") {
		t.Errorf("install does not say what will ask:\n%s", said)
	}
	l.startOffice()
	if said := l.doctor(); !strings.Contains(said, "it asks before send_message") {
		t.Errorf("doctor does not say what will ask:\n%s", said)
	}
	w := l.open(l.version.program, "--experimental")
	w.waitReady()
	w.prompt(`hello dialog [[tool send_message {"to":["user"],"type":"status","body":"x"}]] [[say never]]`)
	w.sees("Do you want to use this tool?")
	id := l.send(l.agent, "ZEBRA before Esc")
	w.breakOff()
	l.afterEsc(id, "ZEBRA before Esc")
}

// copilotExtension: install's command turns the extension on; a headless run then leaves no monitor running.
func copilotExtension(t *testing.T, l *lab) {
	_, said, ok := strings.Cut(l.pp("install", l.client.name), ": copilot config ")
	said, _, _ = strings.Cut(said, "\n")
	if !ok {
		t.Fatalf("install does not say how: %s", said)
	}
	l.install()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	out, err := l.command(ctx, l.version.program,
		append([]string{"config"}, strings.Fields(said)...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("copilot config: %v: %s", err, out)
	}
	l.finished(l.begin("hello extension [[say bye]]"))
	l.alone()
	l.client.tui = nil
	l.wokenWhenIdle()
}

// copilotFailure: a failed tool tells of mail like a successful one.
func copilotFailure(t *testing.T, l *lab) {
	l.install()
	done := l.begin("hello failure [[hold before]] " +
		`[[tool view {"path":"` + l.project + `/none"}]] [[say bye]]`)
	l.request("hello failure")
	id := l.send(l.agent, "ZEBRA after a failure")
	l.model.Release("before")
	l.told(l.request("hello failure", "does not exist"), "ZEBRA after a failure")
	l.finished(done)
	l.presented(id)
}

// copilotSecondPrompt: mail that arrived for an idle session without a door is in the first request of the next
// prompt.
func copilotSecondPrompt(t *testing.T, l *lab) {
	l.client.tui = nil
	l.install()
	w := l.tui()
	w.prompt("hello first [[say bye]]")
	l.request("hello first")
	l.until("the agent is idle", func() bool { return l.state(l.agent) == mail.Idle })
	id := l.send(l.agent, "ZEBRA between prompts")
	w.prompt("hello second [[say bye]]")
	l.told(l.request("hello second"), "ZEBRA between prompts")
	l.presented(id)
}

// copilotTmux: without the extension, an idle session is woken by typing into its prompt.
func copilotTmux(t *testing.T, l *lab) {
	l.client.tui = nil
	l.write(l.dir+"/pp/config.toml", "[room.wake."+string(l.agent)+"]\ntmux = true\n")
	l.install()
	l.wokenWhenIdle()
}

// copilotModelFails: a turn that ends because the model cannot be reached, and that the client calls resumable,
// leaves the agent idle, and its mail wakes it.
func copilotModelFails(_ *testing.T, l *lab) {
	l.install()
	w := l.tui()
	w.prompt("hello error [[hold error]] [[fail 400]]")
	l.request("hello error")
	id := l.send(l.agent, "ZEBRA before the error [[say ok]]")
	l.model.Release("error")
	l.afterEsc(id, "ZEBRA before the error")
}
