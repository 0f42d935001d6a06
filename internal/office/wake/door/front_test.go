package door

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"pennypost/internal/base/process"
	"pennypost/internal/office/wake/sessions"
)

// front returns a Front that knows the client's session.
func (c *client) front() *Front {
	l := new(sessions.List)
	l.Put(c.session)
	return &Front{Sessions: l}
}

func (m *terminal) bring(c *client, from From) Shown {
	return c.front().Bring(m.Context(), c.session.Room, c.session.Agent, from)
}

// current returns the pane shown by the server's first session.
func (m *terminal) current() string { return m.ask("", "#{pane_id}") }

func TestFrontTmux(t *testing.T) {
	m := newTerminal(t)
	first, second := m.open("claude", "prompt", claudePlaceholder), m.open("claude", "prompt", claudePlaceholder)
	attach := []string{"tmux", "-S", m.socket, "attach-session", "-t", first.pane}
	for name, from := range map[string]From{"from a page": {}, "from a terminal": {Terminal: true},
		"from another tmux": {Terminal: true, Tmux: "/elsewhere,1,0"}} {
		m.tmux("select-window", "-t", second.pane)
		got := m.bring(first, from)
		if got.Why != nil || got.Front || !slices.Equal(got.Attach, attach) || m.current() != first.pane {
			t.Errorf("%s, without a client of tmux: %+v, and %s is shown", name, got, m.current())
		}
	}

	outer := newTerminal(t)
	outer.tmux("new-window", "env", "-u", "TMUX", "tmux", "-S", m.socket, "attach-session")
	m.until("the client of tmux is there", func() bool { return m.tmux("list-clients") != "" })
	m.tmux("new-session", "-d", "-s", "other", "sleep", "600")
	m.tmux("switch-client", "-c", m.tmux("list-clients", "-F", "#{client_name}"), "-t", "other:")
	shown := func() string { return m.tmux("list-clients", "-F", "#{pane_id}") }
	for name, tt := range map[string]struct {
		from From
		c    *client
	}{"from a page": {From{}, first}, "from inside": {From{Terminal: true, Tmux: m.socket + ",1,0"}, second},
		"from another tmux": {From{Terminal: true, Tmux: "/elsewhere,1,0"}, first}} {
		got := m.bring(tt.c, tt.from)
		if got.Why != nil || !got.Front || !strings.Contains(got.Where, tt.c.pane) || shown() != tt.c.pane {
			t.Errorf("%s: %+v, and %s is shown", name, got, shown())
		}
	}
	if got := m.bring(first, From{Terminal: true}); got.Front || !slices.Equal(got.Attach, attach) {
		t.Errorf("from a terminal outside: %+v", got)
	}
	if text := first.brief() + second.brief(); strings.Trim(text, "ready\n") != "" {
		t.Errorf("something was typed: %q", text)
	}
}

// TestFrontRefuses: a pane that is not the session's is not shown.
func TestFrontRefuses(t *testing.T) {
	m := newTerminal(t)
	c := m.open("claude", "prompt", claudePlaceholder)
	for want, change := range map[string]func(*sessions.Session){
		"no tmux pane":   func(s *sessions.Session) { s.Pane = "0; kill-server" },
		"restarted":      func(s *sessions.Session) { s.Tmux = m.socket + ",1,0" },
		"is gone":        func(s *sessions.Session) { s.Pane = "%77" },
		"runs elsewhere": func(s *sessions.Session) { s.Pane = m.ask(":0", "#{pane_id}") },
		"tmux":           func(s *sessions.Session) { s.Tmux = filepath.Join(m.dir, "nobody") + "," + m.pid + ",0" },
	} {
		if want == "runs elsewhere" && runtime.GOOS != "linux" {
			continue
		}
		other := *c
		change(&other.session)
		if got := m.bring(&other, From{}); got.Why == nil || got.Front || got.Attach != nil ||
			!strings.Contains(got.Why.Error(), want) {
			t.Errorf("want %q: %+v", want, got)
		}
	}
	f := c.front()
	m.tmux("kill-pane", "-t", c.pane)
	var got Shown
	m.until("the program has ended", func() bool {
		got = f.Bring(t.Context(), c.session.Room, c.session.Agent, From{})
		return !got.Live || runtime.GOOS != "linux"
	})
	if got.ID != "s1" || got.Client != "claude" || got.Why == nil {
		t.Errorf("of a session that is over: %+v", got)
	}
}

// TestFrontTerminal: terminals get the commands that their manuals document. The control programs are stand-ins.
func TestFrontTerminal(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells the environment of a program")
	}
	dir := t.TempDir()
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	log := filepath.Join(dir, "log")
	for _, name := range []string{"kitten", "wezterm"} {
		script := "#!/bin/sh\necho \"" + name + " $* $WEZTERM_UNIX_SOCKET\" >> " + log +
			"\n[ \"$WEZTERM_PANE\" != 9 ]\n"
		if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct{ env, where, told string }{
		{"KITTY_WINDOW_ID=3 KITTY_LISTEN_ON=unix:/run/k", "window 3 of kitty",
			"kitten @ --to unix:/run/k focus-window --match id:3 \n"},
		{"WEZTERM_PANE=7 WEZTERM_UNIX_SOCKET=/run/w", "pane 7 of WezTerm",
			"wezterm cli activate-pane --pane-id 7 /run/w\n"},
		{"KITTY_WINDOW_ID=3", "", ""},
		{"KITTY_WINDOW_ID=x KITTY_LISTEN_ON=unix:/run/k", "", ""},
		{"TERM=xterm", "", ""},
	} {
		program := exec.Command("sleep", "600")
		program.Env = strings.Fields(tt.env)
		if err := program.Start(); err != nil {
			t.Fatal(err)
		}
		environ := fmt.Sprintf("/proc/%d/environ", program.Process.Pid)
		for until := time.Now().Add(5 * time.Second); time.Now().Before(until); time.Sleep(time.Millisecond) {
			if text, err := os.ReadFile(environ); err != nil || len(text) > 0 {
				break // the kernel has set it up, which it does after Start may have returned
			}
		}
		c := client{session: sessions.Session{Room: "lab", Agent: "ann", Client: "claude", ID: "s1",
			Process: process.Tree(program.Process.Pid)[0].Key}}
		got := c.front().Bring(t.Context(), "lab", "ann", From{})
		told, _ := os.ReadFile(log)
		if got.Front != (tt.told != "") || got.Front && got.Where != tt.where || string(told) != tt.told {
			t.Errorf("with %s: %+v, and told was %q", tt.env, got, told)
		}
		_ = os.Remove(log)
		_ = program.Process.Kill()
		_ = program.Wait()
	}
}
