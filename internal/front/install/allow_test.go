package install

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pennypost/internal/front/install/jsonc"
	"pennypost/internal/mail"
)

// allowing are the clients whose files can allow our tools, with the file and its line that does.
func allowing() map[string][2]string {
	return map[string][2]string{
		"claude":  {"home/.claude/settings.json", `"mcp__pennypost"`},
		"gemini":  {"home/.gemini/settings.json", `"trust": true`},
		"qwen":    {"home/.qwen/settings.json", `"trust": true`},
		"copilot": {"home/.copilot/hooks/pennypost.json", `"matcher": "^pennypost/.+$"`},
	}
}

// Our tools are allowed by a rule that --dry-run shows, an upgrade adds, --ask omits and removes, doctor misses, and
// uninstall removes.
func TestAllowance(t *testing.T) {
	for name, at := range allowing() {
		c, err := Find(name)
		if err != nil {
			t.Fatal(err)
		}
		p := newPlace(t)
		asking := p.options(User)
		asking.Ask = true
		has := func() bool { return strings.Contains(p.files()[at[0]], at[1]) }
		missed := func() bool {
			r := look(c, p.options(User))
			if r.Behind() {
				t.Errorf("%s: doctor takes it for one of an older version: %+v", name, r)
			}
			return strings.Contains(strings.Join(r.Warnings, "\n"), "waits there: pennypost install "+name)
		}
		plan := p.install(c, asking)
		if has() || !missed() || !strings.Contains(plan.Notes[0], "asks you") {
			t.Errorf("%s --ask has it, or says nothing: %q\n%s", name, plan.Notes, p.files()[at[0]])
		}
		without := p.files()

		plan, err = Install(c, p.options(User))
		if err != nil || !strings.Contains(string(plan.Diff()), at[1]) {
			t.Errorf("%s: the diff of an upgrade is %s (%v)", name, plan.Diff(), err)
		}
		if err := plan.Apply(); err != nil || !has() || missed() || !strings.Contains(plan.Notes[0], c.allows) {
			t.Errorf("%s: %v, %q\n%s", name, err, plan.Notes, p.files()[at[0]])
		}
		if plan := p.install(c, p.options(User)); plan.Changed() {
			t.Errorf("%s: a second installation changes\n%s", name, plan.Diff())
		}
		p.install(c, asking)
		if diff := cmp.Diff(without, p.files()); diff != "" {
			t.Errorf("%s: --ask leaves of it (-want +got):\n%s", name, diff)
		}
		p.install(c, p.options(User))
		p.uninstall(c, p.options(User))
		if left := p.files(); len(left) > 0 {
			t.Errorf("%s: uninstall leaves %v", name, left)
		}
	}
	if _, err := Install(cursor(), &Options{Scope: User, Ask: true}); mail.CodeOf(err) != mail.Invalid {
		t.Errorf("--ask for a client that nothing is allowed in: %v", err)
	}
}

// A rule that the person had before us is theirs.
func TestAllowedBefore(t *testing.T) {
	const settings = "home/.claude/settings.json"
	for _, before := range []string{
		`{"permissions": {"allow": ["mcp__pennypost"]}}`,
		"{\n  \"permissions\": {\n    \"allow\": [\n      \"Read\",\n      \"mcp__pennypost\"\n    ]\n  }\n}\n",
	} {
		p := newPlace(t)
		p.write(settings, []byte(before))
		if plan := p.uninstall(claude(), p.options(User)); plan.Changed() {
			t.Errorf("uninstall without install takes out\n%s", plan.Diff())
		}
		p.install(claude(), p.options(User))
		if n := strings.Count(p.files()[settings], "mcp__pennypost"); n != 1 {
			t.Errorf("it stands there %d times", n)
		}
		p.write(settings, []byte(strings.Replace(p.files()[settings], "{", "{\"theme\": \"dark\",", 1)))
		p.uninstall(claude(), p.options(User))
		if now := p.files()[settings]; !strings.Contains(now, "mcp__pennypost") || strings.Contains(now, "hooks") {
			t.Errorf("uninstall leaves\n%s", now)
		}
	}
}

// A rule that is there twice is removed twice.
func TestAllowedTwice(t *testing.T) {
	p := newPlace(t)
	o := p.options(User)
	o.Ask = true
	p.write("home/.claude/settings.json", []byte(`{"permissions": {"allow": ["mcp__pennypost", "mcp__pennypost"]}}`))
	p.install(claude(), o)
	if now := p.files()["home/.claude/settings.json"]; strings.Contains(now, "mcp__pennypost") {
		t.Errorf("--ask leaves\n%s", now)
	}
}

// A file in which the list is a value of another kind is refused.
func TestAllowanceRefused(t *testing.T) {
	for _, text := range []string{`{"permissions": {"allow": "Bash"}}`, `{"permissions": []}`} {
		p := newPlace(t)
		p.write("home/.claude/settings.json", []byte(text))
		p.refused(claude(), p.options(User), mail.Invalid, Install)
	}
}

// Doctor names Claude Code's questions.
func TestClaudeWarns(t *testing.T) {
	const allow, yes = `{"permissions": {"allow": ["mcp__pennypost"]}}`, `{"hasTrustDialogAccepted": true}`
	for name, c := range map[string]struct {
		settings, local, project string
		want                     []string
	}{
		"nothing":      {allow, "", yes, nil},
		"a wildcard":   {`{"permissions": {"allow": ["mcp__pennypost__*"]}}`, "", yes, nil},
		"locally":      {`{}`, allow, yes, nil},
		"not allowed":  {`{"permissions": {"allow": ["mcp__other"]}}`, "", yes, []string{"there: pennypost install claude"}},
		"a new folder": {allow, "", `{}`, []string{`answer "Yes, I trust this folder"`}},
		"asks anyway": {allow, `{"permissions": {"ask": ["mcp__pennypost__send_message", "Bash"]}}`, yes,
			[]string{"mcp__pennypost__send_message in permissions.ask"}},
		"denied": {allow, `{"permissions": {"deny": ["mcp__pennypost"]}}`, yes, []string{"permissions.deny"}},
		"the plugin": {`{"enabledPlugins": {"pennypost@pennypost": true}}`, "", yes,
			[]string{`add "mcp__plugin_pennypost_pennypost" to permissions.allow of`}},
	} {
		p := newPlace(t)
		o := p.options(User)
		p.write("home/.claude/settings.json", []byte(c.settings))
		p.write("project/.claude/settings.local.json", []byte(c.local))
		p.write("home/.claude.json", []byte(`{"projects": {`+raw(o.Root)+`: `+c.project+`}}`))
		if got := claudeWarns(o); !saysAll(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	p := newPlace(t)
	o := p.options(Project)
	p.install(claude(), o)
	p.write("home/.claude.json", []byte(`{"projects": {`+raw(o.Root)+`: `+yes+`}}`))
	if got := claudeWarns(o); !saysAll(got, []string{"the server in .mcp.json"}) {
		t.Errorf("in a project: %q", got)
	}
	p.write("project/.claude/settings.local.json", []byte(`{"enabledMcpjsonServers": ["pennypost"]}`))
	if got := claudeWarns(o); len(got) > 0 {
		t.Errorf("in a project whose server is approved: %q", got)
	}
}

// saysAll reports whether got has as many texts as want, each with its wanted part.
func saysAll(got, want []string) bool {
	if len(got) != len(want) {
		return false
	}
	for i := range want {
		if !strings.Contains(got[i], want[i]) {
			return false
		}
	}
	return true
}

// Doctor names Codex's questions: about the folder, and about our tools if the person's settings ask.
func TestCodexWarns(t *testing.T) {
	for _, c := range []struct {
		config string
		want   []string
	}{
		{"", nil},
		{"[mcp_servers.pennypost]\ndefault_tools_approval_mode = \"approve\"", nil},
		{"[mcp_servers.pennypost]\ndefault_tools_approval_mode = \"prompt\"", []string{"default_tools_approval_mode"}},
		{"[mcp_servers.pennypost.tools.send_message]\napproval_mode = \"prompt\"",
			[]string{"tools.send_message.approval_mode"}},
	} {
		for _, trusts := range []bool{true, false} {
			p := newPlace(t)
			o := p.options(User)
			want := c.want
			text := c.config
			if trusts {
				text += "\n[projects." + tomlString(o.Root) + "]\ntrust_level = \"trusted\"\n"
			} else {
				want = append(want[:len(want):len(want)], `answer "Trust and continue"`)
			}
			p.write("home/.codex/config.toml", []byte(text))
			if got := codexWarns(o); !saysAll(got, want) {
				t.Errorf("%s: %q, want %q", text, got, want)
			}
		}
	}
}

// Doctor repeats what Cursor's documents say, unless the person has followed them.
func TestCursorWarns(t *testing.T) {
	p := newPlace(t)
	o := p.options(User)
	if got := cursorWarns(o); !saysAll(got, []string{`"pennypost:*" in mcpAllowlist`}) {
		t.Errorf("%q", got)
	}
	p.write("home/.cursor/permissions.json", []byte(`{"mcpAllowlist": ["pennypost:*"] /* mine */}`))
	if got := cursorWarns(o); len(got) > 0 {
		t.Errorf("allowed, and doctor says %q", got)
	}
}

// A shell runs the hook that answers Copilot's question, and the answer is yes.
func TestCopilotAllows(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("no shell")
	}
	hook, err := jsonc.Parse([]byte(copilotAllows(newPlace(t).options(User)).value))
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(sh, "-c", hook.Member("bash").Text()).Output()
	if err != nil || string(out) != "{\"behavior\":\"allow\"}\n" {
		t.Errorf("it says %q (%v)", out, err)
	}
}
