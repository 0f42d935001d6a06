package install

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pennypost/internal/config"
	"pennypost/internal/mail"
)

// The orchestrator's door is written into the post office's configuration, which still loads, and any uninstallation
// of the client removes it, whatever else the file has.
func TestOrchestratorDoor(t *testing.T) {
	const others = "log_level = \"warn\" # mine\n\n[room.wake.builder]\nexec = [\"notify-send\"]\n"
	for _, name := range []string{"claude", "codex", "copilot", "opencode", "pi"} {
		for _, scope := range []Scope{User, Project} {
			for _, before := range []string{"", others, "[room]\norchestrators = [\"lead\"]"} {
				p := newPlace(t)
				c, err := Find(name)
				if err != nil {
					t.Fatal(err)
				}
				o := p.options(scope)
				data := config.Home(filepath.Join(p.dir, "home", "data"))
				o.Config, o.Room, o.Orchestrator, o.Program = data.File(), "shop.v2", true, "/opt/bin/"+name
				if before != "" {
					p.write("home/data/config.toml", []byte(before))
				}
				empty := p.files()
				if plan := p.install(c, o); !strings.Contains(strings.Join(plan.Notes, "\n"), "pennypost stop") {
					t.Errorf("%s: the notes are %q", name, plan.Notes)
				}
				cfg, err := config.Load(data, func(string) string { return "" })
				if err != nil {
					t.Fatalf("%s %s: %v\n%s", name, scope, err, p.files()["home/data/config.toml"])
				}
				w := cfg.For("shop.v2").Wake[string(mail.ToOrchestrator)]
				if len(w.Exec) == 0 || w.Exec[0] != o.Program ||
					!strings.Contains(strings.Join(w.Exec, " "), "{session}") || w.When != "gone" {
					t.Errorf("%s %s: the door is %+v", name, scope, w)
				}
				if w, has := cfg.For("other").Wake[string(mail.ToOrchestrator)]; has != (scope == User) {
					t.Errorf("%s %s: in another room the door is %+v", name, scope, w)
				}
				if info, err := os.Stat(o.Config); err != nil || before == "" && info.Mode().Perm() != 0o600 {
					t.Errorf("%s %s: %v, %v", name, scope, info.Mode(), err)
				}
				o.Orchestrator = false // an installation without it, and any uninstallation, recognizes it
				if plan := p.install(c, o); plan.Changed() {
					t.Errorf("%s %s: a second installation changes %+v", name, scope, plan.Changes)
				}
				o.Program = "/usr/bin/" + name
				p.uninstall(c, o)
				for file, text := range p.files() {
					if empty[file] != text {
						t.Errorf("%s %s: in the end %s is\n%s", name, scope, file, text)
					}
				}
			}
		}
	}
}

// A door that someone made stays as it is, and so does the client.
func TestOrchestratorDoorOfOthers(t *testing.T) {
	for _, key := range []string{"orchestrator", `"role:orchestrator"`} {
		p := newPlace(t)
		o := p.options(User)
		o.Config, o.Orchestrator = filepath.Join(p.dir, "home", "config.toml"), true
		text := "[room.wake." + key + "]\nexec = [\"my-script\"]\n"
		p.write("home/config.toml", []byte(text))
		c := claude()
		if _, err := Install(c, o); mail.CodeOf(err) != mail.Conflict || !strings.Contains(err.Error(), key) {
			t.Errorf("%v, want a conflict that names %s", err, key)
		}
		if plan, err := Uninstall(c, o); err != nil || plan.Changed() {
			t.Errorf("%+v, %v", plan, err)
		}
		if _, err := Install(cursor(), o); mail.CodeOf(err) != mail.Invalid {
			t.Error("a client that cannot be resumed is taken")
		}
	}
}
