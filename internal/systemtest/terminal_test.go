package systemtest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"pennypost/internal/mail"
)

// terminal is a window of its own tmux, in which pennypost runs.
type terminal struct {
	t      *testing.T
	office *office
}

// openTerminal runs a command in a window of 80 columns and 24 lines, to which a person is attached.
func openTerminal(t *testing.T, o *office, command ...string) *terminal {
	t.Helper()
	return openSized(t, o, 80, 24, command...)
}

// openSized is openTerminal in a window of another size.
func openSized(t *testing.T, o *office, width, height int, command ...string) *terminal {
	t.Helper()
	w := &terminal{t, o}
	eventually(t, "tmux begins", func() bool { // the previous tmux may still be ending
		return w.command("new-session", "-d", "-s", "w", "sleep", "600").Run() == nil
	})
	t.Cleanup(func() { _ = w.command("kill-server").Run() }) // it may have ended by itself
	w.attach()
	w.tmux("resize-window", "-t", "w", "-x", strconv.Itoa(width), "-y", strconv.Itoa(height))
	w.tmux(append([]string{"respawn-pane", "-k", "-t", "w", "-c", o.dir}, command...)...)
	return w
}

// attach shows the window to the person, whose own may have another size.
func (w *terminal) attach() {
	w.t.Helper()
	cmd, err := seat.Window(w.command("attach-session", "-t", "w", "-f", "ignore-size,read-only").Args...)
	if err != nil {
		w.t.Fatal(err)
	}
	if cmd == nil {
		return
	}
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	eventually(w.t, "the person is attached", func() bool { return w.tmux("list-clients") != "" })
}

func (w *terminal) command(args ...string) *exec.Cmd {
	// It is not killed with a context, which would also end the server that it starts.
	cmd := exec.Command("tmux", append([]string{"-u", "-S", filepath.Join(w.office.root, "tmux"), "-f", "/dev/null"},
		args...)...)
	cmd.Env = w.office.environ("LC_ALL=C.UTF-8", "TERM=xterm-256color", "SHELL=/bin/sh")
	return cmd
}

func (w *terminal) tmux(args ...string) string {
	w.t.Helper()
	out, err := w.command(args...).CombinedOutput()
	if err != nil {
		w.t.Fatalf("tmux %q: %v: %s", args, err, out)
	}
	return string(out)
}

// screen is the visible text, "" when the window has ended.
func (w *terminal) screen() string {
	out, _ := w.command("capture-pane", "-p", "-t", "w").Output()
	return string(out)
}

func (w *terminal) press(keys ...string) *terminal {
	w.t.Helper()
	w.tmux(append([]string{"send-keys", "-t", "w"}, keys...)...)
	return w
}

// sees waits until all of some texts are visible, and returns the screen.
func (w *terminal) sees(texts ...string) string {
	w.t.Helper()
	screen := ""
	defer func() {
		if w.t.Failed() {
			w.t.Log("\n" + screen)
		}
	}()
	eventually(w.t, "on the screen: "+strings.Join(texts, ", "), func() bool {
		screen = w.screen()
		for _, text := range texts {
			if !strings.Contains(screen, text) {
				return false
			}
		}
		return true
	})
	return screen
}

// gone waits until a text is no longer visible.
func (w *terminal) gone(text string) {
	w.t.Helper()
	eventually(w.t, "no longer on the screen: "+text, func() bool { return !strings.Contains(w.screen(), text) })
}

// ended waits until the program has ended by itself.
func (w *terminal) ended() {
	w.t.Helper()
	eventually(w.t, "the program ends, and with it tmux", func() bool {
		says, err := w.command("has-session", "-t", "w").CombinedOutput()
		return err != nil && !strings.Contains(string(says), "can't find") // a server that is still ending says that
	})
}

// pid is the process that runs in the window.
func (w *terminal) pid() int {
	w.t.Helper()
	pid, err := strconv.Atoi(strings.TrimSpace(w.tmux("display-message", "-p", "-t", "w", "#{pane_pid}")))
	if err != nil {
		w.t.Fatal(err)
	}
	return pid
}

// terminalPage has the screens that the test compares.
const terminalPage = "../../docs/terminal.md"

var (
	// agesOf are the times that differ from run to run.
	agesOf   = regexp.MustCompile(` +(?:now|\d+ min)( |$)`)
	clockOf  = regexp.MustCompile(`\b\d\d:\d\d\b`)
	dialogOf = regexp.MustCompile(`\bd-[a-z0-9]{10}\b`)
	// emptyLines are shown as one.
	emptyLines = regexp.MustCompile(`\n{3,}`)
)

// settles is how long a screen may take to match the documentation.
const settles = 10 * time.Second

// pictured compares the screen with the one of that name in the documentation, or, with PENNYPOST_UPDATE_SCREENS set,
// writes it there.
func (w *terminal) pictured(name string, texts ...string) {
	w.t.Helper()
	page, err := os.ReadFile(terminalPage)
	if err != nil {
		w.t.Fatal(err)
	}
	begin, end := []byte("<!-- screen "+name+" -->\n```text\n"), []byte("\n```\n")
	before, rest, ok := bytes.Cut(page, begin)
	want, after, closed := bytes.Cut(rest, end)
	if !ok || !closed {
		w.t.Fatalf("%s has no screen %q", terminalPage, name)
	}
	got := picture(w.sees(texts...))
	for deadline := time.Now().Add(settles); got != string(want); got = picture(w.screen()) {
		if time.Now().Before(deadline) {
			time.Sleep(20 * time.Millisecond)
			continue
		}
		if os.Getenv("PENNYPOST_UPDATE_SCREENS") == "" {
			w.t.Errorf("the screen %q is not that of %s; PENNYPOST_UPDATE_SCREENS=1 writes it there:\n%s", name,
				terminalPage, got)
			return
		}
		page = bytes.Join([][]byte{before, begin, []byte(got), end, after}, nil)
		if err := os.WriteFile(terminalPage, page, 0o644); err != nil {
			w.t.Fatal(err)
		}
		return
	}
}

// picture is a screen as in the documentation, without the parts that differ from run to run.
func picture(screen string) string {
	var lines []string
	for l := range strings.Lines(screen) {
		l = agesOf.ReplaceAllStringFunc(strings.TrimRight(l, " \n"), func(s string) string {
			tail := s[len(strings.TrimRight(s, " ")):]
			return strings.Repeat(" ", max(1, len(s)-len(tail)-len("now"))) + "now" + tail
		})
		lines = append(lines, dialogOf.ReplaceAllString(clockOf.ReplaceAllString(l, "14:02"), "d-k3x9p0qm1z"))
	}
	return emptyLines.ReplaceAllString(strings.TrimRight(strings.Join(lines, "\n"), "\n"), "\n\n")
}

// newDesk is a post office with mail for a person in two rooms, and an editor that writes one answer.
func newDesk(t *testing.T) *office {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("tmux is not installed")
	}
	o := newOffice(t)
	editor := filepath.Join(o.root, "editor")
	script := "#!/bin/sh\ngrep -q 'Is the flag' \"$1\" || exit 1\necho 'Keep it for **one** release.' > \"$1\"\n"
	if err := os.WriteFile(editor, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	o.env = append(o.env, "EDITOR="+editor)
	o.must(t, "agents", "register", "builder-1", "--room", "lab", "--task", "the parser", "--state", "working")
	o.must(t, "agents", "register", "reviewer", "--room", "lab", "--role", "reviewer", "--state", "idle")
	o.must(t, "agents", "register", "docs", "--room", "web", "--state", "idle")
	for _, m := range [][]string{
		{"lab", "builder-1", "question", "Which port may the tests use?",
			"The tests bind a port. On *this* machine:\n\n" +
				"- 8080 is free\n- **9090** is what CI uses",
			`{"options":["8080",{"label":"9090","description":"as in CI"}]}`},
		{"web", "docs", "question", "Is the old flag still needed?",
			"Is the flag `--fast` still needed? Nobody uses it.", "{}"},
		{"lab", "reviewer", "task-done", "Review of the parser", "# Reviewed\n\nNothing to change.", "{}"},
		{"lab", "builder-1", "status", "", "Half of the rules are in.", "{}"},
		{"web", "docs", "status", "", "The pages build.", "{}"},
	} {
		o.must(t, "send", "--room", m[0], "--as", m[1], "--to", "user", "--type", m[2], "--subject", m[3], "--body",
			m[4],
			"--metadata", m[5])
	}
	return o
}

// answers returns the bodies of the person's messages in a room.
func (o *office) answers(t *testing.T, room string) []string {
	t.Helper()
	var out []string
	for l := range strings.Lines(o.must(t, "history", "--room", room, "--from", "user", "--json")) {
		for _, it := range decode[mail.Page](t, l).Messages {
			out = append(out, it.Body)
		}
	}
	return out
}

// TestTerminal uses the full-screen view as a person does, and compares the screens with the documentation.
func TestTerminal(t *testing.T) {
	t.Parallel()
	o := newDesk(t)
	w := openTerminal(t, o, binary)
	w.pictured("focus", "1 of 2", "• 8080 is free", "9090  as in CI")
	w.press("Escape").pictured("needs", "Needs you 2", "Which port", "Is the old flag", "quit")

	w.press("Enter").sees("1 of 2", "9090  as in CI")
	w.press("?")
	w.pictured("keys", "any key back")
	w.press("x", "q").sees("Is the old flag", "quit")

	w.press("2").sees("Answered “9090” to builder-1", "Needs you 1")
	w.press("z").sees("Undone. Nothing was sent.", "Needs you 2")
	w.press("2").sees("Answered “9090” to builder-1")
	if got := o.answers(t, "lab"); len(got) != 0 {
		t.Errorf("sent at once: %q", got)
	}
	eventually(t, "the answer leaves", func() bool { return len(o.answers(t, "lab")) == 1 })

	w.press("r").press("-l", "Perhaps,\tsay").sees("Answer docs", "Perhaps,")
	w.pictured("reply", "^S send")
	w.press("Escape").sees("Kept, not sent.")
	w.press("R").sees("Answered docs", "Nothing needs you.")
	eventually(t, "the answer from the editor leaves", func() bool {
		got := o.answers(t, "web")
		return len(got) == 1 && got[0] == "Keep it for **one** release."
	})

	w.press("Tab").pictured("updates", "Review of the parser", "2 status reports")
	w.press("j", "e").sees("Archived “Review of the parser”")
	w.gone("  Review of the parser")
	o.must(t, "send", "--room", "lab", "--as", "reviewer", "--to", "user", "--type", "task-done", "--subject",
		"It is merged",
		"--body", "At last.")
	w.sees("↑ 1 new")
	w.press("g").sees("It is merged")
	w.press("Tab").pictured("agents", "builder-1", "the parser", "docs", "reviewer")

	w.press("[", "[")
	o.must(t, "send", "--room", "lab", "--as", "builder-1", "--to", "user", "--type", "question", "--subject",
		"May I delete the branch that nobody has touched since May?", "--body", "It is 400 commits behind.",
		"--metadata", `{"options":["Delete it","Keep it"]}`)
	w.sees("May I delete the branch")
	w.tmux("resize-window", "-t", "w", "-x", "40", "-y", "16")
	w.pictured("narrow", "May I delete", "1 Delete it", "enter open")
	w.press("q")
	w.ended()
}

// TestTerminalDialog answers the question of a client whose hook waits for the answer.
func TestTerminalDialog(t *testing.T) {
	o := newDesk(t)
	hook := func(event, more string) result {
		cmd := exec.Command(binary, "hook", "claude", event, "--as", "builder-1", "--room", "lab")
		cmd.Dir, cmd.Env = o.dir, o.environ()
		return finishWith(cmd, strings.NewReader(`{"session_id":"s1","cwd":"/src/lab","hook_event_name":"`+event+`"`+
			more+`}`))
	}
	ask := func(command string) chan result {
		said := make(chan result, 1)
		go func() {
			said <- hook("PermissionRequest", `,"tool_name":"Bash","tool_input":{"command":"`+command+
				`","description":"Update the branch"}`)
		}()
		return said
	}
	hook("SessionStart", `,"source":"startup"`)
	w := openTerminal(t, o, binary)
	w.sees("Needs you 2", "1 of 2")
	w.press("Escape").sees("q quit")
	said := ask("git push --force origin main")
	w.sees("Needs you 3", "May builder-1 run this command?", "git push --force origin main")
	w.press("g", "Enter").pictured("dialog", "Update the branch", "1  Allow once", "2  Deny")
	w.press("2").press("-l", "Open a pull request.").sees("Deny, and say why: Open a pull request.")
	w.press("Enter").sees("Answered “Deny, and say why” to builder-1", "Needs you 2")
	if r := <-said; !strings.Contains(r.stdout, `"message":"Open a pull request."`) {
		t.Errorf("the hook says %+v", r)
	}
	w.sees("1 of 2", "Which port") // the next is open
	said = ask("ls")
	w.sees("Needs you 3", "May builder-1", "esc shows it")
	w.press("Escape").sees("q quit")
	w.press("g", "Enter").sees("1  Allow once")
	hook("PostToolUse", `,"tool_name":"Bash","tool_input":{"command":"ls","description":"Update the branch"}`)
	w.sees("This dialog has closed", "Needs you 2")
	if r := <-said; strings.Contains(r.stdout, "allow") {
		t.Errorf("the hook of what was answered at the client says %+v", r)
	}
	w.press("q")
	w.ended()
}

// TestTerminalOutlivesThePostOffice kills the post office under the view.
func TestTerminalOutlivesThePostOffice(t *testing.T) {
	o := newDesk(t)
	o.must(t, "stop")
	o.env = append(o.env, "PENNYPOST_AUTOSTART=0")
	d := o.mustServe(t)
	w := openTerminal(t, o, binary)
	w.sees("1 of 2", "Which port", "Agents 3", "Waiting 2")
	d.kill()
	w.sees("Post office offline since", "Which port", "1  8080") // readable mail stays
	w.press("Escape").sees("q quit")
	w.pictured("away", "offline since", "Which port")
	w.press("1").sees("Answered “8080”")
	w.sees("Not sent, but kept", "Which port")
	o.mustServe(t)
	w.gone("offline since")
	o.must(t, "send", "--room", "lab", "--as", "builder-1", "--to", "user", "--type", "question", "--subject",
		"And now?",
		"--body", "Well?")
	w.sees("And now?")
	w.press("1").sees("Answered “8080”")
	w.press("q")
	w.ended()
	if got := o.answers(t, "lab"); len(got) != 1 || got[0] != "8080" {
		t.Errorf("answers: %q", got)
	}
}

// TestServeOnATerminal: a person who starts the post office by hand gets a link that logs the browser in.
func TestServeOnATerminal(t *testing.T) {
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("tmux is not installed")
	}
	w := openTerminal(t, newOffice(t), binary, "serve", "--listen", "127.0.0.1:0")
	w.sees("The post office is open", "/login?key=")
}

// TestTerminalIsClosed closes the terminal on an answer that has not been sent yet.
func TestTerminalIsClosed(t *testing.T) {
	o := newDesk(t)
	w := openTerminal(t, o, binary)
	w.sees("1 of 2", "9090  as in CI") // the question, and not a row of the list
	w.press("1").sees("Answered “8080”")
	w.tmux("kill-server") // the view's shell may end before it
	eventually(t, "the answer has been sent", func() bool { return len(o.answers(t, "lab")) == 1 })
}

// TestTerminalSuspends stops the view as ^Z does, from a shell, and brings it back.
func TestTerminalSuspends(t *testing.T) {
	o := newDesk(t)
	w := openTerminal(t, o, "sh", "-i")
	w.press("-l", "exec 2>&1; PS1='shell> '; "+binary).press("Enter").sees("Which port", "1 of 2")
	w.press("C-z").sees("shell>")
	w.press("-l", "fg").press("Enter").sees("Which port", "Needs you 2")
	w.press("Escape").sees("q quit")
	w.press("q").sees("shell>")
	w.press("-l", "exec "+binary).press("Enter").sees("1 of 2")
	w.press("Escape").sees("q quit")
	w.press("C-z") // no shell would continue it, so it does not stop
	eventually(t, "the view takes keys again", func() bool {
		return strings.Contains(w.press("j").screen(), "▌ ? Is the old flag")
	})
}

// TestTerminalIdles holds that an idle view takes no processor time.
func TestTerminalIdles(t *testing.T) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("the system does not say what a process has used")
	}
	o := newDesk(t)
	w := openTerminal(t, o, binary)
	w.sees("1 of 2")
	w.press("Escape", "j", "k")
	pid := w.pid()
	settled := -1
	eventually(t, "the view comes to rest", func() bool {
		before := settled
		settled = ticks(t, pid)
		return settled == before
	})
	<-time.After(3 * time.Second)
	if used := ticks(t, pid) - settled; used > 1 {
		t.Errorf("in three idle seconds the view used %d hundredths of a second", used)
	}
}

// ticks is how much processor time a process has used, in hundredths of a second.
func ticks(t *testing.T, pid int) int {
	t.Helper()
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return user + system
}

// TestTerminalOfNoPerson holds that a screen to which no person is attached is refused with the reason, and not shown
// as if the post office were offline.
func TestTerminalOfNoPerson(t *testing.T) {
	t.Parallel()
	w := &terminal{t, newDesk(t)}
	w.tmux("new-session", "-d", "-s", "w", "-x", "80", "-y", "24", binary+"; sleep 600")
	t.Cleanup(func() { _ = w.command("kill-server").Run() })
	w.sees("this process may not be yours")
}

// TestWithoutTerminal holds the output where no screen can be drawn.
func TestWithoutTerminal(t *testing.T) {
	o := newDesk(t)
	got := agesOf.ReplaceAllString(o.must(t), "  now$1")
	want := `?  builder-1 (lab)  now  Which port may the tests use?   1 8080 · 2 9090
?  docs (web)  now  Is the old flag still needed?
2 in all. 3 unread updates. On a terminal pennypost shows them; here: pennypost inbox --all-rooms
`
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if desk := decode[mail.Desk](t, o.must(t, "--json")); desk.Waiting != 2 {
		t.Errorf("--json: %+v", desk)
	}
	if got := o.must(t, "--room", "web"); strings.Contains(got, "Which port") ||
		!strings.Contains(got, "Is the old flag") {
		t.Errorf("of one room:\n%s", got)
	}
	if r := o.runWith("", []string{"PENNYPOST_AGENT=builder-1"}); r.code != 0 ||
		!strings.Contains(r.stdout, "SYNOPSIS") {
		t.Errorf("an agent is shown %d %s%s", r.code, r.stdout, r.stderr)
	}
	if r := o.runWith("", []string{"PENNYPOST_AGENT=builder-1"}, "desk"); r.code != 5 {
		t.Errorf("an agent that asks for the view: %d %s%s", r.code, r.stdout, r.stderr)
	}
}
