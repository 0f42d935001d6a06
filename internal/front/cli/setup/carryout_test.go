package setup

import (
	"os"
	"path/filepath"
	"testing"

	"pennypost/internal/front/install"
	"pennypost/internal/mail"
)

// When a client writes its settings while we change them, we retry on its new settings; a client that never stops is
// an error.
func TestCarryOutGivesWay(t *testing.T) {
	for name, c := range map[string]struct {
		writes int // of the client, each after a plan of ours
		ok     bool
	}{"it writes once": {1, true}, "it goes on writing": {100, false}} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			file := filepath.Join(home, ".claude.json")
			write := func(text string) {
				if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			write(`{"starts": 0}`)
			client, err := install.Find("claude")
			if err != nil {
				t.Fatal(err)
			}
			o := &install.Options{Home: home, Binary: "/bin/pennypost", Scope: install.User,
				Getenv: func(string) string { return "" }}
			written := 0
			plan := func(c2 install.Client, o *install.Options) (*install.Plan, error) {
				p, err := install.Install(c2, o)
				if written < c.writes {
					written++
					write(`{"starts": ` + string(rune('0'+written%10)) + `}`)
				}
				return p, err
			}
			_, err = carryOut(client, o, plan, false)
			if (err == nil) != c.ok || !c.ok && mail.CodeOf(err) != mail.Conflict {
				t.Fatalf("carryOut = %v", err)
			}
			if c.ok {
				if again, err := install.Install(client, o); err != nil || again.Changed() {
					t.Errorf("it is not installed: %v", err)
				}
			}
		})
	}
}
