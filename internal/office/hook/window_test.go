package hook_test

import (
	"context"
	"errors"
	"testing"

	"pennypost/internal/fence"
	"pennypost/internal/mail"
	"pennypost/internal/office/hook"
	"pennypost/internal/office/hook/hooktest"
)

// TestIntroduced: Codex's sessions share servers, which do not know which session calls. So a hook tells a session its
// name at its start.
func TestIntroduced(t *testing.T) {
	everyClient(t, func(b *fixture, h *hooktest.Harness) {
		h.Start("startup")
		want := ""
		if h.Client.Name == "codex" {
			want = "Pennypost: This session is the agent ann in room lab."
		}
		if got := last(h); got != want {
			t.Errorf("at its start it is told %q, want %q", got, want)
		}
	})
}

// TestWindow: the facts of a session's window count, not those of the hook's process, which several sessions share.
// Once the window is closed, the turn may end: it is told nothing, and no ring begins another.
func TestWindow(t *testing.T) {
	b := newFixture(t)
	h := b.harness(hooktest.Codex(), "ann", "s1")
	var window *hook.Window
	busy := errors.New("not known now")
	var entered hook.Session
	at := func(name string) func(string) string {
		return func(variable string) string { return variable + " of " + name }
	}
	h.Run = b.runnerWith("ann", "server", func(c *hooktest.Counter) {
		c.Window = func(context.Context, *hook.Event) (*hook.Window, error) { return window, busy }
		enter := c.Enter
		c.Enter = func(ctx context.Context, e *hook.Event) (*hook.Mailbox, error) {
			entered = e.Session
			return enter(ctx, e)
		}
	})
	h.Start("startup")
	if h.Prompt("go on"); entered.ID != "" {
		t.Errorf("nobody knows where %+v is, and it began", entered)
	}
	busy, window = nil, &hook.Window{Program: "window", Getenv: at("the window")}
	h.Start("startup")
	h.Prompt("go on")
	if entered.Window != "window" || entered.Process != "server" || entered.Pane != "TMUX_PANE of the window" {
		t.Errorf("the session is %+v", entered)
	}
	id := b.send("ann", "one")
	window = &hook.Window{Program: "window", Closed: true, Getenv: at("nobody")}
	h.Tool("Bash", "ls")
	if n := h.End(); n != 0 {
		t.Errorf("the turn went on %d times where nobody sits", n)
	}
	if h.Prompt(fence.Ring("lab", 1, 0, "ring_1", false)) {
		t.Error("a ring began a turn where nobody sits")
	}
	b.wantSilence(h)
	b.wantState(id, "ann", mail.Queued)
	b.wantNoFaults(h)
}
