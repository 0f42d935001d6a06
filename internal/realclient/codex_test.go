package realclient

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"pennypost/internal/fence"
	"pennypost/internal/mail"
)

// codex is the Codex CLI. Its terminal sessions share one background server by default, and are tried like that;
// scenarios whose names end in "Embedded" are those of sessions in processes of their own.
func codex() client {
	return client{
		name: "codex", title: "Codex CLI",
		settings: func(l *lab) {
			l.write(".codex/config.toml", strings.ReplaceAll(codexConfig, "URL", l.model.URL))
			// Its shell is a login shell, whose profile may set another PATH.
			l.write(".bash_profile", "PATH="+filepath.Dir(os.Getenv(binaryVar))+":$PATH\n")
		},
		trust: func(l *lab) {
			text := strings.ReplaceAll(codexConfig, "URL", l.model.URL)
			for _, dir := range []string{l.project, l.depot()} {
				text += "\n[projects.\"" + dir + "\"]\ntrust_level = \"trusted\"\n"
			}
			l.write(".codex/config.toml", text)
		},
		// In its sandbox it runs commands without asking, and none can connect: see sandbox.
		shell: func(l *lab) {
			l.client.tui = slices.Concat(l.client.tui, []string{"--sandbox", "danger-full-access"})
		},
		once: []dialog{{"2. Trust all and continue", []string{"2", "Enter"}},
			{"1. Trust and continue", []string{"Enter"}}},
		env:   func(*lab) []string { return []string{"MODEL_KEY=dummy"} },
		write: `[[tool exec_command {"cmd":"apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: held.txt\n+ours\n*** End Patch\nEOF"}]]`,
		headless: func(prompt string) []string {
			return []string{"exec", prompt}
		},
		installed: func(l *lab) { l.pp("install", "codex", "--trust") },
		ready:     regexp.MustCompile(`(?m)^\s*›`),
		quit:      "/quit", resume: []string{"resume", "--last"},
		pastes: true,
		asking: &asking{open: func(l *lab) *terminal { w, _ := l.codexAsking(); return w }, tool: escalated,
			shows: "Would you like to run", yes: []string{"y"}, no: []string{"Escape"}, desk: true, notes: true},
		breakOff: []string{"Escape"},
		ended: func(l *lab) { // the server shared by its terminals, which the next scenario would use
			if l.windows > 0 {
				_ = l.command(context.Background(), l.version.program, "app-server", "daemon", "stop").Run()
			}
			for pid, args := range l.processes() { // it looks for newer versions of that server, and stays
				if strings.HasSuffix(args, "app-server daemon pid-update-loop") {
					_ = signal(pid, syscall.SIGTERM)
				}
			}
		},
		lacks: map[string]string{
			"killed":   "the turn of a window that is killed goes on in the shared server: see killedEmbedded",
			"reopened": "a session tells of itself with its first prompt",
			"prompt":   "a session tells of itself with its first prompt, and has a door from then on",
		},
		more: []scenario{
			{"idleEmbedded", "", false, embedded(idle)},
			{"killedEmbedded", "killed in a turn, and continued", true, embedded(killed)},
			{"twoEmbedded", "", false, embedded(two)},
			{"escEmbedded", "told at a prompt", false, embedded(escEmbedded)},
			{"staleRing", "", false, staleRing},
			{"staleRingEmbedded", "", false, embedded(staleRing)},
			{"restart", "", false, restart},
			{"restartEmbedded", "", false, embedded(restart)},
			{"trustDialog", "", false, trustDialog},
			{"untrusted", "", false, untrusted},
			{"onlyServer", "", false, onlyServer},
			{"fromRepository", "", false, fromRepository("plugin marketplace add ROOT",
				"plugin add pennypost@pennypost")},
			{"whole", "", false, whole(wholeInCodex)},
			{"named", "", false, named},
			{"asks", "", false, codexAsks},
			{"sandbox", "", false, sandbox},
			{"windows", "", false, windows},
			{"windowsOnlyServer", "", false, windowsOnlyServer},
			{"otherProject", "", false, otherProject},
			{"renamed", "", false, renamed},
			{"newThread", "", false, newThread},
			{"quit", "", false, quit},
			{"quitAtWork", "", false, quitAtWork},
			{"slowOffice", "", false, slowOffice},
			{"dialogs", "", false, codexDialogs},
			{"dialogsRule", "", false, codexRule},
			{"dialogsOffice", "", false, codexOffice},
			{"dialogsPatch", "", false, codexPatch},
			{"dialogsQuestion", "", false, codexQuestion},
			{"dialogsServerTool", "", false, codexServerTool},
			{"dialogsEmbedded", "", false, embedded(codexEmbeddedDialogs)},
			{"dialogsHeadless", "", false, codexHeadless},
			{"dialogsTwo", "", false, codexTwoDialogs},
		},
		subagent: func(prompt string) string {
			input, _ := json.Marshal(map[string]any{"message": prompt})
			wait, _ := json.Marshal(map[string]any{"targets": []string{`{{agent_id":"([^"]+)}}`},
				"timeout_ms": 60_000})
			return "[[tool spawn_agent " + string(input) + "]] [[tool wait_agent " + string(wait) + "]]"
		},
	}
}

const codexConfig = `model = "scripted"
model_provider = "scripted"
check_for_update_on_startup = false

[analytics]
enabled = false

[model_providers.scripted]
name = "scripted"
base_url = "URL/v1"
wire_api = "responses"
env_key = "MODEL_KEY"
`

// embedded runs a scenario with sessions in processes of their own.
func embedded(run func(*testing.T, *lab)) func(*testing.T, *lab) {
	return func(t *testing.T, l *lab) {
		l.client.tui = append(slices.Clone(l.client.tui), "--no-daemon")
		run(t, l)
	}
}

// idleSession opens a session that has had a turn, and waits until it is idle.
func (l *lab) idleSession() *terminal {
	l.t.Helper()
	w := l.tui()
	w.prompt("hello idle [[say bye]]")
	l.request("hello idle")
	l.until("the agent is idle", func() bool { return l.state(l.agent) == mail.Idle })
	return w
}

// threads returns the ids of the home's threads, the newest last.
func (l *lab) threads() (ids []string) {
	files, _ := filepath.Glob(filepath.Join(l.home, ".codex", "sessions", "*", "*", "*", "rollout-*.jsonl"))
	for _, f := range files {
		name := strings.TrimSuffix(filepath.Base(f), ".jsonl")
		ids = append(ids, name[len(name)-36:])
	}
	return ids
}

// queue puts a text into a session's queue by codex queue.
func (l *lab) queue(text string) {
	l.t.Helper()
	cmd := l.command(l.t.Context(), l.version.program, "queue", "--thread", l.threads()[0], "--message", text)
	out, err := cmd.CombinedOutput()
	if err != nil {
		l.t.Fatalf("codex queue: %v: %s", err, out)
	}
}

// escEmbedded: no one can start the queue of a session in a process of its own that was interrupted, and nothing is
// left in the queue. No door is promised, and the mail arrives with the next prompt, once.
func escEmbedded(t *testing.T, l *lab) {
	l.install()
	w := l.tui()
	w.prompt("hello esc [[hold for ever]] [[say never]]")
	l.request("hello esc")
	w.breakOff()
	l.until("the agent is idle", func() bool { return l.state(l.agent) == mail.Idle })
	id := l.send(l.agent, "ZEBRA after Esc")
	if sent := l.pp("send", "--to", string(l.agent), "--type", "question", "--body", "GNU"); strings.Contains(sent,
		"codex-queue") {
		t.Errorf("a door is promised: %s", sent)
	}
	w.prompt("hello prompt [[say bye]]")
	l.told(l.request("hello prompt"), "ZEBRA after Esc")
	l.presented(id)
	l.until("the agent is idle", func() bool { return l.state(l.agent) == mail.Idle })
	w.prompt("hello again [[say bye]]")
	if r := l.request("hello again"); r.Has("(" + fence.RingID) {
		t.Errorf("request %d has a ring that was held", r.N)
	}
}

// staleRing: a ring whose mail was already handled costs no request, and does not block the queue after it.
func staleRing(t *testing.T, l *lab) {
	l.install()
	w := l.idleSession()
	l.queue(fence.Ring("shop", 1, 0, "ring_1", false))
	w.sees("notice is out of date")
	if state := l.state(l.agent); state != mail.Idle {
		t.Errorf("the agent is %s", state)
	}
	l.queue("hello behind [[say bye]]")
	l.request("hello behind")
	for _, r := range l.model.Requests() {
		if parts := r.Parts; len(r.Tools) > 0 && fence.IsRing(parts[len(parts)-1].Text) {
			t.Errorf("request %d was made for the ring", r.N)
		}
	}
}

// restart: a post office that was restarted wakes a session that has been idle since before.
func restart(t *testing.T, l *lab) {
	l.install()
	l.idleSession()
	l.stopOffice()
	l.startOffice()
	id := l.send(l.agent, "ZEBRA after a restart")
	l.told(l.request("ZEBRA after a restart"), "ZEBRA after a restart")
	l.presented(id)
}

// untrust undoes the trust in the hooks that install --trust recorded.
func (l *lab) untrust() {
	l.t.Helper()
	l.pp("uninstall", "codex")
	l.pp("install", "codex")
}

// trustDialog: the person sees the trust dialog that install and doctor announce, and their answer writes the same as
// install --trust.
func trustDialog(t *testing.T, l *lab) {
	l.install()
	config := filepath.Join(l.home, ".codex", "config.toml")
	hashes := func() []string {
		text, err := os.ReadFile(config)
		l.must(err)
		found := regexp.MustCompile(`(?m)^\[hooks\.state\."(.*)"\]\n(trusted_hash = .*)$`).FindAllString(string(text),
			-1)
		slices.Sort(found)
		return found
	}
	ours := hashes()
	l.untrust()
	if left := hashes(); len(left) > 0 || len(ours) == 0 {
		t.Fatalf("uninstall leaves %q of %q", left, ours)
	}
	w := l.open(append([]string{l.version.program}, l.client.tui...)...)
	w.sees("Hooks need review")
	w.sees("8 hooks are new or changed")
	w.sees("2. Trust all and continue")
	w.press("2", "Enter")
	l.until("the hooks are trusted", func() bool { return len(hashes()) > 0 })
	if theirs := hashes(); !slices.Equal(ours, theirs) {
		t.Errorf("install --trust wrote\n%q\nand Codex\n%q", ours, theirs)
	}
	l.until("Codex is ready", func() bool { return l.client.ready.MatchString(w.screen()) })
	w.prompt("hello trust [[say bye]]")
	l.until("hooks run", func() bool { return l.state(l.agent) == mail.Idle })
	l.pp("uninstall", "codex")
	if left := hashes(); len(left) > 0 {
		t.Errorf("uninstall leaves %q", left)
	}
	if text, _ := os.ReadFile(config); strings.Contains(string(text), "hooks.state") {
		t.Errorf("uninstall leaves\n%s", text)
	}
}

// untrusted: a headless run runs no untrusted hooks and does not say so; doctor does.
func untrusted(t *testing.T, l *lab) {
	l.install()
	l.untrust()
	l.finished(l.begin("hello untrusted [[say bye]]"))
	if state := l.state(l.agent); state != "" {
		t.Errorf("the agent is %s", state)
	}
	said := l.doctor()
	if !strings.Contains(said, "8 hooks are not trusted") ||
		!strings.Contains(said, "pennypost install codex --trust") {
		t.Errorf("doctor says\n%s", said)
	}
	l.pp("install", "codex", "--trust")
	if said := l.doctor(); strings.Contains(said, "not trusted") {
		t.Errorf("after install --trust doctor says\n%s", said)
	}
	l.finished(l.begin("hello trusted [[say bye]]"))
	if state := l.state(l.agent); state == "" {
		t.Error("no hook ran")
	}
}

// doctor returns doctor's output, whatever its exit status.
func (l *lab) doctor() string {
	out, _ := l.command(l.t.Context(), typed, "doctor").CombinedOutput()
	return string(out)
}

// onlyServer: without hooks, two sessions are two agents by their calls alone, and a subagent is none.
func onlyServer(t *testing.T, l *lab) {
	l.install()
	l.must(os.Remove(filepath.Join(l.home, ".codex", "hooks.json")))
	for i, name := range []mail.Name{l.agent, l.agent + "-2"} {
		w := l.tui()
		w.prompt(fmt.Sprintf(`hello %d [[tool send_message {"to":["user"],"type":"status","body":"by tool %[1]d"}]] `,
			i+1) +
			l.client.subagent(fmt.Sprintf(
				`hello child [[tool send_message {"to":["user"],"type":"status","body":"by child %d"}]] `+
					`[[say done]]`, i+1)) + " [[say bye]]")
		l.until("the roster has "+string(name), func() bool { return l.state(name) != "" })
		for _, by := range []string{"tool", "child"} {
			body := fmt.Sprintf("by %s %d", by, i+1)
			l.until(body+" is from "+string(name), func() bool { return l.from(body) == mail.AgentAddress(name) })
		}
	}
	if all := l.agents(); len(all) != 2 {
		t.Errorf("the roster is %+v", all)
	}
}

// named: a session with PENNYPOST_AGENT is that agent in hooks, tools and shell.
func named(t *testing.T, l *lab) {
	l.more = []string{"PENNYPOST_AGENT=builder"}
	l.install()
	done := l.begin(`hello builder [[tool send_message {"to":["user"],"type":"status","body":"by tool"}]] [[say bye]]`)
	l.finished(done)
	l.more = nil
	if from := l.from("by tool"); from != "agent:builder" {
		t.Errorf("the tool's message is from %s", from)
	}
	for _, a := range l.agents() {
		if a.Name != "builder" {
			t.Errorf("the roster has %s", a.Name)
		}
	}
}

// codexAsks: Codex asks about our tools if its user's settings say so, and doctor reports that.
func codexAsks(t *testing.T, l *lab) {
	l.install()
	config := filepath.Join(l.home, ".codex", "config.toml")
	text, err := os.ReadFile(config)
	l.must(err)
	l.write(config, string(text)+"\n[mcp_servers.pennypost.tools.list_agents]\napproval_mode = \"prompt\"\n")
	if said := l.doctor(); !strings.Contains(said, "because of tools.list_agents.approval_mode") {
		t.Errorf("doctor does not say what will ask:\n%s", said)
	}
	w := l.tui()
	w.prompt("hello ask [[tool list_agents {}]] [[say bye]]")
	w.sees("Allow the pennypost MCP server to run tool")
	w.answer("Enter")
	l.request("hello ask", `"you":`)
}

// sandbox: the default sandbox denies the shell our socket. There an agent is told no command, and a command's error
// says what works.
func sandbox(t *testing.T, l *lab) {
	l.install()
	l.pp("agents", "register", string(l.agent))
	l.send(l.agent, "ZEBRA in a sandbox")
	l.finished(l.begin("hello sandbox [[sh pennypost inbox 2>&1; true]] [[say bye]]"))
	r := l.request("hello sandbox")
	l.told(r, "ZEBRA in a sandbox")
	if r.Has("pennypost mark") || !r.Has("with the tool mark_messages") {
		t.Errorf("request %d tells of a command, or of no tool", r.N)
	}
	if r := l.request("hello sandbox", "sandbox does not let commands connect"); !r.Has("mark_messages") {
		t.Errorf("request %d does not say what works", r.N)
	}
}
