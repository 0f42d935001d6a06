package systemtest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// newFleet is a post office of two rooms in which agents wait for each other, and one letter is stuck.
func newFleet(t *testing.T) *office {
	t.Helper()
	o := newDesk(t)
	for _, m := range [][2]string{{"reviewer", "builder-1"}, {"builder-2", "reviewer"}} {
		o.must(t, "send", "--room", "lab", "--as", m[0], "--to", m[1], "--type", "question", "--subject",
			"When can "+m[0]+" go on?", "--body", "I wait for you.")
	}
	o.must(t, "send", "--room", "web", "--as", "docs", "--to", "role:translator", "--type", "question", "--subject",
		"Who translates this?", "--body", "Nobody does.")
	return o
}

// click presses the mouse's first button where a text is on the screen, as a terminal reports it.
func (w *terminal) click(text string) *terminal {
	w.t.Helper()
	for y, l := range strings.Split(w.sees(text), "\n") {
		if before, _, ok := strings.Cut(l, text); ok {
			x := len([]rune(before)) + 1
			return w.press("-l", fmt.Sprintf("\x1b[<0;%d;%dM\x1b[<0;%d;%dm", x+1, y+1, x+1, y+1))
		}
	}
	w.t.Fatalf("%q is not on the screen", text)
	return w
}

// TestTerminalSizes goes through all screens of the view at three sizes.
func TestTerminalSizes(t *testing.T) {
	o := newFleet(t)
	for _, size := range [][2]int{{80, 24}, {120, 40}, {160, 45}} {
		t.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(t *testing.T) {
			w := openSized(t, o, size[0], size[1], binary)
			w.sees("1 of 2", "Which port", "9090  as in CI", "reviewer", "builder-2", "for it")
			w.press("Escape").sees("▌ ? Which port", "2 wait", "q quit")
			w.press("j")
			if two := size[0] >= 120; two {
				w.sees("│ Is the old flag", "? docs → you")
			} else if strings.Contains(w.screen(), "│") {
				t.Errorf("there are two panes:\n%s", w.screen())
			}
			w.press("]", "]").sees("builder-1", "working", "● builder-1", "lab", "web")
			w.press("]").sees("role:translator", "held", "Who tra", "web")
			w.press("]").sees("reviewer → builder-1", "builder-2 → reviewer", "docs → role:translator", "web")
			w.click("Updates").sees("Review of the parser")
			w.click("Needs you").click("? Is the old flag").sees("Is the flag --fast")
			w.press("Enter").sees("2 of 2", "Is the flag --fast still needed?")
			w.press("Escape").sees("q quit")
			w.press("q")
			w.ended()
		})
	}
}

// TestTerminalMouse answers by a click, and turns the wheel.
func TestTerminalMouse(t *testing.T) {
	o := newFleet(t)
	w := openTerminal(t, o, binary)
	w.click("9090  as in CI").sees("Answered “9090” to builder-1", "1 of 1", "Is the flag")
	w.press("z").sees("Undone.")
	w.press("Escape").sees("▌ ? Which port", "q quit")
	w.press("-l", "\x1b[<65;10;10M").sees("▌ ? Is the old flag")
}

// TestTerminalScope shows one room and checks that the choice is remembered.
func TestTerminalScope(t *testing.T) {
	o := newFleet(t)
	w := openTerminal(t, o, binary)
	w.sees("1 of 2")
	w.press("Escape").sees("Needs you 2", "all rooms", "q quit")
	w.press("w").sees("Showing only lab", "Needs you 1", "Waiting 3")
	w.gone("Is the old flag")
	eventually(t, "it is remembered", func() bool {
		text, _ := os.ReadFile(filepath.Join(o.home, "screen"))
		return string(text) == "lab\n"
	})
	w.press("q")
	w.ended()
	w = openTerminal(t, o, binary)
	w.sees("1 of 1")
	w.press("Escape").sees("lab", "Needs you 1", "w all rooms")
	w.press("w").sees("Showing all rooms.", "Needs you 2", "Is the old flag")
	w.press("q")
	w.ended()
}

// TestTerminalColours holds that questions are red and that NO_COLOR shows the same without colours.
func TestTerminalColours(t *testing.T) {
	o := newFleet(t)
	drawn := func(w *terminal) string { return w.tmux("capture-pane", "-e", "-p", "-t", "w") }
	w := openTerminal(t, o, binary)
	w.sees("1 of 2", "9090  as in CI")
	if got := drawn(w); !strings.Contains(got, "41m 1 ") && !strings.Contains(got, ";41m") {
		t.Errorf("the key of an option is not on red:\n%q", got)
	}
	w.press("Escape").sees("q quit")
	w.press("q")
	w.ended()
	w = openTerminal(t, o, "env", "NO_COLOR=1", binary) // it may be the earlier server, with its environment
	w.sees("1 of 2", "[1] 8080", "[2] 9090")
	if got := drawn(w); strings.Contains(got, "[41") || strings.Contains(got, ";41") || strings.Contains(got, "[9") {
		t.Errorf("there are colours:\n%q", got)
	}
}
