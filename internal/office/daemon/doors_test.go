package daemon

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"pennypost/internal/config"
	"pennypost/internal/mail"
)

// desk is a post office with an agent whose session reports its state, and the person who writes to it.
type desk struct {
	*testing.T
	*running
	asked mail.ID // the last message sent by ask
}

// session starts an agent's session and ends its turn, so that it is idle.
func (d *desk) session(agent mail.Name, t mail.Turn) {
	d.Helper()
	for _, t.Moment = range []mail.Moment{mail.SessionStart, mail.TurnStart, mail.TurnEnd} {
		d.turn(agent, t)
	}
}

func (d *desk) turn(agent mail.Name, t mail.Turn) {
	d.Helper()
	if _, err := d.room(d.T, "a", agent).Turn(d.Context(), t); err != nil {
		d.Fatal(err)
	}
}

// ask sends a question and returns how the post office says it will wake the recipient.
func (d *desk) ask(agent mail.Name, body string) string {
	d.Helper()
	sent, err := d.room(d.T, "a", mail.User).Send(d.Context(),
		mail.Draft{To: []string{string(agent)}, Type: string(mail.Question), Body: body})
	if err != nil {
		d.Fatal(err)
	}
	d.asked = sent.ID
	return sent.Recipients[0].Wake
}

// rung waits until a door was rung for the last message of ask.
func (d *desk) rung(door string) {
	d.Helper()
	eventually(d.T, "it is rung by "+door, func() bool {
		it, err := d.room(d.T, "a", mail.User).Message(d.Context(), d.asked)
		return err == nil && it.Deliveries[0].State == mail.Notified && it.Deliveries[0].Door == door
	})
}

// TestPane is not a test: it runs in a tmux pane in place of Claude Code. It shows an empty prompt and notes each
// line that is entered.
func TestPane(t *testing.T) {
	file := os.Getenv("DAEMON_TEST_PANE")
	if file == "" {
		t.Skip("only in a pane")
	}
	for buf := make([]byte, 4096); ; {
		rule := strings.Repeat("─", 60)
		fmt.Print("\x1b[2J\x1b[H● Done.\r\n\r\n" + rule + "\r\n❯ \r\n" + rule + "\x1b[4;3H")
		n, err := os.Stdin.Read(buf)
		if err != nil {
			os.Exit(0)
		}
		f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			os.Exit(1)
		}
		_, _ = f.Write(buf[:n])
		_ = f.Close()
	}
}

// pane runs TestPane in its own tmux server, and returns the access that a hook in it would report, and the file
// with the lines that were typed.
func pane(t *testing.T) (access *mail.Access, file string) {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil || runtime.GOOS == "windows" {
		t.Skip("tmux is not installed")
	}
	dir, err := os.MkdirTemp("", "pp-tmux")
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	socket, program := filepath.Join(dir, "s"), filepath.Join(dir, "claude")
	if err := os.Symlink(self, program); err != nil {
		t.Fatal(err)
	}
	tmux := func(args ...string) string {
		out, err := exec.Command("tmux", append([]string{"-u", "-S", socket}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("tmux %q: %v: %s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	t.Cleanup(func() {
		_ = exec.Command("tmux", "-S", socket, "kill-server").Run()
		_ = os.RemoveAll(dir)
	})
	file = filepath.Join(dir, "told")
	tmux("-f", os.DevNull, "new-session", "-d", "-x", "200", "-y", "24", "-e", "DAEMON_TEST_PANE="+file, program,
		"-test.run=^TestPane$", "-test.timeout=120s")
	eventually(t, "the pane shows a prompt", func() bool { return strings.Contains(tmux("capture-pane", "-p"), "❯") })
	eventually(t, "nobody has typed for a while", func() bool { // the door also waits for that, but longer
		var at int64
		_, err := fmt.Sscan(tmux("display-message", "-p", "#{session_activity}"), &at)
		return err == nil && time.Since(time.Unix(at, 0)) > 3100*time.Millisecond
	})
	return &mail.Access{Tmux: socket + "," + tmux("display-message", "-p", "#{pid}") + ",0",
		Pane: tmux("display-message", "-p", "#{pane_id}")}, file
}

// A session is typed to only if the configuration says so, if nothing else works, and if it reported its pane.
func TestTmuxDoor(t *testing.T) {
	if testing.Short() {
		t.Skip("a terminal: ./test")
	}
	access, file := pane(t)
	cfg := testConfig(t)
	cfg.Room.Wake = map[string]config.Wake{"bob": {Tmux: true}, "role:builder": {Exec: []string{"/no/such/command"},
		Tmux: true}}
	d := &desk{T: t, running: start(t, Options{Config: cfg})}
	for _, agent := range []mail.Name{"ann", "bob", "eve"} {
		d.session(agent, mail.Turn{Session: "s-" + string(agent), Client: "claude", Access: access})
	}
	if w := d.ask("ann", "for whom nothing is turned on"); w != mail.WakeNoDoor {
		t.Errorf("ann is woken by %q", w)
	}
	if w := d.ask("bob", "SECRET BODY"); w != "tmux" {
		t.Errorf("bob is woken by %q, want tmux", w)
	}
	d.rung("tmux")
	brief, err := os.ReadFile(file)
	if text := string(brief); err != nil || strings.Count(text, "\n") != 1 ||
		!strings.Contains(text, "1 unread in room a") || strings.Contains(text, "SECRET") {
		t.Errorf("the pane was told %q, %v", brief, err)
	}
	if _, err := d.room(t, "a", "eve").Register(t.Context(),
		mail.Presence{Name: "eve", Session: "s-eve", Roles: []string{"builder"}}); err != nil {
		t.Fatal(err)
	}
	if w := d.ask("eve", "for whom other doors come first"); w != "exec" {
		t.Errorf("eve is woken by %q, want exec", w)
	}
	d.rung("tmux")

	d.turn("bob", mail.Turn{Moment: mail.SessionEnd, Session: "s-bob", Client: "claude"})
	if w := d.ask("bob", "who has no pane any more"); w == "tmux" {
		t.Error("an agent without a session is to be typed to")
	}
}

// An agent in opencode is prompted by its server.
func TestOpenCodeDoor(t *testing.T) {
	prompts := make(chan string, 10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, password, _ := r.BasicAuth(); password != "hunter2" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		switch r.Method + " " + r.URL.Path {
		case "GET /session":
			_, _ = io.WriteString(w,
				`[{"id":"ses_old","time":{"updated":1}},{"id":"ses_new","directory":"/src","time":{"updated":2}}]`)
		case "POST /session/ses_new/prompt_async":
			text, _ := io.ReadAll(r.Body)
			prompts <- r.URL.Query().Get("directory") + " " + string(text)
			w.WriteHeader(http.StatusNoContent)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	defer server.Close()
	cfg := testConfig(t)
	cfg.Room.Wake = map[string]config.Wake{"bob": {OpenCode: server.URL, Password: "hunter2"}}
	d := &desk{T: t, running: start(t, Options{Config: cfg})}
	d.register(t, "a", "bob")
	if w := d.ask("bob", "SECRET BODY"); w != "opencode" {
		t.Errorf("bob is woken by %q, want opencode", w)
	}
	d.rung("opencode")
	if text := <-prompts; !strings.HasPrefix(text, "/src ") || !strings.Contains(text, "1 unread in room a") ||
		strings.Contains(text, "SECRET") {
		t.Errorf("opencode was told %s", text)
	}
}

// A session that bypasses permission prompts is not written to, so the next door is tried; unless its user allows
// such messages.
func TestBypassSession(t *testing.T) {
	home := t.TempDir()
	t.Setenv("CLAUDE_CONFIG_DIR", home)
	path, lines := inbox(t)
	cfg := testConfig(t)
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNoContent)
	}))
	defer hook.Close()
	cfg.Room.Wake = map[string]config.Wake{"bob": {Webhook: hook.URL, Secret: []byte("a secret of twenty-four b")}}
	d := &desk{T: t, running: start(t, Options{Config: cfg})}
	d.session("bob", mail.Turn{Session: "s1", Client: "claude",
		Access: &mail.Access{Socket: path, Mode: "bypassPermissions"}})
	d.ask("bob", "x")
	d.rung("webhook")
	if len(lines) > 0 {
		t.Errorf("the socket of a session that would hold it got %s", <-lines)
	}
	if err := os.WriteFile(filepath.Join(home, "settings.json"), []byte(`{"crossSessionInbound":"accept"}`),
		0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := d.room(t, "a", "bob").Mark(t.Context(), mail.Marking{All: true, Mark: mail.MarkRead}); err != nil {
		t.Fatal(err)
	}
	d.turn("bob", mail.Turn{Moment: mail.TurnEnd, Session: "s1", Client: "claude",
		Access: &mail.Access{Mode: "bypassPermissions"}})
	d.ask("bob", "y")
	d.rung("claude-socket")
	if text := <-lines; !strings.Contains(text, "1 unread in room a") || strings.Contains(text, "from-mode") {
		t.Errorf("the socket got %s", text)
	}
}

// A session is resumed only once its program has ended.
func TestResumesTheDead(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the name of a program is spelled as on Linux")
	}
	program := exec.Command("sleep", "600")
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	end := func() { _ = program.Process.Kill(); _ = program.Wait() }
	defer end()
	dir := t.TempDir()
	cfg := testConfig(t)
	cfg.Room.Wake = map[string]config.Wake{"bob": {Exec: []string{"sh", "-c", `echo "$0 $PENNYPOST_AGENT" > resumed`,
		"{session}"}, When: config.WhenGone}}
	d := &desk{T: t, running: start(t, Options{Config: cfg})}
	turn := mail.Turn{Session: "s1", Client: "claude", Process: processName(t, program.Process.Pid),
		Access: &mail.Access{Dir: dir}}
	failed := func() int64 {
		_, body := d.get(t, "/metrics", d.token)
		_, rest, _ := strings.Cut(body, "\npennypost_failed_rings_total ")
		var n int64
		_, _ = fmt.Sscan(rest, &n)
		return n
	}
	d.session("bob", turn)
	d.ask("bob", "while it lives")
	eventually(t, "a ring has failed", func() bool { return failed() > 0 })
	turn.Moment = mail.SessionEnd
	d.turn("bob", turn)
	before := failed()
	d.ask("bob", "while its program ends")
	eventually(t, "another ring has failed", func() bool { return failed() > before })
	if _, err := os.Stat(filepath.Join(dir, "resumed")); err == nil {
		t.Fatal("a session was resumed while its program ran")
	}
	end()
	d.rung("exec")
	if text, err := os.ReadFile(filepath.Join(dir, "resumed")); err != nil || string(text) != "s1 bob\n" {
		t.Errorf("resumed %q, %v", text, err)
	}
}

// processName identifies a program as package process does.
func processName(t *testing.T, pid int) string {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		t.Fatal(err)
	}
	id, _, _ := strings.Cut(string(boot), "-")
	return fmt.Sprintf("%d.%s@%s", pid, bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])[19], id)
}
