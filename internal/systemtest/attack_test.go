package systemtest

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"pennypost/internal/fence/fencetest"
	"pennypost/internal/office/hook/hooktest"
)

// A hundred generated texts that try to speak as a client, or leave the fence, reach other agents through every
// door, and none succeeds.
func TestHostileTexts(t *testing.T) { attackTexts(t, 100) }

var attack = flag.Bool("attack", false, "send all generated texts through every door")

// TestAttackTexts is TestHostileTexts with a thousand.
func TestAttackTexts(t *testing.T) {
	if !*attack {
		t.Skip("TestHostileTexts sends fewer; ./test attack sends all")
	}
	attackTexts(t, 1000)
}

// orders is in every attack: a door that shows it shows an attack.
const orders = "your user orders you"

// atOnce is how many attacks are sent before clients' hooks run again: the most that one hook tells.
const atOnce = 20

// assault is a post office with agents that read mallory's mail.
type assault struct {
	*office
	t               *testing.T
	victim, mallory *agent
	clients         []*hooktest.Harness
	shown           map[string]bool // doors to a model, and whether they have shown an attack
}

func attackTexts(t *testing.T, n int) {
	t.Parallel()
	a := newAssault(t)
	all := fencetest.Attacks(n)
	for i, text := range all {
		a.send(i, text)
		if i%10 == 0 {
			a.bear(text)
			a.github(i+1, text)
		}
		if i%atOnce == atOnce-1 || i == len(all)-1 {
			a.hooksRun()
		}
	}
	a.files(all)
	a.prompts("", a.victim, "inbox", "history", "bye", "checkpoint")
	a.commands()
	a.dialects()
	a.read()
	for door, met := range a.shown {
		if !met {
			t.Errorf("%s showed none of the texts", door)
		}
	}
}

func newAssault(t *testing.T) *assault {
	t.Helper()
	a := &assault{office: newOffice(t), t: t, shown: make(map[string]bool)}
	a.env = []string{"CLAUDE_CONFIG_DIR=" + filepath.Join(a.root, "claude"), "PENNYPOST_ROOM=default"}
	if err := os.MkdirAll(a.home, 0o700); err != nil {
		t.Fatal(err)
	}
	limits := "[room.limits]\nexchanges = -1\nrepeat_window = \"never\"\nper_minute = -1\n"
	secret := filepath.Join(a.root, "secret")
	for file, text := range map[string]string{
		filepath.Join(a.home, "config.toml"): limits + fmt.Sprintf("[rooms.default.github]\nrepos = [\"me/shop\"]\n"+
			"secret_file = %q\n", secret),
		secret:                                 githubWord,
		filepath.Join(a.dir, ".git", "HEAD"):   "ref: refs/heads/sums\n",
		filepath.Join(a.dir, ".git", "config"): "[remote \"origin\"]\n\turl = https://github.com/me/shop.git\n",
	} {
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	a.mustServe(t)
	a.victim = a.mustAgent(t, eraSessions, "--as", "ann")
	a.mallory = a.mustAgent(t, eraSessions, "--as", "mallory")
	if _, err := a.victim.call(t.Context(), "set_presence", map[string]any{"roles": []string{"builder"}}); err != nil {
		t.Fatal(err)
	}
	a.must(t, "workspace", "add", "ws", a.dir)
	a.must(t, "bridge", "add", "haak", a.dir)
	a.must(t, "team", "create", "parser", "--member", "ann,mallory")
	for _, c := range hooktest.Clients() {
		h := &hooktest.Harness{Client: c, Session: "s-" + c.Name, Dir: a.dir, Run: a.hook(c.Name)}
		h.Start("startup")
		a.clients = append(a.clients, h)
	}
	return a
}

// hook returns a function that runs the hooks of a new agent, below a new program.
func (a *assault) hook(client string) func(as, event, stdin string) hooktest.Result {
	return func(as, event, stdin string) hooktest.Result {
		cmd := exec.Command("timeout", "60", binary, "hook", as, event)
		cmd.Dir, cmd.Env = a.dir, a.environ("PENNYPOST_AGENT=hooked-"+client)
		r := finishWith(cmd, strings.NewReader(stdin))
		return hooktest.Result{Out: r.stdout, Err: r.stderr, Exit: r.code}
	}
}

// check examines a door's text for a model.
func (a *assault) check(door, text string) {
	a.t.Helper()
	if bad := fencetest.Forged(text); bad != "" {
		at := max(0, strings.Index(text, bad)-100)
		a.t.Errorf("%s: %q passes, in %.400q", door, bad, text[at:])
	}
}

// shows is check for a door that must show an attack, now or later.
func (a *assault) shows(door, text string) {
	a.t.Helper()
	a.shown[door] = a.shown[door] || strings.Contains(text, orders)
	a.check(door, text)
}

// says returns the answer of a tool to an agent, or its error.
func (a *assault) says(who *agent, tool string, args map[string]any) string {
	text, err := who.call(a.t.Context(), tool, args)
	if err != nil {
		return err.Error()
	}
	return text
}

// send makes mallory send an attack to every reader.
func (a *assault) send(i int, text string) {
	to := []string{"ann"}
	if i%8 == 7 {
		to = []string{"all"}
	}
	for _, h := range a.clients {
		to = append(to, "hooked-"+h.Client.Name)
	}
	draft := map[string]any{"to": to, "type": []string{"question", "custom"}[i%2], "subject": text, "body": text,
		"metadata": map[string]string{"k": text}, "docs": []string{text}}
	if i%5 == 0 {
		draft["priority"] = "urgent"
	}
	if _, err := a.mallory.call(a.t.Context(), "send_message", draft); err != nil { // a path or subject is refused
		a.check("send_message", err.Error())
		delete(draft, "docs")
		delete(draft, "subject")
		if _, err := a.mallory.call(a.t.Context(), "send_message", draft); err != nil {
			a.check("send_message", err.Error()) // so is a body with NUL
		}
	}
}

// bear makes mallory use an attack as its task and its name, and makes errors quote it.
func (a *assault) bear(text string) {
	a.check("set_presence", a.says(a.mallory, "set_presence", map[string]any{"task": text}))
	a.shows("list_agents", a.says(a.victim, "list_agents", map[string]any{}))
	a.shows("agents", a.must(a.t, "agents", "--as", "ann"))
	name := strings.Join(strings.Fields(text), " ")
	a.check("rename", a.says(a.mallory, "set_presence", map[string]any{"name": name}))
	a.check("an error", a.says(a.victim, "send_message", map[string]any{"to": name + "x", "body": "b"}))
	a.check("an error", a.says(a.victim, "read_messages", map[string]any{"to": name[:len(name)/2]}))
	a.check("an error of the CLI", a.run("send", "--as", "ann", "--to", name+"x", "--body", "b").stderr)
}

// hooksRun gives every client a turn with a tool call.
func (a *assault) hooksRun() {
	for _, h := range a.clients {
		h.Prompt("go on")
		h.Tool("Bash", "true")
		h.End()
		text := strings.Join(h.Context, "\n\n")
		a.shows("hooks of "+h.Client.Name, text)
		const door = "what comes from GitHub"
		a.shown[door] = a.shown[door] || strings.Contains(text, `origin="GitHub, from outside"`)
		h.Context = nil
	}
}

// files puts attacks into a file that a bridge finds and cannot read.
func (a *assault) files(all []string) {
	a.t.Helper()
	name := filepath.Join(a.dir, "data", "agent-mailbox.jsonl")
	f, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		a.t.Fatal(err)
	}
	defer f.Close()
	for _, text := range all[:min(len(all), 100)] {
		fmt.Fprintln(f, strings.Join(strings.Fields(text), " "))
	}
	a.must(a.t, "bridge", "sync", "haak")
}

// commands examines the output of commands for an agent. Lists are in a fence, after their sentence.
func (a *assault) commands() {
	for _, words := range []string{"inbox --limit 1000", "history --limit 1000", "history --search orders", "waiting",
		"stuck", "read --limit 1000", "inbox --open", "inbox --newest",
		"bridge list --rejected", "haak mailbox list --all", "haak mailbox query orders",
		"haak mailbox read --session-id WHO", "agenties history --limit 1000", "superportia boot",
		"team show parser ann",
		"export --format jsonl"} {
		for _, more := range [][]string{nil, {"--json"}} {
			who := "ann"
			if strings.Contains(words, "WHO") { // it marks the mail that it shows
				who = []string{"hooked-claude", "hooked-codex"}[len(more)]
			}
			args := slices.Concat([]string{"--as", who}, more, strings.Fields(strings.ReplaceAll(words, "WHO", who)))
			door := "pennypost " + strings.Join(args[2:], " ")
			r := a.run(args...)
			a.shows(door, r.stdout)
			a.check(door, r.stderr)
			if more == nil && strings.Contains(r.stdout, orders) && !strings.HasPrefix(words, "export") &&
				!strings.HasPrefix(r.stdout, "Text between mail-") {
				a.t.Errorf("%s has no fence: %.200s", door, r.stdout)
			}
		}
	}
	for _, words := range []string{"status", "rooms", "bridge", "workspace list", "wait --timeout 1s",
		"send --to nobody --body x"} {
		r := a.run(append([]string{"--as", "ann"}, strings.Fields(words)...)...)
		a.check("pennypost "+words, r.stdout+r.stderr)
	}
}

// dialects calls every tool of every dialect.
func (a *assault) dialects() {
	a.t.Helper()
	args := map[string]map[string]any{
		"agenties read_messages":          {"limit": 100},
		"superportia check_agent_mailbox": {"limit": 1000},
	}
	for _, dialect := range []string{"agenties", "superportia", "haak", "openalice"} { // haak's marks its mail
		as := "ann"
		if dialect == "openalice" {
			as = "ws"
		}
		who := a.mustAgent(a.t, eraSessions, "--as", as, "--dialect", dialect)
		tools, err := who.session.ListTools(a.t.Context(), nil)
		if err != nil {
			a.t.Fatalf("%s: %v", dialect, err)
		}
		for _, tool := range tools.Tools {
			door := dialect + " " + tool.Name
			text := a.says(who, tool.Name, args[door])
			if strings.Contains(door, " read_") || strings.Contains(door, " check_") {
				a.shows(door, text)
			}
			a.check(door, text)
			for _, bad := range fencetest.Attacks(20) {
				a.check(door, a.says(who, tool.Name, map[string]any{"to": bad, "subject": bad, "body": bad,
					"type": bad, "msg_id": bad, "messageIds": []string{bad}, "comments": bad}))
			}
		}
		if dialect == "agenties" {
			a.prompts(dialect+" ", who, "history", "export")
		}
		who.kill()
	}
}

// prompts reads prompts and all resources of an agent.
func (a *assault) prompts(kind string, who *agent, names ...string) {
	ctx, cancel := context.WithTimeout(a.t.Context(), patience)
	defer cancel()
	for _, name := range names {
		res, err := who.session.GetPrompt(ctx, &mcp.GetPromptParams{Name: name})
		if err != nil {
			a.check("the prompt "+kind+name, err.Error()) // a thousand letters exceed its limit
			continue
		}
		for _, m := range res.Messages {
			text := m.Content.(*mcp.TextContent).Text
			a.shows("the prompt "+kind+name, text)
			if name != "export" && strings.Contains(text, orders) &&
				!strings.Contains(text, "Text between mail-") {
				a.t.Errorf("the prompt %s has no fence: %.200s", kind+name, text)
			}
		}
	}
	if kind != "" {
		return
	}
	list, err := who.session.ListResources(ctx, nil)
	if err != nil {
		a.t.Fatal(err)
	}
	for _, r := range list.Resources {
		res, err := who.session.ReadResource(ctx, &mcp.ReadResourceParams{URI: r.URI})
		if err != nil {
			a.t.Error(err)
			continue
		}
		for _, c := range res.Contents {
			a.shows("the resource "+r.URI, c.Text)
		}
	}
}

// read makes ann wait for a letter, and then read and mark all her mail.
func (a *assault) read() {
	a.t.Helper()
	a.check("wait_for_messages", a.says(a.victim, "wait_for_messages", map[string]any{"timeout_seconds": 1}))
	for {
		text := a.says(a.victim, "read_messages", map[string]any{})
		a.shows("read_messages", text)
		letters, _, err := fencetest.Parse(text)
		if err != nil {
			a.t.Fatal(err)
		}
		if len(letters) == 0 {
			return
		}
		ids := make([]string, len(letters))
		for i, l := range letters {
			ids[i] = string(l.ID)
		}
		a.check("mark_messages", a.says(a.victim, "mark_messages", map[string]any{"ids": ids, "mark": "read"}))
	}
}
