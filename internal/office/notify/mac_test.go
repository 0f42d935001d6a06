//go:build unix

package notify

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The exact arguments of macOS's programs: a letter's text is neither an option nor part of a script. It has not run
// on macOS yet.
func TestDesktopOfMacOS(t *testing.T) {
	bin, said := t.TempDir(), filepath.Join(t.TempDir(), "said")
	program := func(name string) {
		text := "#!/bin/sh\nprintf '%s\\n' \"$0\" \"$@\" >" + said + "\n"
		if err := os.WriteFile(filepath.Join(bin, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin+":/usr/bin:/bin")
	d := &Desktop{System: "darwin", Env: os.Environ()}
	n := &Note{ID: "n1", Subject: `-title "x"`, Text: "$(touch owned); done", URL: "http://127.0.0.1:8765/"}
	for _, tt := range []struct {
		name, want string
	}{
		{"osascript", "/osascript\n-e\non run argv\n-e\n" +
			"display notification (item 2 of argv) with title (item 1 of argv)\n-e\nend run\n--\n" +
			"-title \"x\"\n$(touch owned); done\n"},
		{"terminal-notifier", "/terminal-notifier\n-title\n\\-title \"x\"\n-message\n$(touch owned); done\n" +
			"-group\nn1\n-open\nhttp://127.0.0.1:8765/\n"},
	} {
		program(tt.name)
		if _, err := d.Send(t.Context(), n); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(said)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(bin+tt.want, string(got)); diff != "" {
			t.Errorf("%s is given (-want +got):\n%s", tt.name, diff)
		}
	}
}
