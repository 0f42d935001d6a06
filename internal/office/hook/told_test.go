package hook_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pennypost/internal/fence"
	"pennypost/internal/mail"
	"pennypost/internal/office/hook/hooktest"
)

// Text told by a hook is presented when the model has answered, and no earlier.
func TestP7_ToldIsNotPresented(t *testing.T) {
	everyClient(t, func(b *fixture, h *hooktest.Harness) {
		h.Start("startup")
		h.Prompt("go on")
		id := b.send("ann", "one")
		h.Tool("Bash", "ls")
		b.wantShown(h, "one")
		b.wantState(id, "ann", mail.Notified)
		h.After("Bash", "of the same answer of the model")
		b.wantState(id, "ann", mail.Notified)
		h.Before("Bash", "of the next", nil)
		b.wantState(id, "ann", mail.Presented)
		two := b.send("ann", "two")
		h.After("Bash", "of the next")
		b.wantShown(h, "two")
		h.End()
		b.wantState(two, "ann", mail.Presented)
		b.wantSilence(h)
	})
}

// claude-code, gemini-cli: Esc throws away told text. It is told again with the next prompt, which comes without an
// end of the turn before it.
func TestP7_ToldAgainAfterEsc(t *testing.T) {
	for _, c := range hooktest.Clients() {
		t.Run(c.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newFixture(t)
				h := b.harness(c, "ann", "s1")
				h.Start("startup")
				h.Prompt("go on")
				id := b.send("ann", "one")
				h.Tool("Bash", "ls")
				b.wantShown(h, "one")
				time.Sleep(time.Minute)
				h.Prompt("something else") // the person has pressed Esc
				if !takesPrompts(h.Client) {
					h.After("Bash", "ls")
				}
				b.wantShown(h, "one")
				b.wantState(id, "ann", mail.Notified)
				h.End()
				b.wantState(id, "ann", mail.Presented)
				b.wantSilence(h)
			})
		})
	}
}

// Mail told in a turn that is known to be interrupted waits again: the agent is idle, and may be rung.
func TestP7_QueuedAgainWhenBrokenOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFixture(t)
		h := b.harness(hooktest.Claude(), "ann", "s1")
		h.Start("startup")
		h.Prompt("go on")
		id := b.send("ann", "one")
		h.Tool("Bash", "ls")
		b.wantShown(h, "one")
		time.Sleep(time.Minute)
		h.Fire("Notification", map[string]any{"notification_type": "idle_prompt"})
		b.wantAgent("ann", mail.Idle)
		b.wantState(id, "ann", mail.Queued)
		if waits := b.room.Unwoken(func(mail.Name, []string) bool { return true }); len(waits) != 1 {
			t.Errorf("to be woken are %+v, want ann", waits)
		}
		h.Prompt("go on")
		b.wantShown(h, "one")
		h.Exit("other")
		b.wantState(id, "ann", mail.Dead)
		time.Sleep(time.Minute)
		h.Start("resume")
		b.wantShown(h, "one")
		b.restart()
		b.wantState(id, "ann", mail.Notified)
		everybody := func(mail.Name, []string) bool { return true }
		if waits := b.room.Unwoken(everybody); len(waits) != 1 || waits[0].Mail[0].Told == 0 {
			t.Errorf("of a session that was told and begins no turn it is known: %+v", waits)
		}
		h.Prompt("go on") // the first turn of a session that was told while idle
		if waits := b.room.Unwoken(everybody); len(waits) > 0 {
			t.Errorf("a session that has begun its turn is to be woken: %+v", waits)
		}
		b.wantSilence(h)
		h.End()
		b.wantState(id, "ann", mail.Presented)
	})
}

// An end of a session that no hook reports also refutes what it was told.
func TestP7_ToldToTheDead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFixture(t)
		h := b.harness(hooktest.Claude(), "ann", "s1")
		h.Start("startup")
		h.Prompt("go on")
		id := b.send("ann", "one")
		h.Tool("Bash", "ls")
		b.wantShown(h, "one")
		time.Sleep(time.Hour)
		next := b.harness(hooktest.Claude(), "ann", "s2")
		next.Start("startup")
		b.wantShown(next, "one")
		next.Prompt("go on")
		next.End()
		b.wantState(id, "ann", mail.Presented)
	})
}

// A call of Pennypost's own tools proves as much as any other.
func TestP7_OwnToolProves(t *testing.T) {
	b := newFixture(t)
	h := b.harness(hooktest.Claude(), "ann", "s1")
	h.Start("startup")
	id := b.send("ann", "one")
	h.Prompt("go on")
	b.wantShown(h, "one")
	h.Before("mcp__pennypost__read_messages", "", nil)
	b.wantState(id, "ann", mail.Presented)
}

// A subagent's events are not its parent's: they do not make the agent count as working, and prove nothing, but a
// cancel applies to the subagent.
func TestP8_SubagentsWorkForNobody(t *testing.T) {
	t.Run("claude", func(t *testing.T) {
		subagentsWorkForNobody(t, hooktest.Claude(), map[string]any{"agent_id": "a1", "agent_type": "general-purpose"})
	})
	t.Run("copilot", func(t *testing.T) {
		subagentsWorkForNobody(t, hooktest.Copilot(), hooktest.CopilotSub("s1"))
	})
	t.Run("copilot below another", func(t *testing.T) {
		subagentsWorkForNobody(t, hooktest.Copilot(), hooktest.CopilotSub("afe50d06-82be-42c8-a9ed-000000000000"))
	})
}

func subagentsWorkForNobody(t *testing.T, c hooktest.Client, sub map[string]any) {
	b := newFixture(t)
	h := b.harness(c, "ann", "s1")
	h.Start("startup")
	h.Prompt("go on")
	id := b.send("ann", "two")
	h.Prompt("go on")
	b.wantShown(h, "two")
	h.Before("Bash", "ls", sub)
	b.wantState(id, "ann", mail.Notified)
	h.End()
	b.wantAgent("ann", mail.Idle)
	h.Before("Bash", "ls", sub)
	b.wantAgent("ann", mail.Idle)
	b.send("ann", "stop", typed(mail.Cancel))
	if h.Before("Bash", "ls", sub) {
		t.Error("a cancel does not stop the tools of a subagent")
	}
	b.wantAgent("ann", mail.Idle)
}

// A ring that Codex runs after its mail was dealt with begins no turn, and no model request.
func TestStaleRing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFixture(t)
		h := b.harness(hooktest.Codex(), "ann", "s1")
		h.Start("startup")
		h.Prompt("go on")
		h.End()
		ring := fence.Ring("lab", 1, 0, "ring_1", false)
		b.send("ann", "one")
		if !h.Prompt(ring) {
			t.Error("a ring for mail that waits begins no turn")
		}
		b.wantShown(h, "one")
		time.Sleep(time.Minute)
		h.End()
		if h.Prompt(ring) {
			t.Error("a ring for mail that was shown begins a turn")
		}
		b.wantSilence(h)
		b.wantAgent("ann", mail.Idle)
		if !h.Prompt("the person's") {
			t.Error("a prompt of the person begins no turn")
		}
	})
}

// Codex's sandboxed shell cannot reach a post office, so its agents are not told a command.
func TestTextForSandbox(t *testing.T) {
	for _, c := range hooktest.Clients() {
		b := newFixture(t)
		h := b.harness(c, "ann", "s1")
		h.Start("startup")
		h.Prompt("go on")
		b.send("ann", "one")
		h.Tool("Bash", "ls")
		text := strings.Join(h.Context, "\n")
		if told := strings.Contains(text, "pennypost mark"); told == (c.Name == "codex") || !strings.Contains(text,
			"mark_messages") {
			t.Errorf("%s is told of the command: %t\n%s", c.Name, told, text)
		}
	}
}
