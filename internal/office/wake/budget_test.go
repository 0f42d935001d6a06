package wake

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
)

// TestP12_NewNameIsNoNewBudget: an agent that is renamed repeatedly is not rung more often, neither for waiting nor
// for new mail, not even after a restart of the post office.
func TestP12_NewNameIsNoNewBudget(t *testing.T) {
	door := &bell{kind: "exec"}
	inFixture(t, []Entry{{For: "role:builder", Wakers: []Waker{door}, Budget: 3}}, func(b *fixture) {
		name := mail.Name("bob")
		for i := range 6 {
			b.send("agent:"+string(name), "question", mail.Draft{})
			b.pass(5 * time.Minute)
			next := mail.Name(fmt.Sprint("bob-", i))
			_, err := b.room.As(name).Rename(b.Context(), name, next)
			b.must(err)
			if name = next; i == 3 {
				b.restart()
			}
			b.pass(moment)
		}
		b.rung(door, 3, "under seven names")
		if d := b.send(string(name), "question", mail.Draft{}).Recipients[0]; d.Wake != mail.WakeDeferred {
			t.Errorf("the sender of what comes now is told %+v, want that it is put off", d)
		}
	}, mail.Presence{Name: "bob", Roles: []string{"builder"}})
}

// TestP12_RingOfTheOrchestrator: a ring counts even if another recipient of the same mail has read it.
func TestP12_RingOfTheOrchestrator(t *testing.T) {
	door := &bell{kind: "exec"}
	inFixture(t, []Entry{{For: mail.ToOrchestrator, Wakers: []Waker{door}, Budget: 2}}, func(b *fixture) {
		for i := range 5 {
			_, err := b.room.As("worker").Send(b.Context(), mail.Draft{Type: "question", Body: fmt.Sprint(i),
				To: mail.Recipients{"orchestrator", "bob"}})
			b.must(err)
			b.pass(moment)
			b.mark("bob", mail.MarkRead)
			b.pass(4 * time.Minute)
		}
		b.rung(door, 2, "read by another")
	}, mail.Presence{Name: mail.Orchestrator}, mail.Presence{Name: "bob"})
}

// TestP12_FailedRingIsItsOwn: a failed ring removes itself from the budget, not the ring that another machine has made
// in the meantime.
func TestP12_FailedRingIsItsOwn(t *testing.T) {
	const here, there, failed = mail.Time(1000), mail.Time(2000), mail.Time(3000)
	u := &mail.Unwoken{Agent: "bob", Mail: []mail.UnwokenMail{{ID: "m1"}}}
	far := func(id mail.ID) *mail.Receipt {
		return &mail.Receipt{Message: id, Reader: "agent:bob", Mark: mail.MarkNotified, Door: "exec", Machine: "far"}
	}
	s := &sleeper{ladder: policy.Ladder{}.WithDefaults()}
	s.begin(u, here)
	s.heard(far("m1"), there, there)
	s.fail(u, 1, failed)
	if diff := cmp.Diff([]mail.Time{there}, s.rung); diff != "" {
		t.Errorf("what counts when the ring of this machine has failed (-want +got):\n%s", diff)
	}
	if s.answer("m1"); len(s.rung) != 0 {
		t.Errorf("the ring of the other machine was answered, and counts: %v", s.rung)
	}
	s.begin(u, here)
	s.answer("m1") // before the door answers
	s.heard(far("m2"), there+1, there)
	s.fail(u, 1, failed)
	if diff := cmp.Diff([]mail.Time{there}, s.rung); diff != "" {
		t.Errorf("what counts when it was answered and has failed (-want +got):\n%s", diff)
	}
	s.answer("m2")
	s.heard(far("m3"), there+1, there) // part of the same ring, after it was answered
	if len(s.rung) != 0 {
		t.Errorf("a ring that was answered counts: %v", s.rung)
	}
}

// TestP12_TurnsThatFail: a door whose turn begins and fails, as when the model cannot be reached, is retried at the
// pace of failing doors: the end of that turn does not ring it immediately. Each may be a paid turn.
func TestP12_TurnsThatFail(t *testing.T) {
	for name, late := range map[string]time.Duration{"gone before the ring fails": 0, "gone later": moment} {
		door := &answered{bell: bell{kind: "acp", fails: errBell, takes: moment}}
		inFixture(t, []Entry{{For: "agent:bob", Wakers: []Waker{door}}}, func(b *fixture) {
			var gone sync.WaitGroup
			var answers atomic.Bool
			door.during = func() {
				if answers.Load() {
					b.mark("bob", mail.MarkPresented)
					return
				}
				b.state("bob", mail.Working)
				gone.Go(func() {
					time.Sleep(moment/2 + late)
					b.state("bob", mail.Gone)
				})
			}
			b.send("bob", "question", mail.Draft{})
			b.pass(3 * time.Minute)
			gone.Wait()
			var waits []time.Duration
			for i := range door.times[1:] {
				waits = append(waits, (door.times[i+1].Sub(door.times[i]) - moment).Truncate(time.Second))
			}
			s := time.Second
			if diff := cmp.Diff([]time.Duration{s, 2 * s, 4 * s, 8 * s, 16 * s, 32 * s, 64 * s}, waits); diff != "" {
				b.Errorf("%s: waits between failures (-want +got):\n%s", name, diff)
			}
			b.notified(1, name+", after eight failures")
			door.set(nil)
			answers.Store(true)
			b.pass(5 * time.Minute)
			b.rung(&door.bell, 1, "when the model can be reached again")
		}, mail.Presence{Name: "bob"})
	}
}

// A door may wait for a whole turn: the room stays open until that has ended, even if all of the mail was read in it.
func TestP8_TurnKeepsRoom(t *testing.T) {
	door := &bell{kind: "acp", takes: time.Minute}
	inFixture(t, []Entry{{For: mail.ToOrchestrator, Wakers: []Waker{door}}}, func(b *fixture) {
		b.send("orchestrator", "task-done", mail.Draft{})
		b.pass(time.Second)
		b.mark("lead", mail.MarkRead)
		b.pass(10 * time.Second)
		if b.ringer.Quiet() {
			b.Error("the room may be closed in the middle of the turn")
		}
		b.pass(time.Minute)
		if b.rung(door, 1, "mail"); !b.ringer.Quiet() {
			b.Error("the room may not be closed after the turn")
		}
	}, orchestrator())
}
