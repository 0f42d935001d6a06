package door

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"pennypost/internal/base/process"
	"pennypost/internal/office/wake"
	"pennypost/internal/office/wake/sessions"
)

// screens are layouts that clients were seen to draw, without colours. PROMPT is where the prompt's text goes.
var screens = map[string]string{
	"claude": "● Done. Would you like to see more?\n\n" + strings.Repeat("─", 70) + "\n❯\u00a0PROMPT\n" +
		strings.Repeat("─", 70) + "\n  ? for shortcuts",
	"copilot": " ❯ fix the bug\n\n ● Done.\n\n ~/src [⎇ master]\n" + strings.Repeat("─", 70) + "\n❯ PROMPT\n" +
		strings.Repeat("─", 70) + "\n ← open sidebar · Interactive · Allow All · / commands · ? help",
	"codex": "› fix the bug\n\n• Done.\n\n› PROMPT\n\n  ? for shortcuts          98% context left",
	"gemini": "✦ Done.\n\n╭" + strings.Repeat("─", 68) + "╮\n│ > PROMPT │\n╰" + strings.Repeat("─", 68) +
		"╯\n ~/src   no sandbox",
}

// geminiScreen is Gemini CLI 0.61.0 after a turn, with a prompt.
func geminiScreen(prompt string) string {
	const top, bottom = "\n▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄\n", "\n▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀\n"
	return "1. Create GEMINI.md files" + top + " > Do you want to proceed? (y/n)" + bottom +
		"✦ Press Enter to see more.\n* one\n\nℹ Request cancelled.\n\n" +
		"                                ? for shortcuts\n──────────────\n YOLO Ctrl+Y      1 MCP server" +
		top + prompt + bottom + " workspace (/directory)      sandbox\n ~/src       no sandbox\n"
}

const (
	claudePlaceholder = "\x1b[7mT\x1b[27m\x1b[2mry \"edit <file>\"\x1b[22m"
	codexPlaceholder  = "\x1b[2mExplain this codebase\x1b[0m"
	geminiPlaceholder = "\x1b[38;5;8mType your message or @path/to/file\x1b[39m"
)

func TestPromptOf(t *testing.T) {
	with := func(client, text string) string { return strings.Replace(screens[client], "PROMPT", text, 1) }
	for _, c := range []struct {
		client, screen, want string
		ok                   bool
	}{
		{"claude", with("claude", ""), "", true},
		{"claude", with("claude", claudePlaceholder), "", true},
		{"claude", with("claude", "\x1b[7m \x1b[27m"), "", true},
		{"claude", with("claude", "x"), "x", true},
		{"claude", with("claude", "\x1b[7mx\x1b[27m"), "x", true},
		{"claude", with("claude", "\x1b[38;2;2;2;2mnot faint\x1b[0m"), "not faint", true},
		{"claude", with("claude", "com\x1b[2mmit it"), "com", true},
		{"claude", with("claude", "one\n  two"), "one two", true},
		{"claude", with("claude", "\n  two"), "two", true},
		{"claude", strings.ReplaceAll(with("claude", ""), "─", ""), "", false},
		{"claude", with("claude", strings.Repeat("\n  many", 9)), "", false},
		{"claude", "❯", "", false},
		{"claude", "", "", false},
		{"claude", with("claude", "") + "\n  ❯ 1. Yes", "", false},
		{"copilot", with("copilot", ""), "", true},
		{"copilot", with("copilot", "half"), "half", true},
		{"codex", with("codex", codexPlaceholder), "", true},
		{"codex", with("codex", "half"), "half", true},
		{"codex", with("codex", "half\n  done"), "half done", true},
		{"codex", strings.ReplaceAll(with("codex", ""), "\n\n", "\n"), "", false},
		{"codex", "Allow?\n\n› 1. Yes\n  2. No\n", "1. Yes 2. No", true},
		{"gemini", with("gemini", geminiPlaceholder), "", true},
		{"gemini", with("gemini", "half"), "half", true},
		{"gemini", "\n > quoted\n", "", false},
		{"gemini", geminiScreen(" > " + geminiPlaceholder), "", true},
		{"gemini", geminiScreen(" * " + geminiPlaceholder), "", true},
		{"gemini", geminiScreen(" * half\n   done"), "half done", true},
		{"gemini", geminiScreen(" ! half"), "", false}, // Enter would run it in a shell
		{"gemini", geminiScreen(" ?"), "", false},
		{"qwen", "  > Do you want to proceed? (y/n)\n  ✦ bye\n\n─────\n* " + geminiPlaceholder + "\n─────\n  YOLO", "",
			true},
		{"qwen", "  > hello\n\n─────\n* half\n  done \u200b\n─────\n  YOLO", "half done", true},
		{"qwen", "  > hello\n  ✦ bye\n\n─────\n! \n─────\n", "", false},
		{"cursor", with("claude", ""), "", false},
		{"", with("claude", ""), "", false},
	} {
		if got, _, ok := promptOf(c.client, parseScreen(c.screen)); got != c.want || ok != c.ok {
			t.Errorf("promptOf(%s, %q) = %q, %v; want %q, %v", c.client, c.screen, got, ok, c.want, c.ok)
		}
	}
}

func TestDialog(t *testing.T) {
	for screen, want := range map[string]bool{
		screens["claude"]: false, screens["codex"]: false, screens["gemini"]: false, screens["copilot"]: false,
		"":                                   false,
		"Do you want to proceed?\n ❯ 1. Yes": true, "Esc to cancel": true, "✻ Thinking… (esc to interrupt)": true,
		"Press Enter to continue": true, "Overwrite? [y/N]": true,
		"Do you \x1b[1mtrust\x1b[0m the files": true,
	} {
		if got := dialog("claude", parseScreen(screen)); (got != "") != want {
			t.Errorf("dialog(%q) = %q", screen, got)
		}
	}
	idle := geminiScreen(" * ")
	for screen, want := range map[string]bool{idle: false,
		strings.Replace(idle, " ? for shortcuts", "⠧ Thinking... (esc to cancel, 3s)", 1): true,
	} {
		if _, live, _ := promptOf("gemini", parseScreen(screen)); (dialog("gemini", live) != "") != want {
			t.Errorf("a dialog, or a turn: %t, want %t:\n%s", !want, want, screen)
		}
	}
	if dialog("codex", parseScreen("Update available! 1.0 -> 1.1")) == "" ||
		dialog("claude", parseScreen("Update available! Run: x")) != "" {
		t.Error("Codex asks whether to update, Claude Code does not")
	}
}

func FuzzParseScreen(f *testing.F) {
	for client, screen := range screens {
		f.Add(client, screen)
	}
	f.Add("claude", "\x1b[2m\x1b]8;;http://x\x1b\\a\x1b[0;38;5m\x1b[\x1b\xff\x0e\n")
	f.Fuzz(func(t *testing.T, client, screen string) {
		lines := parseScreen(screen)
		if got := strings.Count(screen, "\n"); len(lines) > got+1 {
			t.Errorf("%d lines of %d", len(lines), got+1)
		}
		dialog(client, lines)
		promptOf(client, lines)
	})
}

// terminal is a tmux server with its own socket.
type terminal struct {
	*testing.T
	dir, socket, pid string
}

func newTerminal(t *testing.T) *terminal {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil || runtime.GOOS == "windows" {
		t.Skip("tmux is not installed")
	}
	dir, err := os.MkdirTemp("", "wake-tmux")
	if err != nil {
		t.Fatal(err)
	}
	term := &terminal{T: t, dir: dir, socket: filepath.Join(dir, "s")}
	t.Cleanup(func() {
		_ = exec.Command("tmux", "-S", term.socket, "kill-server").Run()
		_ = os.RemoveAll(dir)
	})
	term.tmux("-f", os.DevNull, "new-session", "-d", "-x", "72", "-y", "24", "sleep", "600")
	term.pid = term.ask("", "#{pid}")
	return term
}

func (m *terminal) tmux(args ...string) string {
	m.Helper()
	cmd := exec.Command("tmux", append([]string{"-u", "-S", m.socket}, args...)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		m.Fatalf("tmux %q: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (m *terminal) ask(pane, format string) string {
	m.Helper()
	return m.tmux("display-message", "-p", "-t", pane, format)
}

// client is a program in a pane that imitates a client.
type client struct {
	pane    string
	log     string // the file in which it records its input
	session sessions.Session
}

// open runs the program, under the name name, in a new pane.
func (m *terminal) open(name, kind, prompt string) *client {
	m.Helper()
	self, err := os.Executable()
	if err != nil {
		m.Fatal(err)
	}
	dir, err := os.MkdirTemp(m.dir, "")
	if err != nil {
		m.Fatal(err)
	}
	program, log := filepath.Join(dir, name), filepath.Join(dir, "log")
	if err := os.Symlink(self, program); err != nil {
		m.Fatal(err)
	}
	pane := m.tmux("new-window", "-P", "-F", "#{pane_id}", "-e", "WAKE_CLIENT="+kind, "-e", "WAKE_NAME="+name, "-e",
		"WAKE_PROMPT="+prompt, "-e", "WAKE_LOG="+log,
		program, "-test.run=^TestTmuxClient$", "-test.timeout=120s")
	c := &client{pane: pane, log: log}
	m.until("the client is up", func() bool { return strings.Contains(c.brief(), "ready") })
	c.session = sessions.Session{Room: "lab", Agent: "小克", Client: name, ID: "s1", Tmux: m.socket + "," + m.pid + ",0",
		Pane: pane}
	if runtime.GOOS == "linux" {
		var pid int
		_, _ = fmt.Sscan(m.ask(pane, "#{pane_pid}"), &pid)
		c.session.Process = process.Tree(pid)[0].Key
	}
	m.until("tmux has drawn it", func() bool {
		return strings.Contains(m.tmux("capture-pane", "-p", "-t", pane), "Done")
	})
	return c
}

func (m *terminal) until(what string, ok func() bool) {
	m.Helper()
	for began := time.Now(); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Since(began) > 20*time.Second {
			m.Fatalf("not after 20 s: %s", what)
		}
	}
}

func (c *client) brief() string {
	text, _ := os.ReadFile(c.log)
	return string(text)
}

func (c *client) door() *Tmux {
	l := new(sessions.List)
	l.Put(c.session)
	return &Tmux{Sessions: l, Quiet: time.Nanosecond}
}

// TestTmuxClient is not a test: it is the program that imitates a client.
func TestTmuxClient(t *testing.T) {
	kind := os.Getenv("WAKE_CLIENT")
	if kind == "" {
		t.Skip("only in a pane")
	}
	note := func(text string) {
		f, err := os.OpenFile(os.Getenv("WAKE_LOG"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err == nil {
			fmt.Fprintln(f, text)
			f.Close()
		}
	}
	stty := exec.Command("stty", "raw", "-echo")
	stty.Stdin = os.Stdin
	if out, err := stty.CombinedOutput(); err != nil {
		note(string(out))
		os.Exit(1)
	}
	var text []byte
	dialog := kind == "dialog"
	draw := func() {
		prompt := string(text)
		if prompt == "" {
			prompt = os.Getenv("WAKE_PROMPT")
		}
		screen := strings.Replace(screens[os.Getenv("WAKE_NAME")], "PROMPT", prompt, 1)
		if dialog {
			screen = "Done?\n\n Bash(rm -rf /)\n Do you want to proceed?\n ❯ 1. Yes\n   2. No"
		}
		os.Stdout.WriteString("\x1b[2J\x1b[H\x1b[?2004h" + strings.ReplaceAll(screen, "\n", "\r\n"))
	}
	draw()
	note("ready")
	var pasted time.Time
	pasting := false
	for buf := make([]byte, 4096); ; {
		n, err := os.Stdin.Read(buf)
		if err != nil {
			os.Exit(0)
		}
		for in := buf[:n]; len(in) > 0; {
			switch {
			case bytes.HasPrefix(in, []byte("\x1b[200~")):
				in, pasting = in[6:], true
				continue
			case bytes.HasPrefix(in, []byte("\x1b[201~")):
				in, pasting, pasted = in[6:], false, time.Now()
				dialog = dialog || kind == "interrupted"
				continue
			case in[0] == '\r' && dialog:
				note("approved")
			case in[0] == '\r' && kind == "stuck":
			case in[0] == '\r' && time.Since(pasted) < 120*time.Millisecond:
				text = append(text, '\n')
			case in[0] == '\r':
				note("sent " + string(text))
				text = nil
			case !pasting:
				note("key " + string(in[:1]))
				fallthrough
			default:
				text = append(text, in[0])
			}
			in = in[1:]
		}
		if kind == "slow" {
			time.Sleep(2 * time.Second)
		}
		draw()
	}
}

func TestTmux(t *testing.T) {
	t.Parallel()
	m := newTerminal(t)
	r := testRing()
	for name, placeholder := range map[string]string{"claude": claudePlaceholder, "codex": codexPlaceholder} {
		c := m.open(name, "prompt", placeholder)
		d := c.door()
		d.Quiet = 2 * time.Second // our own typing must not count
		m.until("nobody has typed for a while", func() bool {
			var at int64
			_, err := fmt.Sscan(m.ask(c.pane, "#{session_activity}"), &at)
			return err == nil && time.Since(time.Unix(at, 0)) > d.Quiet
		})
		if err := d.Ring(t.Context(), r); err != nil {
			t.Errorf("%s: Ring = %v\n%s", name, err, m.tmux("capture-pane", "-p", "-t", c.pane))
		}
		if got, want := c.brief(), "ready\nsent "+r.Pointer()+"\n"; got != want {
			t.Errorf("%s was told %q, want %q", name, got, want)
		}
	}
	if buffers := m.tmux("list-buffers"); buffers != "" {
		t.Errorf("buffers are left: %s", buffers)
	}
}

// refused fails unless a ring is refused, nothing was sent or approved, and, if untouched, nothing was typed.
func (m *terminal) refused(what, want string, c *client, untouched bool) {
	m.Helper()
	err := c.door().Ring(m.Context(), testRing())
	if err == nil || !strings.Contains(err.Error(), want) {
		m.Errorf("%s: Ring = %v, want %q", what, err, want)
	}
	if errors.Is(err, wake.ErrOff) {
		m.Errorf("%s: the door is off", what)
	}
	if got := c.brief(); got != "ready\n" {
		m.Errorf("%s: the client was told %q", what, got)
	}
	if screen := m.tmux("capture-pane", "-p", "-J", "-t", c.pane); untouched && strings.Contains(screen, "Pennypost") {
		m.Errorf("%s: it was typed:\n%s", what, screen)
	}
}

func TestTmuxRefuses(t *testing.T) {
	t.Parallel()
	m := newTerminal(t)
	m.refused("dialog", `the screen shows "do you want to proceed"`, m.open("claude", "dialog", ""), true)
	m.refused("half typed", "not empty", m.open("claude", "prompt", "fix the"), true)
	m.refused("another client", "no prompt of cursor", func() *client {
		c := m.open("claude", "prompt", "")
		c.session.Client = "cursor"
		return c
	}(), true)
	m.refused("a dialog that opens meanwhile", "typed but not sent: the screen shows",
		m.open("claude", "interrupted", ""), false)

	c := m.open("claude", "prompt", "")
	m.tmux("copy-mode", "-t", c.pane)
	m.refused("copy mode", "copy mode", c, true)
	m.tmux("send-keys", "-t", c.pane, "-X", "cancel")
	m.tmux("select-pane", "-d", "-t", c.pane)
	m.refused("no input", "accepts no input", c, true)
	m.tmux("select-pane", "-e", "-t", c.pane)

	d := c.door()
	d.Quiet = time.Hour
	if err := d.Ring(t.Context(), testRing()); err == nil || !strings.Contains(err.Error(), "keyboard") {
		t.Errorf("with somebody at the keyboard: Ring = %v", err)
	}
	elsewhere := "" // a program that runs in another pane
	if pid, err := strconv.Atoi(m.tmux("new-window", "-d", "-P", "-F", "#{pane_pid}", "sleep 60")); err == nil &&
		runtime.GOOS == "linux" {
		elsewhere = process.Tree(pid)[0].Key
	}
	for what, change := range map[string]struct {
		want string
		with func(s *sessions.Session)
	}{
		"no pane":      {"no tmux pane", func(s *sessions.Session) { s.Tmux = "" }},
		"a name":       {"no tmux pane", func(s *sessions.Session) { s.Pane = "0" }},
		"gone":         {"", func(s *sessions.Session) { s.Pane = "%4242" }},
		"a new server": {"restarted", func(s *sessions.Session) { s.Tmux = m.socket + ",1,0" }},
		"no server": {"tmux display-message: exit status 1", func(s *sessions.Session) {
			s.Tmux = m.socket + "x," + m.pid + ",0"
		}},
		"a shared server": {"that several terminals share", func(s *sessions.Session) { s.Process = apart(t) }},
		"another client": {"another program (claude)",
			func(s *sessions.Session) { s.Process, s.Client = "", "codex" }},
		"another's pane": {"another program (claude)", func(s *sessions.Session) { s.Process = elsewhere }},
	} {
		if (what == "another's pane" || what == "a shared server") && runtime.GOOS != "linux" {
			continue
		}
		other := *c
		change.with(&other.session)
		m.refused(what, change.want, &other, true)
	}

	// A shell is never typed into, even if the client runs or ran in it. The user's shell, which tmux starts first,
	// has been replaced once it prints.
	shell := m.tmux("new-window", "-P", "-F", "#{pane_id}", "sh -c 'echo here; exec sh'")
	other := *c
	other.session.Pane, other.session.Process = shell, ""
	m.until("the shell runs", func() bool {
		return strings.HasPrefix(m.tmux("capture-pane", "-p", "-t", shell), "here")
	})
	m.refused("a shell", "a shell (sh)", &other, true)
	if screen := m.tmux("capture-pane", "-p", "-t", shell); strings.Contains(screen, "ennypost") {
		t.Errorf("the shell was typed into: %s", screen)
	}
	m.tmux("set-option", "-w", "-t", c.pane, "remain-on-exit", "on")
	other = *c
	other.session.Process = ""
	m.tmux("respawn-pane", "-k", "-t", c.pane, "true")
	m.until("it has ended", func() bool { return m.ask(c.pane, "#{pane_dead}") == "1" })
	m.refused("dead", "has ended", &other, true)
}

// apart returns a program without a terminal, such as Codex's app-server.
func apart(t *testing.T) string {
	t.Helper()
	cmd := exec.Command("setsid", "sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	for deadline := time.Now().Add(time.Minute); !hasNoTerminal(cmd.Process.Pid) && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	name := process.Tree(cmd.Process.Pid)[0].Key
	l := new(sessions.List)
	l.Put(sessions.Session{Room: "lab", Agent: "x", Pane: "%1", Process: name})
	if leadsFor(l, &Tmux{}, "lab", "x") {
		t.Error("keystrokes are promised to a program without a terminal")
	}
	return name
}

// Text that Enter did not send is not typed again: the same ring presses Enter once more, another one leaves it alone.
func TestTmuxStuck(t *testing.T) {
	if testing.Short() {
		t.Skip("takes ten seconds: ./test")
	}
	t.Parallel()
	m := newTerminal(t)
	c := m.open("claude", "stuck", "")
	d, r := c.door(), testRing()
	for range 2 {
		if err := d.Ring(t.Context(), r); err == nil || !strings.Contains(err.Error(), "Enter did not send it") {
			t.Errorf("Ring = %v", err)
		}
	}
	if screen := m.tmux("capture-pane", "-p", "-J", "-t", c.pane); strings.Count(screen, "[Pennypost]") != 1 {
		t.Errorf("it was typed twice, or not:\n%s", screen)
	}
	r.ID = "ring_2"
	if err := d.Ring(t.Context(), r); err == nil || !strings.Contains(err.Error(), "not empty") {
		t.Errorf("another ring: Ring = %v", err)
	}
}

// A slow client is given time to draw typed text: typing again would duplicate it.
func TestTmuxSlow(t *testing.T) {
	t.Parallel()
	m := newTerminal(t)
	c := m.open("claude", "slow", "")
	d, r := c.door(), testRing()
	if err := d.Ring(t.Context(), r); err != nil {
		t.Errorf("Ring = %v", err)
	}
	if got, want := c.brief(), "ready\nsent "+r.Pointer()+"\n"; got != want {
		t.Errorf("the client was told %q, want %q", got, want)
	}
}

func TestTmuxMissing(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the door is off there")
	}
	s := testSession()
	var l sessions.List
	l.Put(s)
	d := &Tmux{Sessions: &l, Binary: "no-such-tmux"}
	if err := d.Ring(t.Context(), testRing()); err == nil || err.Error() != "tmux is not installed" {
		t.Errorf("Ring = %v", err)
	}
}
