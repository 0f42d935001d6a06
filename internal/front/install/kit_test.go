package install

import (
	"bytes"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pennypost/internal/mail"
)

// kitFiles are the files of HAAK's kit, in the project.
func kitFiles() []string {
	return []string{"scripts/agent_mailbox.py", "scripts/agent_roster.py", ".claude/scripts/check-mailbox.sh",
		".claude/settings.json", "CLAUDE.md"}
}

// A kit is put into a project and taken out again, and the project is as before, byte for byte.
func TestKit(t *testing.T) {
	for name, before := range map[string]map[string]string{
		"nothing there": {},
		"all there": {
			"CLAUDE.md": "# Project\n\nBe nice.\n",
			".claude/settings.json": `{"model": "opus", "hooks": {"SessionStart": [{"hooks": [` +
				`{"type": "command", "command": "x"}]}]}}`,
			"scripts/build.py": "print()\n",
		},
		"no last line's end": {"CLAUDE.md": "Be nice."},
		"empty files":        {"CLAUDE.md": "", ".claude/settings.json": ""},
		"other line ends":    {"CLAUDE.md": "# Project\r\n\r\nBe nice.\r\n"},
		"a hook of their own": {".claude/settings.json": `{"hooks": {"SessionStart": [{"hooks": [{"type": "command", ` +
			`"command": ".claude/scripts/check-mailbox.sh"}]}]}}`},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			for name, text := range before {
				p.write("project/"+name, []byte(text))
			}
			was, kit, o := p.files(), haakKit(), p.options(Project)
			if plan := p.install(kit, o); !plan.Changed() {
				t.Error("the first installation changed nothing")
			}
			there := p.files()
			for _, name := range kitFiles() {
				if _, ok := there["project/"+name]; !ok {
					t.Errorf("there is no %s", name)
				}
			}
			for name, text := range was {
				if strings.HasSuffix(name, ".md") && !strings.HasPrefix(there[name], text) {
					t.Errorf("%s was %q and is %q", name, text, there[name])
				}
			}
			if plan := p.install(kit, o); plan.Changed() {
				t.Errorf("a second installation changes %v", plan.Changes)
			}
			p.uninstall(kit, o)
			if diff := cmp.Diff(was, p.files()); diff != "" {
				t.Errorf("after uninstall (-before +after):\n%s", diff)
			}
			if plan := p.uninstall(kit, o); plan.Changed() {
				t.Errorf("a second uninstall changes %v", plan.Changes)
			}
		})
	}
}

// A file that someone edited is theirs: neither a new installation nor uninstall touches it. The rest is removed.
func TestKitEdited(t *testing.T) {
	for name, word := range map[string]string{"scripts/agent_mailbox.py": "HAAK", "scripts/agent_roster.py": "HAAK",
		".claude/scripts/check-mailbox.sh": "SESSION", "CLAUDE.md": "three"} {
		t.Run(name, func(t *testing.T) {
			p, kit := newPlace(t), haakKit()
			o := p.options(Project)
			p.install(kit, o)
			edited := strings.Replace(p.files()["project/"+name], word, "x", 1)
			p.write("project/"+name, []byte(edited))
			o.Binary = "/opt/pennypost" // the other files follow it
			for _, plan := range []*Plan{p.install(kit, o), p.uninstall(kit, o)} {
				for _, c := range plan.Changes {
					if mine := c.Path == filepath.Join(o.Root, filepath.FromSlash(name)); mine != (c.Action == Leave) {
						t.Errorf("%s: %s, and edited is %s", c.Path, c.Action, name)
					}
				}
				if got := p.files()["project/"+name]; got != edited {
					t.Errorf("%s is %q", name, got)
				}
			}
			left := maps.Clone(p.files())
			maps.DeleteFunc(left, isBackup)
			if diff := cmp.Diff(map[string]string{"project/" + name: edited}, left); diff != "" {
				t.Errorf("besides the edited file there is (-want +got):\n%s", diff)
			}
		})
	}
}

// The text around the paragraph may change meanwhile, and keeps its changes.
func TestKitAround(t *testing.T) {
	p, kit := newPlace(t), haakKit()
	p.write("project/CLAUDE.md", []byte("# Project\n"))
	o := p.options(Project)
	p.install(kit, o)
	p.write("project/CLAUDE.md", []byte("# The Project\n"+strings.TrimPrefix(p.files()["project/CLAUDE.md"],
		"# Project\n")+"\n## More\n"))
	p.install(kit, o)
	p.uninstall(kit, o)
	if got, want := p.files()["project/CLAUDE.md"], "# The Project\n\n## More\n"; got != want {
		t.Errorf("CLAUDE.md is %q, want %q", got, want)
	}
}

// Another's script stays as it is, and nothing new is written next to it. Files that are already ours are updated.
func TestKitOfAnother(t *testing.T) {
	for _, name := range kitFiles()[:3] {
		p := newPlace(t)
		p.write("project/"+name, []byte("#!/bin/sh\necho mine\n"))
		was := p.files()
		if plan := p.install(haakKit(), p.options(Project)); plan.Changed() || !plan.Spares() {
			t.Errorf("with another's %s the plan is %v", name, plan.Changes)
		}
		if plan := p.uninstall(haakKit(), p.options(Project)); plan.Changed() {
			t.Errorf("uninstall takes away another's %s", name)
		}
		if diff := cmp.Diff(was, p.files()); diff != "" {
			t.Errorf("with another's %s (-want +got):\n%s", name, diff)
		}
		p.install(haakKit(), replacing(p.options(Project)))
		p.write("project/"+name, []byte("echo theirs again\n"))
		o := p.options(Project)
		o.Binary = "/opt/pennypost"
		if plan := p.install(haakKit(), o); !plan.Spares() || p.files()["project/"+name] != "echo theirs again\n" {
			t.Errorf("%s was overwritten", name)
		}
		for _, other := range kitFiles()[:3] {
			if other != name && !strings.Contains(p.files()["project/"+other], "/opt/pennypost") {
				t.Errorf("beside another's %s, %s was not renewed", name, other)
			}
		}
	}
	p := newPlace(t)
	p.write("project/.claude/settings.json", []byte("{"))
	p.refused(haakKit(), p.options(Project), mail.Invalid, Install)
}

func replacing(o *Options) *Options {
	o.Replace = true
	return o
}

// With Replace another's file is replaced, and is restored byte for byte, with its mode.
func TestKitReplaces(t *testing.T) {
	p := newPlace(t)
	o := replacing(p.options(Project))
	for i, name := range kitFiles()[:3] {
		p.write("project/"+name, []byte("#!/bin/sh\necho mine\r\n"))
		mode := []fs.FileMode{0o644, 0o755, 0o700}[i]
		if err := os.Chmod(filepath.Join(o.Root, filepath.FromSlash(name)), mode); err != nil {
			t.Fatal(err)
		}
	}
	modes := func() (list []fs.FileMode) {
		for _, name := range kitFiles()[:3] {
			info, err := os.Stat(filepath.Join(o.Root, filepath.FromSlash(name)))
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, info.Mode())
		}
		return list
	}
	was, had := p.files(), modes()
	p.install(haakKit(), o)
	for _, name := range kitFiles()[:3] {
		if ours, intact := sealed([]byte(p.files()["project/"+name])); !ours || !intact {
			t.Errorf("%s was not replaced", name)
		}
	}
	if plan := p.install(haakKit(), p.options(Project)); plan.Changed() || plan.Spares() {
		t.Errorf("a second installation changes %v", plan.Changes)
	}
	p.uninstall(haakKit(), p.options(Project))
	if diff := cmp.Diff(was, p.files()); diff != "" {
		t.Errorf("after uninstall (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(had, modes()); diff != "" {
		t.Errorf("modes (-before +after):\n%s", diff)
	}
}

// Git may check the files out with other line ends; they still count as ours. A person can run the scripts as
// programs.
func TestKitCheckedOut(t *testing.T) {
	p, kit := newPlace(t), haakKit()
	o := p.options(Project)
	p.install(kit, o)
	for _, name := range kitFiles() {
		path := filepath.Join(o.Root, filepath.FromSlash(name))
		info, err := os.Stat(path)
		if want := fs.FileMode(0o644); err != nil || strings.Contains(name, "scripts/") != (info.Mode()&^want != 0) {
			t.Errorf("%s has the mode %v, %v", name, info.Mode(), err)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		p.write("project/"+name, bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n")))
	}
	p.uninstall(kit, o)
	if diff := cmp.Diff(map[string]string{}, p.files()); diff != "" {
		t.Errorf("left:\n%s", diff)
	}
}

// When the program has moved, the files follow it. No copy is kept of a file that was only ours.
func TestKitFollows(t *testing.T) {
	p, kit := newPlace(t), haakKit()
	o := p.options(Project)
	p.install(kit, o)
	o.Binary = "/opt/it's here/pennypost"
	p.install(kit, o)
	there := p.files()
	for _, name := range kitFiles()[:2] {
		if !strings.Contains(there["project/"+name], `NOTED = "/opt/it's here/pennypost"`) {
			t.Errorf("%s starts another program:\n%s", name, there["project/"+name])
		}
	}
	if text := there["project/"+kitFiles()[2]]; !strings.Contains(text, `noted='/opt/it'\''s here/pennypost'`) {
		t.Errorf("the hook starts another program:\n%s", text)
	}
	if len(there) != len(kitFiles()) {
		t.Errorf("there are %v", slices.Sorted(maps.Keys(there)))
	}
	p.uninstall(kit, o)
	if left := p.files(); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}
