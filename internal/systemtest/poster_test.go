package systemtest

import (
	"bytes"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"pennypost/internal/mail"
)

// The post office does not write to a session that bypasses permission prompts; the session's own child does, and
// exits with it.
func TestPoster(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Claude Code has a named pipe there")
	}
	o := newOffice(t)
	dir, err := os.MkdirTemp("", "cc")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	inbox := filepath.Join(dir, "s")
	l, err := net.Listen("unix", inbox)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	told := make(chan string, 10)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			text, _ := io.ReadAll(c)
			told <- string(text)
			c.Close()
		}
	}()
	env := []string{"CLAUDE_CODE_SESSION_ID=s1", "CLAUDE_CODE_MESSAGING_SOCKET=" + inbox,
		"CLAUDE_CODE_MESSAGING_TOKEN=0123456789abcdef", "CLAUDE_CONFIG_DIR=" + dir}
	hook := func(event string) {
		t.Helper()
		stdin := `{"session_id":"s1","permission_mode":"bypassPermissions","cwd":"` + o.dir + `","hook_event_name":"` +
			event + `"}`
		if r := o.runWith(stdin, env, "hook", "claude", event); r.code != 0 {
			t.Fatalf("%s: %+v", event, r)
		}
	}
	if r := o.runWith("", nil, "poster"); r.code == 0 || !strings.Contains(r.stderr, "run it as a hook of one") {
		t.Errorf("a poster without a session: %+v", r)
	}
	hook("SessionStart")
	poster := o.command(t.Context(), "poster")
	poster.Env = o.environ(env...)
	var errs bytes.Buffer
	poster.Stderr = &errs
	if err := poster.Start(); err != nil {
		t.Fatal(err)
	}
	left := make(chan error, 1)
	go func() { left <- poster.Wait() }()
	const me = "claude-work"
	asked := ask[mail.Sent](t, o, "send", "--to", me, "--type", "question", "--body", "SECRET BODY")
	select {
	case text := <-told:
		if !strings.Contains(text, "0123456789abcdef") || !strings.Contains(text, "1 unread in room") ||
			strings.Contains(text, "SECRET") || strings.Contains(text, "from-mode") {
			t.Errorf("the session got %s", text)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("the session was not written to")
	}
	eventually(t, "the ring is recorded", func() bool { return o.stateOf(t, asked.ID, me) == mail.Notified })
	if !strings.Contains(o.must(t, "export"), `"door":"poster"`) {
		t.Error("another door was rung")
	}
	hook("SessionEnd")
	select {
	case err := <-left:
		if err != nil || errs.Len() > 0 {
			t.Errorf("the poster ended with %v: %s", err, &errs)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("the poster outlives its session")
	}
}
