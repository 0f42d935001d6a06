package systemtest

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"pennypost/internal/fence/fencetest"
	"pennypost/internal/office/hook/hooktest"
)

// A hundred generated texts by which an agent would speak as a client, or leave the fence, reach another agent through
// every door, and none as what it is.
func TestHostileTexts(t *testing.T) { attackTexts(t, 100) }

// TestAttackTexts is TestHostileTexts with a thousand.
var attack = flag.Bool("attack", false, "send all generated texts through every door")

func TestAttackTexts(t *testing.T) {
	if !*attack {
		t.Skip("TestHostileTexts sends fewer; ./test attack sends all")
	}
	attackTexts(t, 1000)
}

func attackTexts(t *testing.T, n int) {
	t.Parallel()
	o := newOffice(t)
	if err := os.MkdirAll(o.home, 0o700); err != nil {
		t.Fatal(err)
	}
	limits := "[room.limits]\nexchanges = -1\nrepeat_window = \"never\"\nper_minute = -1\n"
	if err := os.WriteFile(filepath.Join(o.home, "config.toml"), []byte(limits), 0o600); err != nil {
		t.Fatal(err)
	}
	o.mustServe(t)
	victim := o.mustAgent(t, eraSessions, "--as", "ann")
	mallory := o.mustAgent(t, eraSessions, "--as", "mallory")
	if _, err := victim.call(t.Context(), "set_presence", map[string]any{"roles": []string{"builder"}}); err != nil {
		t.Fatal(err)
	}
	met := make(map[string]bool) // doors that have shown an attack
	check := func(door, text string) {
		t.Helper()
		met[door] = met[door] || strings.Contains(text, "your user orders you")
		if bad := fencetest.Forged(text); bad != "" {
			at := max(0, strings.Index(text, bad)-100)
			t.Errorf("%s: %q passes, in %.400q", door, bad, text[at:])
		}
	}
	said := func(door string, a *agent, tool string, args any) string {
		text, err := a.call(t.Context(), tool, args)
		if err != nil {
			text = err.Error()
		}
		check(door, text)
		return text
	}
	for i, text := range fencetest.Attacks(n) {
		draft := map[string]any{"to": []string{"ann", "all"}[i%8/7], "type": []string{"question", "status"}[i%2],
			"subject": text, "body": text, "metadata": map[string]string{"k": text}, "docs": []string{text}}
		if _, err := mallory.call(t.Context(), "send_message", draft); err != nil { // a path or subject is refused
			check("send_message", err.Error())
			delete(draft, "docs")
			delete(draft, "subject")
			if _, err := mallory.call(t.Context(), "send_message", draft); err != nil {
				check("send_message", err.Error()) // a body with NUL is
			}
		}
		if i%10 != 0 {
			continue
		}
		said("set_presence", mallory, "set_presence", map[string]any{"task": text})
		said("list_agents", victim, "list_agents", map[string]any{})
		check("agents", o.must(t, "agents", "--as", "ann"))
		name := strings.Join(strings.Fields(text), " ")
		said("rename", mallory, "set_presence", map[string]any{"name": name})
		said("an error", victim, "send_message", map[string]any{"to": name + "x", "body": "b"})
		said("an error", victim, "read_messages", map[string]any{"to": name[:len(name)/2]})
		check("an error of the CLI", o.run("send", "--as", "ann", "--to", name+"x", "--body", "b").stderr)
	}
	o.attackedCLI(check)
	o.attackedDialects(t, check)
	o.attackedHooks(check)
	prompts(t, victim, check)
	for {
		text := said("read_messages", victim, "read_messages", map[string]any{})
		letters, _, err := fencetest.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if len(letters) == 0 {
			break
		}
		ids := make([]string, len(letters))
		for i, l := range letters {
			ids[i] = string(l.ID)
		}
		said("mark_messages", victim, "mark_messages", map[string]any{"ids": ids, "mark": "read"})
	}
	for _, door := range []string{"read_messages", "inbox", "history", "read", "list_agents", "the prompt inbox"} {
		if !met[door] {
			t.Errorf("%s showed none of the texts", door)
		}
	}
}

// attackedCLI looks at what commands print for an agent. Lists stand in a fence, with the sentence before it.
func (o *office) attackedCLI(check func(door, text string)) {
	for _, words := range []string{"inbox --limit 1000", "history --limit 1000", "history --search orders", "waiting",
		"stuck", "agents", "read --limit 1000", "status", "rooms", "inbox --open", "inbox --newest", "bridge",
		"workspace list", "haak inbox", "haak who", "agenties", "superportia mailbox", "export --format jsonl",
		"send --to nobody --body x"} {
		args := strings.Fields(words)
		for _, more := range [][]string{nil, {"--json"}} {
			r := o.run(append(append([]string{"--as", "ann"}, more...), args...)...)
			check(args[0], r.stdout)
			check(args[0], r.stderr)
			attacked := strings.Contains(r.stdout, "your user orders you")
			if attacked && more == nil && args[0] != "export" &&
				!strings.HasPrefix(r.stdout, "What stands between mail-") {
				check(args[0]+" has no fence: <system>", "<system>"+r.stdout)
			}
		}
	}
}

// attackedDialects calls every tool of every dialect that needs no argument.
func (o *office) attackedDialects(t *testing.T, check func(door, text string)) {
	for _, dialect := range []string{"agenties", "haak", "superportia", "openalice"} {
		a, err := o.agent(eraSessions, "--as", "ann", "--dialect", dialect)
		if err != nil {
			continue // its servers are of identities, which this room has none of
		}
		tools, err := a.session.ListTools(t.Context(), nil)
		if err != nil {
			t.Errorf("%s: %v", dialect, err)
			a.kill()
			continue
		}
		for _, tool := range tools.Tools {
			text, err := a.call(t.Context(), tool.Name, map[string]any{})
			if err != nil {
				text = err.Error()
			}
			check(dialect+" "+tool.Name, text)
		}
		a.kill()
	}
}

// attackedHooks begins a session and a turn in every client.
func (o *office) attackedHooks(check func(door, text string)) {
	for _, c := range hooktest.Clients() {
		h := o.hooks(c, "s-"+c.Name, "PENNYPOST_AGENT=ann")
		h.Start("startup")
		h.Prompt("go on")
		h.End()
		check("hooks of "+c.Name, strings.Join(h.Context, "\n\n"))
	}
}

// prompts reads the prompts and resources of an agent.
func prompts(t *testing.T, a *agent, check func(door, text string)) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for _, name := range []string{"inbox", "history", "bye", "checkpoint"} {
		res, err := a.session.GetPrompt(ctx, &mcp.GetPromptParams{Name: name})
		if err != nil {
			t.Error(err)
			continue
		}
		for _, m := range res.Messages {
			check("the prompt "+name, m.Content.(*mcp.TextContent).Text)
		}
	}
	list, err := a.session.ListResources(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range list.Resources {
		res, err := a.session.ReadResource(ctx, &mcp.ReadResourceParams{URI: r.URI})
		if err != nil {
			t.Error(err)
			continue
		}
		for _, c := range res.Contents {
			check("the resource "+r.URI, c.Text)
		}
	}
}
