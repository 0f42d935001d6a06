package wake

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

const thread = "0199a213-81c0-7800-8aa1-bbab2a035a53"

// codexDoor returns a door to a session of Codex, with the test binary for codex, and the file that it may write.
func codexDoor(t *testing.T, kind string, with func(*Session)) (*Codex, string) {
	t.Helper()
	x, file := command(t, kind)
	s := Session{Room: "lab", Agent: "小克", Client: "codex", ID: thread, Dir: x.Dir, Version: "0.169.0"}
	if with != nil {
		with(&s)
	}
	l := new(Sessions)
	l.Put(s)
	return &Codex{Sessions: l, Binary: x.Argv[0], Env: append(x.Env, "GORACE=atexit_sleep_ms=0"),
		Timeout: 30 * time.Second}, file
}

func TestCodex(t *testing.T) {
	r := testRing()
	for _, v := range []string{"0.169.0", "0.149.0", "", "codex-cli"} {
		c, file := codexDoor(t, "report", func(s *Session) { s.Version = v })
		if err := c.Ring(t.Context(), r); err != nil {
			t.Fatalf("%q: Ring = %v", v, err)
		}
		got, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		s, _ := c.Sessions.Get("lab", "小克")
		want := fmt.Sprintf("args %q\ndir %s\nstdin PENNYPOST_AGENT=somebody-else\n",
			[]string{"queue", "--thread", thread, "--message", pointer(&r)}, s.Dir)
		if string(got) != want { // no variable of the ring: what codex starts may outlive it
			t.Errorf("%q: codex was run with\n%s, want\n%s", v, got, want)
		}
	}
}

func TestCodexFails(t *testing.T) {
	check := func(what, kind, want string, with func(*Session)) {
		t.Helper()
		c, file := codexDoor(t, kind, with)
		switch what {
		case "missing":
			c.Binary = "no-such-codex"
		case "hangs":
			c.Timeout = 200 * time.Millisecond
		}
		err := c.Ring(t.Context(), testRing())
		if err == nil || !strings.Contains(err.Error(), want) || errors.Is(err, ErrOff) {
			t.Errorf("%s: Ring = %v, want %q", what, err, want)
		}
		if _, err := os.Stat(file); err == nil {
			t.Errorf("%s: codex was run", what)
		}
	}
	check("fails", "fail", "0.149.0: exit status 3: no such", nil)
	check("hangs", "sleep", "killed because it had not ended after 200ms", nil)
	check("missing", "report", "codex is not found", nil)
	check("a name", "report", "none of a thread", func(s *Session) { s.ID = "--last" })
	check("old", "report", "has no queue", func(s *Session) { s.Version = "0.148.2" })
	check("claude", "report", "runs in claude, not in codex", func(s *Session) { s.Client = "claude" })
	check("another agent", "report", "no live session", func(s *Session) { s.Agent = "x" })
}
