package hook_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/office/hook/hooktest"
)

// Incidents of users of other systems. The numbers are those of the issues that report them.

// claude-code#25383, #57487: mail was marked read before it was delivered, while the agent was busy, and was lost.
// Here only the hand-over marks mail, and only the agent marks it read.
func TestIncident_MarkedBeforeDelivered(t *testing.T) {
	everyClient(t, func(b *fixture, h *hooktest.Harness) {
		h.Start("startup")
		h.Prompt("go on")
		id := b.send("ann", "one")
		b.shut = true // the client has exited; the output is not read
		h.Tool("Bash", "ls")
		b.wantState(id, "ann", mail.Queued)
		b.shut = false
		b.restart()
		last(h)
		h.Tool("Bash", "ls")
		b.wantShown(h, "one")
		b.wantState(id, "ann", mail.Notified)
		h.Tool("Bash", "ls")
		b.wantState(id, "ann", mail.Presented)
		page, err := b.as("ann").Inbox(context.Background(), mail.InboxQuery{})
		b.must(err)
		if page.Unread != 1 {
			t.Errorf("%d unread: showing has marked it read", page.Unread)
		}
	})
}

// claude-code#82858, #83788: mail that came while an agent went from busy to idle was never processed.
func TestIncident_BusyToIdle(t *testing.T) {
	for round := range 300 {
		synctest.Test(t, func(t *testing.T) {
			b := newFixture(t)
			h := b.harness(hooktest.Claude(), "ann", "s1")
			h.Start("startup")
			h.Prompt("go on")
			var d mail.Delivery
			var sends sync.WaitGroup
			sends.Go(func() {
				sent, err := b.as(mail.User).Send(context.Background(),
					mail.Draft{To: mail.Recipients{"ann"}, Type: string(mail.Question), Body: "now"})
				if err == nil {
					d = sent.Recipients[0]
				}
			})
			n := h.End()
			sends.Wait()
			// A sender before the end was told that the end of the turn will look, or has looked, and it did.
			if looks := d.Wake == mail.WakeTurnEnd || d.Wake == mail.WakeNone; looks != (n > 0) {
				t.Errorf("round %d: the sender was told %q, and the turn went on %d times", round, d.Wake, n)
			}
		})
		if t.Failed() {
			return
		}
	}
}

// agmsg#13, #677: a hook consumed mail without displaying it. The next hook shows it, or the user is told.
func TestIncident_ConsumedWithoutDisplay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFixture(t)
		h := b.harness(hooktest.Claude(), "ann", "s1")
		h.Start("startup")
		h.Prompt("go on")
		id := b.send("ann", "one")
		b.shut = true
		h.End()
		b.wantState(id, "ann", mail.Queued)
		b.shut = false
		time.Sleep(time.Minute)
		h.Prompt("anything new?")
		b.wantShown(h, "one")
	})
}

// claude-code#85047, nanoclaw PR#2063, commonly#508: thanks and acknowledgements kept agents going in circles.
func TestIncident_Politeness(t *testing.T) {
	b := newFixture(t)
	ann, bob := b.harness(hooktest.Claude(), "ann", "s1"), b.harness(hooktest.Claude(), "bob", "s2")
	for _, h := range []*hooktest.Harness{ann, bob} {
		h.Start("startup")
		h.Prompt("go on")
		h.End()
	}
	for range 5 {
		for from, to := range map[mail.Name]string{"ann": "bob", "bob": "ann"} {
			for _, typ := range []mail.Type{mail.Status, mail.Custom} {
				sent, err := b.as(from).Send(context.Background(),
					mail.Draft{To: mail.Recipients{to}, Type: string(typ), Body: "Thank you!"})
				b.must(err)
				if w := sent.Recipients[0].Wake; w != mail.WakeNone {
					t.Errorf("a %s of thanks wakes: %s", typ, w)
				}
			}
		}
		ann.Prompt("go on")
		b.wantShown(ann, "Thank you!") // the status is only counted
		ann.Tool("Bash", "ls")
		if n := ann.End(); n != 0 {
			t.Errorf("thanks kept the turn going %d times", n)
		}
		b.wantSilence(ann)
	}
}

// claude-mem#3161: a stopped worker caused an endless loop of the Stop hook. The turn ends in silence; the mail waits.
func TestIncident_DownAtStop(t *testing.T) {
	everyClient(t, func(b *fixture, h *hooktest.Harness) {
		h.Start("startup")
		h.Prompt("go on")
		id := b.send("ann", "one")
		b.down = true
		if n := h.End(); n != 0 {
			t.Errorf("the turn went on %d times", n)
		}
		h.Exit("other")
		b.wantSilence(h)
		b.down = false
		b.restart()
		resume(h)
		b.wantShown(h, "one")
		b.wantState(id, "ann", mail.Notified)
	})
}

// claude-code#92244: the same message was delivered up to four times. Parallel tools, each with its hook, are told
// about a message once.
func TestIncident_ToldTwice(t *testing.T) {
	for range 50 {
		b := newFixture(t)
		h := b.harness(hooktest.Claude(), "ann", "s1")
		h.Start("startup")
		h.Prompt("go on")
		ids := []mail.ID{b.send("ann", "one"), b.send("ann", "two")}
		var mu sync.Mutex
		var shown []mail.ID
		var tools sync.WaitGroup
		for range 4 {
			each := b.harness(hooktest.Claude(), "ann", "s1")
			each.Run = b.runner("ann", "ann/s1")
			tools.Go(func() {
				each.After("Bash", "ls")
				mu.Lock()
				defer mu.Unlock()
				for _, text := range each.Context {
					whole, _ := hooktest.Shown(text)
					shown = append(shown, whole...)
				}
			})
		}
		tools.Wait()
		if !slices.Equal(shown, ids) {
			t.Fatalf("shown %v, want %v, each once", shown, ids)
		}
	}
}

// claude-code#45874: an order to stop a past agent stopped a new one of the same name. A cancel is for the session
// that existed, or was to be resumed. The end of the turn in which it was told marks it read.
func TestIncident_StaleStop(t *testing.T) {
	b := newFixture(t)
	h := b.harness(hooktest.Claude(), "ann", "s1")
	h.Start("startup")
	h.Prompt("go on")
	stop := b.send("ann", "stop", typed(mail.Cancel))
	h.Before("Bash", "make", nil)
	h.End()
	h.Exit("other")
	b.wantState(stop, "ann", mail.Read)
	stop = b.send("ann", "stop too", typed(mail.Cancel)) // no session is running
	next := b.harness(hooktest.Claude(), "ann", "s2")
	next.Start("startup")
	b.wantShown(next, "stop too")
	next.Prompt("go on")
	if !next.Tool("Bash", "make") {
		t.Error("a cancel of yesterday stops a new session")
	}
	next.End()
	b.wantState(stop, "ann", mail.Read)
	b.send("ann", "stop now", typed(mail.Cancel))
	next.Exit("prompt_input_exit")
	next.Start("resume")
	next.Prompt("go on")
	if next.Tool("Bash", "make") {
		t.Error("a cancel for this session was forgotten when it was resumed")
	}
}

// rust#229, rust#269: a count nagged for ever. Text is told once, whether or not the agent acts on it.
func TestIncident_Nagging(t *testing.T) {
	everyClient(t, func(b *fixture, h *hooktest.Harness) {
		h.Start("startup")
		b.send("ann", "one")
		h.Prompt("go on")
		h.Tool("Bash", "ls")
		b.wantShown(h, "one")
		for i := range 5 {
			h.Prompt(fmt.Sprint("step ", i))
			h.Tool("Bash", "ls")
			if n := h.End(); n != 0 {
				t.Errorf("the turn went on %d times over what was shown", n)
			}
			b.wantSilence(h)
		}
	})
}

// claude-code#63684: an inbox of 1,065 messages stopped surfacing anything. Here new and urgent mail comes first in an
// inbox of any size.
func TestIncident_HugeInbox(t *testing.T) {
	b := newFixture(t)
	h := b.harness(hooktest.Claude(), "ann", "s0")
	h.Start("startup")
	for i := range 1100 {
		b.send("ann", fmt.Sprint("old ", i), typed(mail.Status))
	}
	h.Exit("other")
	h.Session = "s1"
	h.Start("startup")
	if text := last(h); text == "" {
		t.Error("a full inbox says nothing at the start")
	}
	h.Prompt("go on")
	last(h)
	b.send("ann", "plain")
	b.send("ann", "now", urgent)
	h.Tool("Bash", "ls")
	b.wantShown(h, "now", "plain")
	b.wantNoFaults(h)
}

// claude-code#32276, #84494, AgentsCommander#22: mail to an agent that had ended, or never existed, was "sent", and
// lost. The sender is told, and dead mail is alive again with the agent's next session.
func TestIncident_GonePeer(t *testing.T) {
	b := newFixture(t)
	h := b.harness(hooktest.Claude(), "ann", "s1")
	h.Start("startup")
	h.Exit("other")
	question := func(to string) (mail.Sent, error) {
		return b.as("bob").Send(context.Background(), mail.Draft{To: mail.Recipients{to}, Type: string(mail.Question),
			Body: "there?"})
	}
	if _, err := question("anna"); mail.CodeOf(err) != mail.NotFound {
		t.Errorf("to nobody: %v", err)
	}
	sent, err := question("ann")
	b.must(err)
	if got := sent.Recipients[0].State; got != mail.Dead {
		t.Errorf("the sender is told %s, want dead", got)
	}
	h = b.harness(hooktest.Claude(), "ann", "s2")
	h.Start("startup")
	b.wantShown(h, "there?")
	h.Prompt("go on")
	h.End()
	b.wantState(sent.ID, "ann", mail.Presented)
}

// genie#1460, nanoclaw PR#2063: an agent in its own audience woke itself for ever.
func TestIncident_SelfPing(t *testing.T) {
	b := newFixture(t)
	_, err := b.as(mail.User).Register(context.Background(),
		mail.Presence{Name: "ann", Roles: []string{"orchestrator"}, Tags: []string{"project:x"}})
	b.must(err)
	h := b.harness(hooktest.Claude(), "ann", "s1")
	h.Start("startup")
	for _, to := range []string{"all", "project:x"} {
		h.Prompt("go on")
		_, err := b.as("ann").Send(context.Background(),
			mail.Draft{To: mail.Recipients{to}, Type: string(mail.Question), Body: "idle",
				Priority: string(mail.Urgent)})
		b.must(err)
		if n := h.End(); n != 0 {
			t.Errorf("its own mail to %s kept the turn going %d times", to, n)
		}
		b.wantSilence(h)
	}
}

// claude-code#60199: an agent agreed to shut down and counted as gone, while its process lived on. Here an agent's
// state follows from its client's events.
func TestIncident_LivesOn(t *testing.T) {
	b := newFixture(t)
	h := b.harness(hooktest.Claude(), "ann", "s1")
	h.Start("startup")
	h.Prompt("go on")
	b.send("ann", "stop", typed(mail.Cancel))
	_, err := b.as("ann").Send(context.Background(), mail.Draft{To: mail.Recipients{"user"}, Type: string(mail.Status),
		Body: "shut down"})
	b.must(err)
	b.wantAgent("ann", mail.Working)
	if h.Before("Bash", "make", nil) {
		t.Error("it says that it has stopped, and its tools run on")
	}
	h.End()
	b.wantAgent("ann", mail.Idle)
	h.Exit("other")
	b.wantAgent("ann", mail.Gone)
}

// claude-code#76500: the last report of an ended agent was lost, or came an hour late.
func TestIncident_FinalReport(t *testing.T) {
	b := newFixture(t)
	_, err := b.as(mail.User).Register(context.Background(),
		mail.Presence{Name: "lead", Roles: []string{"orchestrator"}})
	b.must(err)
	lead, ann := b.harness(hooktest.Claude(), "lead", "s1"), b.harness(hooktest.Claude(), "ann", "s2")
	lead.Start("startup")
	ann.Start("startup")
	lead.Prompt("wait for ann")
	ann.Prompt("go on")
	_, err = b.as("ann").Send(context.Background(), mail.Draft{To: mail.Recipients{"orchestrator"},
		Type: string(mail.TaskDone), Body: "done"})
	b.must(err)
	ann.Exit("other") // in the middle of its turn
	b.restart()
	if n := lead.End(); n != 1 {
		t.Errorf("the turn went on %d times", n)
	}
	b.wantShown(lead, "done")
}

// relay#1531, overdeck#3630: there was one receipt for eight recipients, and "delivered" three times without one. Here
// each has its own state, and only mail handed over is presented.
func TestIncident_OneReceiptEach(t *testing.T) {
	b := newFixture(t)
	var to mail.Recipients
	for i := range 8 {
		name := mail.Name(fmt.Sprint("a", i))
		h := b.harness(hooktest.Claude(), name, fmt.Sprint("s", i))
		h.Start("startup")
		to = append(to, string(name))
	}
	sent, err := b.as(mail.User).Send(context.Background(), mail.Draft{To: to, Type: string(mail.Question),
		Body: "who?"})
	b.must(err)
	h := b.harness(hooktest.Claude(), "a3", "s3")
	h.Prompt("go on")
	b.wantShown(h, "who?")
	h.Tool("Bash", "ls")
	for _, name := range to {
		want := mail.Queued
		if name == "a3" {
			want = mail.Presented
		}
		b.wantState(sent.ID, mail.Name(name), want)
	}
}

// gastown#2447, agmsg#677, gascity PR#5364: a prompt announced new mail that had been read in the meantime.
func TestIncident_ReadMeanwhile(t *testing.T) {
	everyClient(t, func(b *fixture, h *hooktest.Harness) {
		h.Start("startup")
		h.Prompt("go on")
		id := b.send("ann", "one")
		_, err := b.as("ann").Mark(context.Background(), mail.Marking{IDs: []mail.ID{id}, Mark: mail.MarkRead})
		b.must(err)
		h.Tool("Bash", "ls")
		if n := h.End(); n != 0 {
			t.Errorf("mail that was read kept the turn going %d times", n)
		}
		b.wantSilence(h)
	})
}
