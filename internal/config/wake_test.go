package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pennypost/internal/mail"
)

const testSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

func TestWakeRefuses(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       []string
	}{
		{"unknown key", "[room.wake.bob]\nexce = [\"x\"]\n", []string{":2:1", "did you mean room.wake.NAME.exec?"}},
		{"unknown key in a room", "[rooms.x.wake.\"role:a\"]\nwebhok = \"x\"\n",
			[]string{":2:1", "did you mean room.wake.NAME.webhook?"}},
		{"no way", "[room.wake.bob]\ntimeout = \"3s\"\n",
			[]string{"[room.wake.bob]", "set exec, acp, webhook, opencode or tmux"}},
		{"tmux off", "[room.wake.bob]\ntmux = false\n", []string{"[room.wake.bob]", "has no way to wake"}},
		{"opencode elsewhere", "[room.wake.bob]\nopencode = \"http://192.0.2.1:4096\"\n",
			[]string{"server on this machine"}},
		{"opencode by a name", "[room.wake.bob]\nopencode = \"http://localhost.example:4096\"\n",
			[]string{"server on this machine"}},
		{"opencode with a path", "[room.wake.bob]\nopencode = \"http://127.0.0.1:4096/session/x\"\n",
			[]string{"server on this machine"}},
		{"opencode with its password", "[room.wake.bob]\nopencode = \"http://x:hunter2@127.0.0.1:4096\"\n",
			[]string{"password in password"}},
		{"password of nothing", "[room.wake.bob]\ntmux = true\npassword = \"hunter2\"\n",
			[]string{"has a password, but no opencode"}},
		{"when", "[room.wake.bob]\nexec = [\"x\"]\nwhen = \"idle\"\n", []string{`when is "idle"`}},
		{"a program of the session's directory", "[room.wake.bob]\nexec = [\"./x\"]\nwhen = \"gone\"\n",
			[]string{"absolute path"}},
		{"when of nothing", "[room.wake.bob]\ntmux = true\nwhen = \"gone\"\n", []string{"with exec or acp"}},
		{"empty program", "[room.wake.bob]\nacp = [\"\"]\n", []string{"acp is not a command"}},
		{"a program of the agent's directory", "[room.wake.bob]\nacp = [\"./x\"]\n", []string{"absolute path"}},
		{"dir of nothing", "[room.wake.bob]\nexec = [\"x\"]\ndir = \"/src\"\n", []string{"with acp"}},
		{"a relative dir", "[room.wake.bob]\nacp = [\"x\"]\ndir = \"src\"\n", []string{"absolute path"}},
		{"a session that may live", "[room.wake.bob]\nexec = [\"x\", \"--resume={session}\"]\n",
			[]string{`set when = "gone"`}},
		{"claude_below", "claude_below = \"2\"\n", []string{"claude_below is \"2\"", "2.2.0"}},
		{"empty command", "[room.wake.bob]\nexec = []\n", []string{"[room.wake.bob]"}},
		{"empty name of a command", "[room.wake.bob]\nexec = [\"\", \"x\"]\n", []string{"exec is not a command"}},
		{"command line", "[room.wake.bob]\nexec = \"notify-send x\"\n", []string{"config.toml:2:"}},
		{"address", "[room.wake.bob]\nwebhook = \"example.org\"\nsecret = \"" + testSecret + "\"\n",
			[]string{"must be an http or https address"}},
		{"no secret", "[room.wake.bob]\nwebhook = \"https://example.org\"\n", []string{"no secret", "openssl rand"}},
		{"bad secret", "[room.wake.bob]\nwebhook = \"https://example.org\"\nsecret = \"hunter2\"\n",
			[]string{"config.toml:3:", "whsec_"}},
		{"short secret", "[room.wake.bob]\nsecret = \"whsec_aGVsbG8=\"\n",
			[]string{"config.toml:2:", "24 to 64 bytes"}},
		{"timeout", "[room.wake.bob]\nexec = [\"x\"]\ntimeout = \"forever\"\n", []string{"timeout is forever"}},
		{"budget", "[room.wake.bob]\nexec = [\"x\"]\nbudget = -1\n", []string{"budget is -1"}},
		{"all", "[room.wake.all]\nexec = [\"x\"]\n", []string{`"all" cannot be woken`}},
		{"user", "[room.wake.user]\nexec = [\"x\"]\n", []string{"[room.wake.user]", "[notify.…]", "docs/notify.md"}},
		{"name", "[rooms.x.wake.\" \"]\nexec = [\"x\"]\n", []string{`[rooms.x.wake." "]`}},
		{"twice", "[room.wake.bob]\nexec = [\"x\"]\n[room.wake.\"agent:bob\"]\nexec = [\"y\"]\n",
			[]string{"[room.wake.bob]", `[room.wake."agent:bob"]`, "keep one"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := load(t, tt.text, nil)
			if mail.CodeOf(err) != mail.Invalid {
				t.Fatalf("Load = %v, want an invalid error", err)
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("Load = %q, want it to contain %q", err, want)
				}
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("Load = %q, which tells the secret", err)
			}
		})
	}
}

const wakeText = `
claude_below = "2.5.0"
[room.wake.orchestrator]
exec = ["a", "b\\\" {agent}"]
[room.wake.bob]
webhook = "https://example.org/hook"
secret = "` + testSecret + `"
timeout = "5s"
[rooms.x.wake."agent:bob"]
[rooms.x.wake."role:builder"]
exec = ["c", "{session}"]
when = "gone"
tmux = true
budget = 3
[rooms.x.wake.eve]
opencode = "http://[::1]:4096/?directory=/src/x"
password = "hunter2"
[rooms.x.wake.ann]
tmux = true
[rooms.x.wake.dan]
acp = ["gemini", "--acp"]
dir = "/src/shop"
when = "gone"
`

func TestWakeOverlay(t *testing.T) {
	c, err := load(t, wakeText, nil)
	if err != nil {
		t.Fatal(err)
	}
	names := func(r Room) []string { return slices.Sorted(maps.Keys(r.Wake)) }
	if diff := cmp.Diff([]string{"agent:bob", "orchestrator"}, names(c.For("y"))); diff != "" {
		t.Error(diff)
	}
	x := c.For("x")
	if diff := cmp.Diff([]string{"agent:ann", "agent:bob", "agent:dan", "agent:eve", "orchestrator",
		"role:builder"},
		names(x)); diff != "" {
		t.Error(diff)
	}
	if bob := x.Wake["agent:bob"]; !bob.Empty() || x.Wake["role:builder"].Budget != 3 {
		t.Errorf("For(x).Wake = %+v", x.Wake)
	}
	if ann := x.Wake["agent:ann"]; ann.Empty() || !ann.Tmux {
		t.Errorf("ann is woken by %+v", ann)
	}
	if eve := x.Wake["agent:eve"]; strings.Contains(fmt.Sprintf("%v %+v %#v", eve, eve, eve), "hunter2") {
		t.Errorf("printing tells the password: %+v", eve)
	}
	bob := c.For("y").Wake["agent:bob"]
	if len(bob.Secret) != 24 || time.Duration(bob.Timeout) != 5*time.Second {
		t.Errorf("bob is woken by %+v", bob)
	}
	if text := fmt.Sprintf("%v %+v %#v %s", bob, bob, bob, bob.Secret); strings.Contains(text, "MfKQ") ||
		strings.Contains(text, "49") {
		t.Errorf("printing tells the secret: %s", text)
	}
}

// The output of print is equivalent, except for the secrets, which it hides.
func TestPrintWakes(t *testing.T) {
	c, err := load(t, wakeText, nil)
	if err != nil {
		t.Fatal(err)
	}
	var first, second strings.Builder
	if err := c.Print(&first); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(first.String(), "MfKQ") || strings.Contains(first.String(), "hunter2") {
		t.Errorf("a secret is printed:\n%s", first.String())
	}
	again := Config{Home: c.Home}
	if err := again.parse([]byte(first.String())); err != nil {
		t.Fatalf("the printed configuration does not load: %v\n%s", err, first.String())
	}
	if err := again.Print(&second); err != nil || first.String() != second.String() {
		t.Errorf("printed again (%v):\n%s\nwant\n%s", err, second.String(), first.String())
	}
	if err := again.Check(); err == nil || !strings.Contains(err.Error(), "no secret") {
		t.Errorf("Check = %v, want that the secret is missing", err)
	}
	x := again.For("x").Wake
	if b := x["role:builder"]; b.When != WhenGone || !b.Tmux ||
		x["agent:eve"].OpenCode != "http://[::1]:4096/?directory=/src/x" || !x["agent:ann"].Tmux ||
		again.ClaudeBelow != "2.5.0" {
		t.Errorf("the doors came back as %+v, below %s", x, again.ClaudeBelow)
	}
	if d := x["agent:dan"]; !slices.Equal(d.ACP, []string{"gemini", "--acp"}) || d.Dir != "/src/shop" ||
		d.When != WhenGone || d.Timeout != DefaultTurnTimeout {
		t.Errorf("the door over ACP came back as %+v", d)
	}
	if got := again.For("x").Wake["orchestrator"].Exec; !slices.Equal(got, []string{"a", `b\" {agent}`}) {
		t.Errorf("the command came back as %q", got)
	}
}
