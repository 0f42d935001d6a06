package install

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pennypost/internal/mail"
)

// The extension is installed and removed whole, follows the program, and replaces no one else's file.
func TestCopilotWaker(t *testing.T) {
	p := newPlace(t)
	o := p.options(User)
	o.As = "it's"
	path := filepath.Join(o.Home, ".copilot", "extensions", "pennypost", "extension.mjs")
	p.install(copilot(), o)
	text, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(text), `const named = ["--as","it's"]`) {
		t.Fatalf("%v in %s", err, text)
	}
	o.Binary = "/elsewhere/pennypost"
	if plan := p.install(copilot(), o); !plan.Changed() {
		t.Error("the file does not follow the program")
	}
	var found []string
	for _, r := range Look(*o) {
		for _, f := range r.Files {
			if f.Path == path && len(f.Entries) == 1 {
				found = append(found, f.Entries[0].Binary)
			}
		}
	}
	if len(found) != 1 || found[0] != o.Binary {
		t.Errorf("it is said to start %q, want %s", found, o.Binary)
	}
	p.uninstall(copilot(), o)
	if _, err := os.Stat(filepath.Join(o.Home, ".copilot")); err == nil {
		t.Error("something is left")
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("// mine\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Install(copilot(), o); mail.CodeOf(err) != mail.Conflict {
		t.Errorf("over a file that is somebody's: %v", err)
	}
	p.uninstall(copilot(), o)
	if text, err := os.ReadFile(path); err != nil || string(text) != "// mine\n" {
		t.Errorf("somebody's file is %q, %v", text, err)
	}
}

// The dialogs of the extension are asked for once, and stay on until it is uninstalled. No other client has them.
func TestCopilotDialogs(t *testing.T) {
	p := newPlace(t)
	o := p.options(User)
	on := func() bool {
		t.Helper()
		text, err := os.ReadFile(copilotExtension(o))
		if err != nil {
			t.Fatal(err)
		}
		return strings.Contains(string(text), copilotDialogs)
	}
	p.install(copilot(), o)
	if on() {
		t.Error("it is on without being asked for")
	}
	o.Dialogs = true
	if plan := p.install(copilot(), o); !plan.Changed() || !on() || !strings.Contains(strings.Join(plan.Notes, " "),
		"handle permission requests") {
		t.Errorf("it is on: %t; the notes are %q", on(), plan.Notes)
	}
	o.Dialogs = false
	if plan := p.install(copilot(), o); plan.Changed() || !on() {
		t.Error("a later installation turns it off")
	}
	p.uninstall(copilot(), o)
	p.install(copilot(), o)
	if on() {
		t.Error("it is on again after it was uninstalled")
	}
	o.Dialogs = true
	if _, err := Install(opencode(), o); mail.CodeOf(err) != mail.Invalid {
		t.Errorf("of opencode: %v", err)
	}
}
