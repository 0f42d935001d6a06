package realclient

import (
	"context"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// terminal is a tmux window in which a client runs.
type terminal struct {
	l *lab
	n int
}

// tui opens a terminal with an interactive session of the client, and waits until it takes a prompt.
func (l *lab) tui(args ...string) *terminal {
	l.t.Helper()
	t := l.open(append([]string{l.version.program}, append(l.client.tui, args...)...)...)
	t.waitReady()
	return t
}

// waitReady waits until the client takes a prompt.
func (t *terminal) waitReady() {
	t.l.t.Helper()
	t.l.until(t.l.client.title+" is ready", func() bool { return t.l.client.ready.MatchString(t.screen()) })
}

// open opens a terminal in which a command runs.
func (l *lab) open(command ...string) *terminal {
	l.t.Helper()
	return l.openIn(l.project, command...)
}

// openIn opens a terminal in a directory.
func (l *lab) openIn(dir string, command ...string) *terminal {
	l.t.Helper()
	l.windows++
	t := &terminal{l, l.windows}
	args := []string{"new-session", "-d", "-s", t.name(), "-x", "150", "-y", "50", "-c", dir}
	l.until("tmux has a window", func() bool { // a server whose last window was closed may be about to end
		out, err := l.tmux(append(args, command...)...).CombinedOutput()
		if err != nil && !strings.Contains(string(out), "server exited") {
			l.t.Fatalf("tmux: %v: %s", err, out)
		}
		return err == nil
	})
	return t
}

// tmux returns a command of the lab's own tmux.
func (l *lab) tmux(args ...string) *exec.Cmd {
	// It is not killed with a context, which would end the server that it starts.
	return l.command(context.Background(), "tmux",
		append([]string{"-S", filepath.Join(l.dir, "t"), "-f", "/dev/null"}, args...)...)
}

func (t *terminal) name() string { return "s" + strconv.Itoa(t.n) }

// screen returns the screen's text, without empty lines.
func (t *terminal) screen() string {
	out, _ := t.l.tmux("capture-pane", "-p", "-t", t.name()).Output() // empty for a window that has ended
	var b strings.Builder
	for line := range strings.Lines(string(out)) {
		if strings.TrimSpace(line) != "" {
			b.WriteString(strings.TrimRight(line, " \n") + "\n")
		}
	}
	return b.String()
}

// sees waits until a text is on the screen.
func (t *terminal) sees(text string) {
	t.l.t.Helper()
	t.l.until("on the screen: "+text, func() bool { return strings.Contains(t.screen(), text) })
}

// press presses keys, by tmux's names.
func (t *terminal) press(keys ...string) {
	t.l.t.Helper()
	if out, err := t.l.tmux(append([]string{"send-keys", "-t", t.name()}, keys...)...).CombinedOutput(); err != nil {
		t.l.t.Fatalf("send-keys: %v: %s", err, out)
	}
}

// prompt types a prompt, and sends it once the screen shows it. Gemini CLI takes a fast Enter for a line break.
func (t *terminal) prompt(text string) {
	t.l.t.Helper()
	t.press("-l", text)
	// clients break the lines of a prompt anywhere
	squeeze := func(s string) string { return strings.Join(strings.Fields(strings.ReplaceAll(s, "┃", "")), "") }
	tail := text[max(0, len(text)-8):]
	t.l.until("the prompt is typed", func() bool {
		screen := squeeze(t.screen())
		return strings.Contains(screen, squeeze(text[:min(len(text), 12)])) && strings.Contains(screen, squeeze(tail))
	})
	if c := t.l.client; !c.pastes && !c.swallows {
		t.press("Enter")
		return
	}
	looks := 0
	t.l.until("the prompt is sent", func() bool {
		screen := t.screen()
		if looks%40 == 0 && screen != "" {
			t.press("Enter")
			screen = t.screen()
		}
		if looks++; screen == "" {
			return true // it has ended the session
		}
		prompts := t.l.client.ready.FindAllStringIndex(screen, -1)
		if !t.l.client.pastes {
			return len(prompts) > 0
		}
		return len(prompts) == 0 || !strings.Contains(screen[prompts[len(prompts)-1][0]:], tail)
	})
}

// fingers is the time between two keys of a person. A client takes Esc and a letter right after it for Alt and that
// letter.
const fingers = 300 * time.Millisecond

// breakOff presses the keys that break a turn off, each once the screen shows the effect of the one before.
func (t *terminal) breakOff() {
	t.l.t.Helper()
	for _, key := range t.l.client.breakOff {
		before := t.screen()
		t.press(key)
		t.l.until("the screen shows "+key, func() bool { return t.screen() != before })
		time.Sleep(fingers)
	}
}

// leave ends the session in a terminal.
func (t *terminal) leave() {
	t.l.t.Helper()
	t.press("-l", "/exit")
	t.sees("/exit")
	t.press("Enter")
}
