package install

import (
	"bytes"
	"errors"
	"flag"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"pennypost/internal/mail"
)

var update = flag.Bool("update", false, "write what install makes into testdata")

// place is a machine with a home directory and a project in it.
type place struct {
	t   *testing.T
	dir string
	env map[string]string
}

func newPlace(t *testing.T) *place {
	p := &place{t: t, dir: t.TempDir(), env: map[string]string{}}
	for _, d := range []string{"home", "project"} {
		if err := os.Mkdir(filepath.Join(p.dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

func (p *place) options(scope Scope) *Options {
	return &Options{
		Scope: scope, Home: filepath.Join(p.dir, "home"), Root: filepath.Join(p.dir, "project"),
		Getenv: func(name string) string { return p.env[name] }, GOOS: "linux", Binary: "/usr/local/bin/pennypost",
	}
}

func (p *place) write(name string, text []byte) {
	p.t.Helper()
	path := filepath.Join(p.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o644); err != nil {
		p.t.Fatal(err)
	}
}

// files returns all files below the place.
func (p *place) files() map[string]string {
	p.t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(p.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		rel, _ := filepath.Rel(p.dir, path)
		all[filepath.ToSlash(rel)] = string(text)
		return err
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return all
}

func (p *place) install(c Client, o *Options) *Plan {
	p.t.Helper()
	plan, err := Install(c, o)
	if err != nil {
		p.t.Fatalf("Install: %v", err)
	}
	if err := plan.Apply(); err != nil {
		p.t.Fatalf("Apply: %v", err)
	}
	return plan
}

func (p *place) uninstall(c Client, o *Options) *Plan {
	p.t.Helper()
	plan, err := Uninstall(c, o)
	if err != nil {
		p.t.Fatalf("Uninstall: %v", err)
	}
	if err := plan.Apply(); err != nil {
		p.t.Fatalf("Apply: %v", err)
	}
	return plan
}

// isBackup reports whether a file is a copy from before an installation.
func isBackup(name string, _ string) bool { return strings.HasSuffix(name, backupSuffix) }

// TestGolden installs into the configurations in testdata. A case is an archive: its comment gives the client and
// scope; before/ is the state before, after/ the state after install, clean/ the state after uninstall where that is
// not before/ ("clean: nothing" if no file is left); "error:" begins the error for a file that cannot be edited.
func TestGolden(t *testing.T) {
	cases, err := filepath.Glob(filepath.Join("testdata", "*.txtar"))
	if err != nil || len(cases) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, path := range cases {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) { golden(t, path) })
	}
}

func golden(t *testing.T, path string) {
	a, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	words := strings.Fields(string(a.Comment))
	c, err := Find(words[0])
	if err != nil {
		t.Fatal(err)
	}
	p := newPlace(t)
	o := p.options(Scope(words[1]))
	if _, as, ok := strings.Cut(string(a.Comment), " as "); ok {
		o.As = mail.Name(strings.Fields(as)[0])
	}
	sets := map[string]map[string]string{"before": {}, "after": {}, "clean": {}}
	for _, f := range a.Files {
		set, name, _ := strings.Cut(f.Name, "/")
		sets[set][name] = string(f.Data)
		if set == "before" {
			p.write(name, f.Data)
		}
	}
	if _, want, ok := strings.Cut(string(a.Comment), "error: "); ok {
		_, err := Install(c, o)
		if want, _, _ = strings.Cut(want, "\n"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Install: %v, want an error with %q", err, want)
		}
		if diff := cmp.Diff(sets["before"], p.files()); diff != "" {
			t.Errorf("files after a refusal (-before +now):\n%s", diff)
		}
		return
	}

	p.install(c, o)
	got := p.files()
	maps.DeleteFunc(got, isBackup)
	for name, text := range got { // for a file that is wholly ours, the first line is enough
		if head := ownProgram().FindString(text); head != "" {
			got[name] = head
		}
	}
	if *update {
		a.Files = slices.DeleteFunc(a.Files, func(f txtar.File) bool { return strings.HasPrefix(f.Name, "after/") })
		for _, name := range slices.Sorted(maps.Keys(got)) {
			a.Files = append(a.Files, txtar.File{Name: "after/" + name, Data: []byte(got[name])})
		}
		if err := os.WriteFile(path, txtar.Format(a), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if diff := cmp.Diff(sets["after"], got); diff != "" {
		t.Errorf("after install (-want +got):\n%s", diff)
	}

	all := p.files()
	if plan := p.install(c, o); plan.Changed() {
		t.Errorf("a second install changed something:\n%s", plan.Diff())
	}
	if diff := cmp.Diff(all, p.files()); diff != "" {
		t.Errorf("a second install (-first +second):\n%s", diff)
	}

	p.uninstall(c, o)
	want := sets["before"]
	if len(sets["clean"]) > 0 || strings.Contains(string(a.Comment), "clean: nothing") {
		want = sets["clean"]
	}
	if diff := cmp.Diff(want, p.files()); diff != "" {
		t.Errorf("after uninstall (-want +got):\n%s", diff)
	}
}

// TestOwnFiles: a file that is wholly ours is written, kept, updated and removed; another's file is not touched, and
// a file that the client does not need is then omitted.
func TestOwnFiles(t *testing.T) {
	p := newPlace(t)
	for _, name := range []string{"opencode", "pi"} {
		c, err := Find(name)
		if err != nil {
			t.Fatal(err)
		}
		o := p.options(User)
		p.install(c, o)
		for _, f := range c.files(o) {
			own, ok := f.editor.(*ownFile)
			if !ok {
				continue
			}
			text, _ := os.ReadFile(f.path)
			if list := f.mine(text); len(list) != 1 || list[0].Binary != o.Binary || string(text) != own.text {
				t.Errorf("%s has %+v", f.path, list)
			}
			if err := os.WriteFile(f.path, bytes.Replace(text, []byte("\n"), []byte("\n\n"), 1), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		moved := *o
		moved.Binary, moved.As = "/opt/pennypost", "scout"
		plan := p.install(c, &moved)
		text, err := os.ReadFile(c.files(o)[0].path)
		if err != nil || !bytes.Contains(text, []byte("const named = [\"--as\",\"scout\"]\n")) ||
			!bytes.Contains(text, []byte("const program = \"/opt/pennypost\"\n")) {
			t.Errorf("after a move: %v, %.300s", err, text)
		}
		if diff := plan.Diff(); !bytes.Contains(diff, []byte("+const program")) {
			t.Errorf("the move's diff: %.300s", diff)
		}
		p.uninstall(c, o)
		if left := p.files(); len(left) > 0 {
			t.Errorf("left behind: %v", slices.Collect(maps.Keys(left)))
		}
		for i, f := range c.files(o) {
			if own, ok := f.editor.(*ownFile); ok {
				p.lay(f, "mine", 0o644)
				if own.spare {
					p.install(c, o)
					p.uninstall(c, o)
				} else {
					p.refused(c, o, mail.Conflict, Install)
				}
				if text, _ := os.ReadFile(f.path); string(text) != "mine" {
					t.Errorf("file %d became %q", i, text)
				}
				_ = os.Remove(f.path) // it exists, as just checked
			}
		}
	}
}

// edited are the clients whose files install writes. Goose's is not written.
func edited() []Client {
	return slices.DeleteFunc(Clients(), func(c Client) bool { return c.Name == "goose" })
}

// eachFile calls do for every file of every client in edited. The scopes differ only in paths, so one is enough.
// TestOwnFiles covers files that are wholly ours.
func eachFile(t *testing.T, do func(t *testing.T, p *place, c Client, o *Options, f file)) {
	for _, c := range edited() {
		p := newPlace(t)
		o := p.options(User)
		for _, f := range c.files(o) {
			switch f.editor.(type) {
			case *ownFile, *formerServer:
				continue
			}
			t.Run(c.Name+"/"+filepath.Base(f.path), func(t *testing.T) { do(t, p, c, o, f) })
		}
	}
}

// odd are contents that every client's file may have, by the file's extension.
func odd(name string) []string {
	switch filepath.Ext(name) {
	case ".toml":
		return []string{"", "\n", "# only a comment", "model = \"x\"",
			"model = \"x\"\r\n\r\n[a]\r\nb = [\r\n  1, # one\r\n]\r\n", "\ufeff[features]\nx = true\n\n\n"}
	}
	texts := []string{
		"", "\n", "{}", "{}\n", "{ }", "{\n}\n", "{\r\n\t\"a\": 1\r\n}\r\n", "\ufeff{\"a\":1}", `{"a": {"b": []}}`,
		"{\n// none\n}\n", "{\n    \"a\": 1, // one\n}",
		`{"mcpServers": {}, "hooks": {}, "servers": {}, "mcp": {}}`,
		`{"permissions": {"allow": ["mcp__pennypost"], "deny": []}}`, "{\n  \"permissions\": { \"allow\": [] }\n}\n",
		"{\n  \"hooks\": {\n    \"Stop\": [],\n    \"stop\": [ ]\n  }\n}\n",
		"{\"version\": 1}", "{\n  \"version\": 1,\n  \"hooks\": { \"sessionStart\": [{\"command\": \"echo\"}], " +
			"\"SessionStart\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"echo\"}]}] }\n}",
		"{ \"a\": 1,\n  \"b\": 2 }\n\n\n",
	}
	strict := func(dir string) bool { return strings.Contains(name, dir) } // it accepts no comments: TestStrict
	if strict(".claude") || strict("/.gemini/config/") || strict("/.agents/") {
		texts = slices.DeleteFunc(texts, func(text string) bool { return strings.Contains(text, "//") })
	}
	return texts
}

// After install and uninstall a file has its former content, to the byte.
func TestThereAndBack(t *testing.T) {
	eachFile(t, func(t *testing.T, _ *place, c Client, o *Options, f file) {
		for _, text := range odd(f.path) {
			with := put(t, f, text)
			if again := put(t, f, with); again != with {
				t.Errorf("%q: a second install makes %q of %q", text, again, with)
			}
			if len(f.mine([]byte(with))) == 0 && with != text {
				t.Errorf("%q: nothing of ours in %q", text, with)
			}
			if action, back, err := f.without([]byte(with), []byte(text)); err != nil || string(back) != text ||
				action != Restore && with != text {
				t.Errorf("%q became %q and then %q (%s, %v)", text, with, back, action, err)
			}
		}
	})
}

func put(t *testing.T, f file, text string) string {
	t.Helper()
	with, err := f.put([]byte(text))
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return string(with)
}

// Installing and uninstalling in an empty home leaves nothing, not even directories.
func TestNothingIsLeft(t *testing.T) {
	for _, c := range edited() {
		for _, scope := range c.Scopes {
			p := newPlace(t)
			o := p.options(scope)
			p.install(c, o)
			p.uninstall(c, o)
			for _, dir := range []string{o.Home, o.Root} {
				if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
					t.Errorf("%s %s leaves %v", c.Name, scope, left)
				}
			}
		}
	}
}

// A file with Windows line ends gets entries with Windows line ends.
func TestLineEnds(t *testing.T) {
	eachFile(t, func(t *testing.T, _ *place, c Client, o *Options, f file) {
		for _, text := range odd(f.path) {
			if !strings.Contains(text, "\n") || strings.Contains(text, "\r") || strings.HasPrefix(text, "\ufeff") ||
				strings.TrimSpace(text) == "" {
				continue
			}
			windows := func(s string) string { return "\ufeff" + strings.ReplaceAll(s, "\n", "\r\n") }
			if diff := cmp.Diff(windows(put(t, f, text)), put(t, f, windows(text))); diff != "" {
				t.Errorf("%q (-want +got):\n%s", text, diff)
			}
		}
	})
}

// Text that others write into the file after us stays, to the byte, and our entries are removed.
func TestUninstallAfterOthers(t *testing.T) {
	eachFile(t, func(t *testing.T, p *place, c Client, o *Options, f file) {
		p.install(c, o)
		text, err := read(f.path)
		if err != nil {
			t.Fatal(err)
		}
		var added, want string
		switch filepath.Ext(f.path) {
		case ".toml":
			added, want = string(text)+"\n[other]\nx = 1\n", "[other]\nx = 1\n"
		case ".yaml":
			added, want = string(text)+"OTHER: 1\n", "OTHER: 1\n"
		default:
			added = strings.TrimSuffix(string(text), "\n}\n") + ",\n  \"other\": {\n  }\n}\n"
			want = "{\n  \"other\": {\n  }\n}\n"
			// once the file has other content, the scaffold cannot be known to be ours
			if bytes.Contains(text, []byte(`"version"`)) {
				want = "{\n  \"version\": 1,\n  \"other\": {\n  }\n}\n"
			}
		}
		if err := os.WriteFile(f.path, []byte(added), 0o600); err != nil {
			t.Fatal(err)
		}
		plan := p.uninstall(c, o)
		if got, _ := read(f.path); string(got) != want {
			t.Errorf("after uninstall %q, want %q", got, want)
		}
		if !slices.ContainsFunc(plan.Changes, func(c Change) bool { return c.Path == f.path && c.Action == Clean }) {
			t.Errorf("the plan does not say that the file was cleaned: %+v", plan.Changes)
		}
		_ = os.Remove(f.path)
	})
}

// An upgrade that moved the program changes only the commands.
func TestMoved(t *testing.T) {
	eachFile(t, func(t *testing.T, p *place, c Client, o *Options, f file) {
		moved := *o
		moved.Binary = "/opt/penny post/pennypost"
		g := c.files(&moved)[slices.IndexFunc(c.files(&moved), func(g file) bool { return g.path == f.path })]
		for _, text := range odd(f.path)[:6] {
			old := put(t, f, text)
			now := put(t, g, old)
			if now == old && old != text || put(t, g, now) != now {
				t.Errorf("%q: the move changed nothing, or changes something every time", text)
			}
			if strings.Contains(now, o.Binary) || strings.Count(now, "\n") != strings.Count(old, "\n") {
				t.Errorf("%q became %q when the program moved", old, now)
			}
			if _, back, err := g.without([]byte(now), []byte(text)); err != nil || string(back) != text {
				t.Errorf("%q became %q and then %q, %v", text, now, back, err)
			}
		}
	})
}

// Comments on changed lines stay.
func TestCommentsOnChangedLines(t *testing.T) {
	o := newPlace(t).options(User)
	o.As = "scout"
	for _, tt := range []struct{ client, text, want string }{
		{
			"codex", "[mcp_servers.pennypost]\ncommand = \"/old/pennypost\" # a [b]\nargs = [ # c ]\n  \"mcp\", " +
				"\"--as\", \"]\",\n] # d [e]\n",
			"[mcp_servers.pennypost]\ncommand = \"/usr/local/bin/pennypost\" # a [b]\nenv_vars = [" +
				"\"PENNYPOST_AGENT\", \"PENNYPOST_ROOM\", \"PENNYPOST_HOME\"]\nargs = [\"mcp\", \"--as\", " +
				"\"scout\"] # d [e]\n",
		},
		{
			"windsurf", "{\"mcpServers\": {\"pennypost\": {\"command\": \"/old/pennypost\" /* a */, \"args\": " +
				"[\"mcp\"] // b\n}}}",
			"{\"mcpServers\": {\"pennypost\": {\"command\": \"/usr/local/bin/pennypost\" /* a */, \"args\": " +
				"[\"mcp\", \"--as\", \"scout\"] // b\n}}}",
		},
	} {
		c, _ := Find(tt.client)
		if diff := cmp.Diff(tt.want, put(t, c.files(o)[0], tt.text)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.client, diff)
		}
	}
}

// The first backup stays the same when the program moves, and is removed by the last uninstall.
func TestBackup(t *testing.T) {
	p := newPlace(t)
	o := p.options(User)
	c, _ := Find("gemini")
	p.write("home/.gemini/settings.json", []byte("{ \"theme\": 1 }"))
	before := p.files()
	for _, binary := range []string{"/a/pennypost", "/b/pennypost", "/c/pennypost"} {
		o.Binary = binary
		p.install(c, o)
		if got := p.files()["home/.gemini/settings.json"+backupSuffix]; got != "{ \"theme\": 1 }" {
			t.Errorf("with %s the backup says %q", binary, got)
		}
	}
	p.uninstall(c, o)
	if diff := cmp.Diff(before, p.files()); diff != "" {
		t.Errorf("(-before +now):\n%s", diff)
	}
}

func TestRefusals(t *testing.T) {
	p := newPlace(t)
	for _, tt := range []struct {
		client, path, text, want string
	}{
		{"claude", "home/.claude/settings.json", "{\n  \"a\": 1\n  \"b\": 2\n}",
			"settings.json: this is not JSON: line 3, column 3"},
		{"claude", "home/.claude/settings.json", `{"hooks": [1]}`, `"hooks" is an array`},
		{"claude", "home/.claude/settings.json", `[]`, "the whole document is an array"},
		{"claude", "home/.claude.json", `{"mcpServers": {"pennypost": {"command": "other"}}}`, "another MCP server is called"},
		{"codex", "home/.codex/config.toml", "a = 1\nb = = 2\n", "config.toml: this is not TOML: line 2"},
		{"codex", "home/.codex/config.toml", "mcp_servers = {x = {command = \"y\"}}\n", "inline value"},
		{"codex", "home/.codex/config.toml", "[mcp_servers.pennypost]\nurl = \"http://x\"\n",
			"line 1: another MCP server"},
		{"codex", "home/.codex/config.toml",
			"mcp_servers.pennypost = {command = \"/old/pennypost\", args = [\"mcp\"]}\n", "inside another value"},
	} {
		p.write(tt.path, []byte(tt.text))
		before := p.files()
		c, _ := Find(tt.client)
		if _, err := Install(c, p.options(User)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s with %q: %v, want %q", tt.path, tt.text, err, tt.want)
		}
		if diff := cmp.Diff(before, p.files()); diff != "" {
			t.Errorf("a refusal changed files:\n%s", diff)
		}
		if err := os.Remove(filepath.Join(p.dir, tt.path)); err != nil {
			t.Fatal(err)
		}
	}
	windsurf, _ := Find("windsurf")
	if _, err := Install(windsurf, p.options(Project)); mail.CodeOf(err) != mail.Invalid {
		t.Errorf("Windsurf for a project: %v", err)
	}
	if _, err := Find("claud"); err == nil || !strings.Contains(err.Error(), "did you mean claude") {
		t.Errorf("Find(claud): %v", err)
	}
	claude, _ := Find("claude")
	o := p.options(User)
	o.Binary = "/usr/bin/pp"
	if _, err := Install(claude, o); err == nil {
		t.Error("a program of another name was installed, which would never be found again")
	}
}

// A file that changes between planning and writing is left alone.
func TestApplyLooksAgain(t *testing.T) {
	p := newPlace(t)
	o := p.options(User)
	c, _ := Find("windsurf")
	plan, err := Install(c, o)
	if err != nil {
		t.Fatal(err)
	}
	p.write("home/.codeium/windsurf/mcp_config.json", []byte(`{"mcpServers": {"new": {}}}`))
	before := p.files()
	if err := plan.Apply(); mail.CodeOf(err) != mail.Conflict {
		t.Errorf("Apply = %v, want a conflict", err)
	}
	if diff := cmp.Diff(before, p.files()); diff != "" {
		t.Errorf("files (-before +now):\n%s", diff)
	}
}

func TestModeAndLink(t *testing.T) {
	p := newPlace(t)
	o := p.options(User)
	c, _ := Find("windsurf")
	p.write("home/dotfiles/mcp.json", []byte("{}"))
	link := filepath.Join(o.Home, ".codeium", "windsurf", "mcp_config.json")
	if err := os.MkdirAll(filepath.Dir(link), 0o755); err != nil {
		t.Fatal(err)
	}
	target := filepath.Join(o.Home, "dotfiles", "mcp.json")
	if err := os.Symlink(target, link); err != nil {
		t.Skip(err)
	}
	if err := os.Chmod(target, 0o600); err != nil {
		t.Fatal(err)
	}
	p.install(c, o)
	for _, path := range []string{target, link + backupSuffix} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", path, info, err)
		}
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link became a file: %v", err)
	}
	if text, _ := read(target); !bytes.Contains(text, []byte("pennypost")) {
		t.Errorf("the file behind the link says %q", text)
	}
	p.uninstall(c, o)
	if text, _ := read(target); string(text) != "{}" {
		t.Errorf("after uninstall the file behind the link says %q", text)
	}
}

func TestShellWords(t *testing.T) {
	for _, goos := range []string{"linux", "windows"} {
		for _, path := range []string{"/usr/bin/pennypost", "/opt/penny post/pennypost", "/it's/pennypost",
			`C:\Program Files\pp\pennypost.exe`, `C:\pp\pennypost.exe`, "/小克/$x/pennypost"} {
			if goos == "linux" == strings.Contains(path, `\`) || goos == "windows" && strings.HasPrefix(path, "/") {
				continue
			}
			o := &Options{GOOS: goos, Binary: path, As: "Mac CLI 小克"}
			line := hookCommand(o, "claude", "Stop")
			if diff := cmp.Diff([]string{path, "hook", "claude", "Stop", "--as", "Mac CLI 小克"},
				shellWords(line)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", line, diff)
			}
			if binary, ours := hookOf(line, "claude"); !ours || binary != path {
				t.Errorf("hookOf(%s) = %q, %v", line, binary, ours)
			}
			if binary, ours := hookOf(waitCommand(o), "claude"); !ours || binary != path {
				t.Errorf("hookOf(%s) = %q, %v", waitCommand(o), binary, ours)
			}
		}
	}
	for _, line := range []string{"pennypost hook codex Stop", "pennypost send hook claude",
		"echo pennypost hook claude Stop", "", "'", "/x/notpennypost hook claude Stop",
		"if true; then exec rm -rf /; fi", "echo; then exec pennypost hook claude wait; fi"} {
		if _, ours := hookOf(line, "claude"); ours {
			t.Errorf("hookOf(%q) is ours", line)
		}
	}
}

// A waiting hook must not fail: its client would run it again and again. Its shell line succeeds where the program is
// gone, and otherwise ends with the program's status.
func TestWaitCommand(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("no shell")
	}
	o := &Options{GOOS: "linux", Binary: filepath.Join(t.TempDir(), "it's mine", "pennypost")}
	run := func() (int, string) {
		out, err := exec.Command(sh, "-c", waitCommand(o)).CombinedOutput()
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			return exit.ExitCode(), string(out)
		}
		return 0, string(out)
	}
	if code, out := run(); code != 0 || out != "" {
		t.Errorf("without the program: %d %q", code, out)
	}
	if err := os.Mkdir(filepath.Dir(o.Binary), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(o.Binary, []byte("#!"+sh+"\necho $*; exit 2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, out := run(); code != 0 || out != "" {
		t.Errorf("with a program that cannot be run: %d %q", code, out)
	}
	if err := os.Chmod(o.Binary, 0o700); err != nil {
		t.Fatal(err)
	}
	if code, out := run(); code != 2 || out != "hook claude wait\n" {
		t.Errorf("with the program: %d %q", code, out)
	}
}

// FuzzThereAndBack: a file that can be edited is restored to the byte; any other is refused.
func FuzzThereAndBack(f *testing.F) {
	o := &Options{Scope: User, Home: "/home/me", Root: "/project", Getenv: func(string) string {
		return ""
	}, GOOS: "linux", Binary: "/usr/local/bin/pennypost"}
	var files []file
	for _, name := range []string{"gemini", "cursor", "codex", "claude"} {
		c, _ := Find(name)
		list := c.files(o)
		if name == "claude" {
			list = list[:1] // settings.json
		}
		files = append(files, list[len(list)-1])
		for _, text := range append(odd(list[0].path), odd(list[len(list)-1].path)...) {
			f.Add(uint8(len(files)-1), []byte(text))
		}
	}
	c, _ := Find("codex")
	config := c.files(o)[0]
	config.editor.(*tomlFile).here = true // so that hooks are tried too
	files = append(files, config)
	for _, text := range odd("x.toml") {
		f.Add(uint8(len(files)-1), []byte(text))
	}
	f.Fuzz(func(t *testing.T, which uint8, text []byte) {
		g := files[int(which)%len(files)]
		if len(g.mine(text)) > 0 {
			return
		}
		with, err := g.put(text)
		if mail.CodeOf(err) == mail.Internal {
			t.Fatalf("%q: %v", text, err)
		}
		if err != nil {
			return
		}
		if again, err := g.put(with); err != nil || !bytes.Equal(again, with) {
			t.Fatalf("%q became %q and then %q: %v", text, with, again, err)
		}
		if _, back, err := g.without(with, text); err != nil || !bytes.Equal(back, text) {
			t.Fatalf("%q became %q and then %q: %v", text, with, back, err)
		}
		// Without the backup none of our entries is left, and the rest can still be read.
		rest, _, err := g.strip(with, nil)
		if _, again := g.entries(rest); err != nil || again != nil || len(g.mine(rest)) > 0 {
			t.Fatalf("%q became %q and then %q: %v, %v", text, with, rest, err, again)
		}
	})
}

// A file is not edited if the client would ignore all of it because of its comments.
func TestStrict(t *testing.T) {
	for _, text := range []string{"// mine\n{}", `{"theme": "dark",}`, `{"a": 1 /* one */}`} {
		p := newPlace(t)
		p.write("home/.claude/settings.json", []byte(text))
		if _, err := Install(claude(), p.options(User)); err == nil || !strings.Contains(err.Error(), "has comments") {
			t.Errorf("%s: %v", text, err)
		}
		p.write("home/.gemini/config/mcp_config.json", []byte(text)) // agy would not start with it
		if _, err := Install(agy(), p.options(User)); err == nil || !strings.Contains(err.Error(), "has comments") {
			t.Errorf("%s: %v", text, err)
		}
	}
}
