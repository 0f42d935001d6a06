package wake

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"pennypost/internal/mail"
)

// AG-24, A6: of the types that others may send to the orchestrator, exactly three wake it.
func TestAG24_WakesOnThreeTypes(t *testing.T) {
	for _, typ := range []string{"task-done", "review-result", "question", "status", "custom"} {
		door := &bell{kind: "exec"}
		inFixture(t, []Entry{{For: mail.ToOrchestrator, Wakers: []Waker{door}}}, func(b *fixture) {
			sent := b.send("orchestrator", typ, mail.Draft{})
			want, wake := 1, "exec"
			if typ == "status" || typ == "custom" {
				want, wake = 0, mail.WakeNone
			}
			if got := sent.Recipients[0].Wake; got != wake {
				b.Errorf("%s: the sender is told %q, want %q", typ, got, wake)
			}
			b.rung(door, want, typ)
		}, orchestrator())
	}
}

func TestP8_RingIsAPointer(t *testing.T) {
	door := &bell{kind: "exec"}
	inFixture(t, []Entry{{For: "agent:bob", Wakers: []Waker{door}}}, func(b *fixture) {
		b.send("bob", "status", mail.Draft{})
		one := b.send("bob", "question", mail.Draft{Subject: "secret subject"})
		two := b.send("bob", "answer", mail.Draft{Priority: "urgent"})
		b.rung(door, 1, "a burst")
		got := door.last()
		got.ID = ""
		want := Ring{
			Room: "lab", Agent: "bob", Unread: 3, Urgent: 1, From: []mail.Address{"agent:worker"},
			Messages: []mail.ID{one.ID, two.ID}, Text: "3 unread, 1 urgent: read_messages", State: mail.Idle,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			b.Error(diff)
		}
		for _, id := range []mail.ID{one.ID, two.ID} {
			it, err := b.room.As(mail.User).Message(b.Context(), id)
			b.must(err)
			if d := it.Deliveries[0]; d.State != mail.Notified || d.Door != "exec" || d.Wake != "exec" {
				b.Errorf("after the ring the delivery is %+v", d)
			}
		}
	}, mail.Presence{Name: "bob"})
}

func TestP8_Coalesce(t *testing.T) {
	door := &bell{kind: "exec"}
	inFixture(t, []Entry{{For: mail.ToOrchestrator, Wakers: []Waker{door}}}, func(b *fixture) {
		first := b.send("orchestrator", "task-done", mail.Draft{})
		b.rung(door, 1, "the first")
		for range 20 {
			b.send("orchestrator", "question", mail.Draft{})
		}
		b.rung(door, 1, "while one is outstanding")
		b.pass(2 * time.Minute)
		b.rung(door, 2, "when it was not answered")
		if got := door.last(); got.Unread != 21 || len(got.Messages) != 21 {
			b.Errorf("the second ring tells of %d messages, want 21", got.Unread)
		}
		// Mail that was rung for is read in part: the reader is working through it.
		b.mark("lead", mail.MarkRead, first.ID)
		b.pass(2*time.Minute - 2*moment)
		b.rung(door, 2, "while it reads")
		b.pass(2 * moment)
		b.rung(door, 3, "when it stopped")
		b.mark("lead", mail.MarkRead)
		b.pass(time.Hour)
		b.rung(door, 3, "when all is read")
		b.send("orchestrator", "question", mail.Draft{})
		b.rung(door, 4, "new mail")
		b.notified(0, "all along")
	}, orchestrator())
}

func TestP8_TurnEnd(t *testing.T) {
	door := &bell{kind: "exec"}
	inFixture(t, []Entry{{For: mail.ToOrchestrator, Wakers: []Waker{door}}}, func(b *fixture) {
		b.state("lead", mail.Working)
		sent := b.send("orchestrator", "task-done", mail.Draft{})
		if w := sent.Recipients[0].Wake; w != mail.WakeTurnEnd {
			b.Errorf("the sender is told %q, want turn-end", w)
		}
		b.pass(time.Hour)
		b.rung(door, 0, "while it works")
		b.state("lead", mail.Idle)
		b.rung(door, 1, "at turn end")
		b.state("lead", mail.Working)
		b.state("lead", mail.Idle) // immediately: no look comes between
		b.rung(door, 2, "after a turn that left the mail unread")
		b.state("lead", mail.Working)
		b.pass(time.Hour)
		b.mark("lead", mail.MarkPresented, sent.ID)
		b.state("lead", mail.Idle)
		b.pass(time.Hour)
		b.rung(door, 2, "what was handed over does not ring")
		b.state("lead", mail.Frozen)
		late := b.send("lead", "question", mail.Draft{})
		if w := late.Recipients[0].Wake; w != mail.WakeNoDoor {
			b.Errorf("to one that is frozen: %q, want no-door", w)
		}
		b.pass(time.Hour)
		b.rung(door, 2, "who is frozen is not rung")
		b.state("lead", mail.Idle)
		b.rung(door, 3, "when it thaws")
	}, orchestrator())
}

// TestP8_SlowMarks: while the fact that an agent was given its mail is being recorded, the end of its turn does not
// ring it again.
func TestP8_SlowMarks(t *testing.T) {
	door := &bell{kind: "exec"}
	inFixture(t, []Entry{{For: "agent:lead", Wakers: []Waker{door}}}, func(b *fixture) {
		sent := b.send("lead", "question", mail.Draft{})
		b.rung(door, 1, "mail")
		b.marks.Store(int64(20 * time.Second))
		var marked sync.WaitGroup
		b.state("lead", mail.Working)
		marked.Go(func() { b.mark("lead", mail.MarkPresented, sent.ID) })
		b.pass(time.Second)
		b.state("lead", mail.Idle)
		b.rung(door, 1, "a turn ended in which it was given its mail, which is not recorded yet")
		marked.Wait()
		b.rung(door, 1, "it is recorded")
		b.marks.Store(0)
		b.send("lead", "question", mail.Draft{})
		b.rung(door, 2, "other mail")
	}, orchestrator())
}

// TestP8_LostMark: an agent is rung again if recording that it was given mail failed, although the journal has no
// event of that.
func TestP8_LostMark(t *testing.T) {
	door := &bell{kind: "exec"}
	inFixture(t, []Entry{{For: "agent:lead", Wakers: []Waker{door}}}, func(b *fixture) {
		sent := b.send("lead", "question", mail.Draft{})
		b.rung(door, 1, "mail")
		b.marks.Store(int64(20 * time.Second))
		b.fails.Store(true)
		b.state("lead", mail.Working)
		var marked sync.WaitGroup
		marked.Go(func() {
			_, err := b.room.As("lead").Mark(b.Context(), mail.Marking{IDs: []mail.ID{sent.ID},
				Mark: mail.MarkPresented, Door: "test"})
			if err == nil {
				b.Error("it was recorded")
			}
		})
		b.pass(time.Second)
		b.state("lead", mail.Idle)
		b.rung(door, 1, "it is being recorded")
		if b.ringer.Quiet() {
			b.Error("the room may be closed, and the agent is to be woken if the record fails")
		}
		marked.Wait()
		b.pass(awayLook)
		b.rung(door, 2, "it was not recorded")
	}, orchestrator())
}

// A long ring is outstanding all the while; a turn that begins and ends meanwhile is noticed.
func TestP8_TurnDuringRing(t *testing.T) {
	door := &bell{kind: "exec", takes: time.Minute}
	inFixture(t, []Entry{{For: mail.ToOrchestrator, Wakers: []Waker{door}}}, func(b *fixture) {
		b.send("orchestrator", "task-done", mail.Draft{})
		b.pass(10 * time.Second)
		b.state("lead", mail.Working)
		b.mark("lead", mail.MarkRead)
		b.send("orchestrator", "question", mail.Draft{})
		b.state("lead", mail.Idle)
		b.pass(30 * time.Second)
		if door.tried() != 0 || b.waits() != 1 {
			b.Errorf("%d rings have ended and %d are outstanding, want 0 and 1", door.tried(), b.waits())
		}
		b.pass(22 * time.Second)
		b.pass(time.Minute)
		b.rung(door, 2, "the question rings as soon as the first ring has ended")
		if door.rungTwice() {
			b.Error("two rings at the same time")
		}
	}, orchestrator())
}

func TestP8_FailedRings(t *testing.T) {
	door := &bell{kind: "exec", fails: errBell}
	inFixture(t, []Entry{{For: mail.ToOrchestrator, Wakers: []Waker{door}}}, func(b *fixture) {
		sent := b.send("orchestrator", "task-done", mail.Draft{})
		b.pass(20 * time.Minute)
		var waits []time.Duration
		for i := range door.times[1:] {
			waits = append(waits, door.times[i+1].Sub(door.times[i]).Truncate(time.Second))
		}
		s := time.Second
		if diff := cmp.Diff([]time.Duration{s, 2 * s, 4 * s, 8 * s, 16 * s, 32 * s, 64 * s, 128 * s, 256 * s, 300 * s,
			300 * s}, waits); diff != "" {
			b.Errorf("waits between failures (-want +got):\n%s", diff)
		}
		b.notified(1, "after eight failures", "lead cannot be woken", "exec: out of order", "every 5m")
		if it := b.notices()[0]; it.Metadata == nil || it.From != mail.FromSystem || it.Priority != mail.Urgent {
			b.Errorf("the notice is %+v", it)
		}
		if it, err := b.room.As(mail.User).Message(b.Context(), sent.ID); err != nil ||
			it.Deliveries[0].State != mail.Queued {
			b.Errorf("the message is %+v (%v), want queued", it.Deliveries, err)
		}
		b.send("orchestrator", "task-done", mail.Draft{})
		b.pass(30 * time.Minute)
		b.notified(1, "more mail within the hour")
		b.pass(30 * time.Minute)
		b.notified(2, "more mail waits, after an hour", "2 messages")
		b.pass(24 * time.Hour)
		b.notified(2, "nothing new in a day")
		door.set(nil)
		b.pass(5 * time.Minute)
		b.rung(door, 1, "when the door works again")
		b.mark("lead", mail.MarkRead)
		door.set(errBell)
		b.send("orchestrator", "task-done", mail.Draft{})
		b.pass(time.Hour)
		b.notified(3, "another episode")
	}, orchestrator())
}

func TestP8_NoAnswer(t *testing.T) {
	one, two := &bell{kind: "exec"}, &bell{kind: "webhook"}
	inFixture(t, []Entry{{For: mail.ToOrchestrator, Wakers: []Waker{one, two}}}, func(b *fixture) {
		b.send("orchestrator", "task-done", mail.Draft{})
		b.pass(24 * time.Hour)
		if one.rung() != 3 || two.rung() != 2 {
			b.Errorf("the doors were rung %d and %d times, want 3 and 2: what one did not bring about the next is "+
				"tried for", one.rung(), two.rung())
		}
		b.notified(1, "after five rings", "exec: woke it, but it did not read its mail", "webhook: woke it",
			"The next attempt comes")
		if b.waits() != 0 {
			b.Errorf("%d rings are outstanding, want none", b.waits())
		}
		b.send("orchestrator", "question", mail.Draft{})
		b.rung(one, 4, "more mail")
		b.pass(time.Hour)
		b.notified(2, "also in vain", "2 messages")
		b.state("lead", mail.Working)
		b.state("lead", mail.Idle)
		b.rung(one, 7, "a turn has ended")
		b.mark("lead", mail.MarkRead)
		b.pass(time.Hour)
		b.rung(one, 7, "all is read")
	}, orchestrator())
}

// When one door fails, the next is tried immediately.
func TestNextDoor(t *testing.T) {
	one, two := &bell{kind: "exec", fails: errBell}, &bell{kind: "webhook"}
	inFixture(t, []Entry{{For: "agent:bob", Wakers: []Waker{one, two}}}, func(b *fixture) {
		sent := b.send("bob", "question", mail.Draft{})
		b.rung(two, 1, "the second door")
		it, err := b.room.As(mail.User).Message(b.Context(), sent.ID)
		b.must(err)
		if d := it.Deliveries[0]; d.State != mail.Notified || d.Door != "webhook" {
			b.Errorf("the delivery is %+v, want notified through webhook", d)
		}
	}, mail.Presence{Name: "bob"})
}

func TestDoorTurnsOff(t *testing.T) {
	door := &bell{kind: "webhook", fails: fmt.Errorf("answered 410 Gone: %w", ErrOff)}
	inFixture(t, []Entry{{For: "agent:bob", Wakers: []Waker{door}}}, func(b *fixture) {
		b.send("bob", "question", mail.Draft{})
		b.pass(time.Hour)
		if door.tried() != 1 {
			b.Errorf("the door was tried %d times, want once", door.tried())
		}
		b.notified(1, "at once", "410 Gone", "No usable door is left")
		sent := b.send("bob", "question", mail.Draft{})
		if w := sent.Recipients[0].Wake; w != mail.WakeNoDoor {
			b.Errorf("the sender is told %q, want no-door", w)
		}
		b.pass(time.Hour)
		b.notified(2, "more mail", "2 messages")
		if door.tried() != 1 || b.waits() != 0 {
			b.Errorf("the door was tried %d times, %d outstanding", door.tried(), b.waits())
		}
	}, mail.Presence{Name: "bob"})
}

// Answered rings are free: an orchestrator that deals with each report is rung for the next one too, without limit,
// and every sender was told so.
func TestP12_AnsweredRingsAreFree(t *testing.T) {
	for _, mark := range []mail.Mark{mail.MarkRead, mail.MarkPresented, mail.MarkArchived} {
		door := &bell{kind: "exec"}
		inFixture(t, []Entry{{For: mail.ToOrchestrator, Wakers: []Waker{door}}}, func(b *fixture) {
			for i := range 40 {
				if d := b.send("orchestrator", "task-done", mail.Draft{}).Recipients[0]; d.Wake != "exec" {
					b.Fatalf("the sender of the %dth report is told %+v", i+1, d)
				}
				b.rung(door, i+1, string(mark))
				if i == 20 {
					b.restart()
				}
				b.mark("lead", mark)
				b.pass(3 * time.Second)
			}
			b.notified(0, string(mark))
		}, orchestrator())
	}
}

// A door that waits for the turn that it starts, as a command does, reports its ring when the turn is over. The next
// process also knows that the agent answered.
func TestP12_TurnsInsideTheDoor(t *testing.T) {
	door := &answered{bell: bell{kind: "exec", takes: time.Second}}
	inFixture(t, []Entry{{For: "agent:bob", Wakers: []Waker{door}, Budget: 2}}, func(b *fixture) {
		door.during = func() { b.mark("bob", mail.MarkPresented) }
		for i := range 12 {
			if d := b.send("bob", "question", mail.Draft{}).Recipients[0]; d.Wake != "exec" {
				b.Errorf("the sender of question %d is told %+v", i+1, d)
			}
			b.pass(2 * time.Second)
			if i%4 == 3 {
				b.restart()
				b.pass(time.Second)
			}
		}
		b.rung(&door.bell, 12, "in the end")
	}, mail.Presence{Name: "bob"})
}

// answered is a bell that runs a function while it rings.
type answered struct {
	bell
	during func()
}

func (a *answered) Ring(ctx context.Context, r Ring) error {
	a.during()
	return a.bell.Ring(ctx, r)
}

// An agent that begins turns but never gets to the mail is rung within the budget: a turn that is interrupted before
// the model was given the hook's text is no answer.
func TestP12_BrokenOffTurnsAreVain(t *testing.T) {
	door := &bell{kind: "exec"}
	inFixture(t, []Entry{{For: "agent:bob", Wakers: []Waker{door}, Budget: 4}}, func(b *fixture) {
		id := b.send("bob", "question", mail.Draft{}).ID
		for range 20 {
			b.pass(moment)
			for _, mark := range []mail.Mark{mail.MarkTold, mail.MarkUntold} {
				b.state("bob", map[mail.Mark]mail.State{mail.MarkTold: mail.Working, mail.MarkUntold: mail.Idle}[mark])
				_, err := b.room.Note(b.Context(), []mail.Receipt{{Message: id, Reader: "agent:bob", Mark: mark,
					Door: mail.HookDoor}})
				b.must(err)
				b.pass(moment)
			}
		}
		b.rung(door, 4, "turns that break off")
	}, mail.Presence{Name: "bob"})
}

// A role without a holder is rung for without limit while each new holder reads the mail, otherwise within the budget.
func TestP12_RoleBudget(t *testing.T) {
	for read, want := range map[bool]int{true: 20, false: 4} {
		door := &bell{kind: "exec"}
		inFixture(t, []Entry{{For: "role:builder", Wakers: []Waker{door}, Budget: 4}}, func(b *fixture) {
			for i := range 20 {
				name := mail.Name(fmt.Sprint("builder-", i))
				d := b.send("role:builder", "task-assigned", mail.Draft{}).Recipients[0]
				if read && d.Wake != "exec" || i == 19 && !read && (d.Wake != mail.WakeDeferred || d.PutOff == 0) {
					b.Errorf("read: %v: the sender of task %d is told %+v", read, i+1, d)
				}
				b.pass(moment)
				b.register(mail.Presence{Name: name, Roles: []string{"builder"}, State: mail.Working})
				b.pass(moment)
				if read {
					b.mark(name, mail.MarkRead)
				}
				b.must(b.room.As(mail.User).Retire(b.Context(), name))
				b.pass(moment)
			}
			b.rung(door, want, fmt.Sprint("read: ", read))
		})
	}
}

// An agent whose doors fail is not rung for new mail: its sender is told when it will be.
func TestP7_NothingIsPromised(t *testing.T) {
	door := &bell{kind: "exec", fails: errBell}
	inFixture(t, []Entry{{For: "agent:bob", Wakers: []Waker{door}}}, func(b *fixture) {
		b.send("bob", "question", mail.Draft{})
		b.pass(time.Minute)
		tries := door.tried()
		d := b.send("bob", "question", mail.Draft{}).Recipients[0]
		if d.Wake != mail.WakeDeferred || d.PutOff <= mail.TimeOf(b.now()) {
			b.Errorf("the sender is told %+v", d)
		}
		b.pass(d.PutOff.Sub(mail.TimeOf(b.now())) - time.Second)
		if door.tried() != tries {
			b.Error("it was rung before the sender was told that it would be")
		}
		door.set(nil)
		b.pass(time.Second)
		b.rung(door, 1, "at that time")
		b.mark("bob", mail.MarkRead)
		b.pass(moment)
		if d := b.send("bob", "question", mail.Draft{}).Recipients[0]; d.Wake != "exec" {
			b.Errorf("the door rings again, and the sender is told %+v", d)
		}
	}, mail.Presence{Name: "bob"})
}

func TestP12_Budget(t *testing.T) {
	door := &bell{kind: "exec"}
	inFixture(t, []Entry{{For: "agent:bob", Wakers: []Waker{door}, Budget: 4}}, func(b *fixture) {
		b.send("bob", "question", mail.Draft{})
		b.pass(12 * time.Minute)
		b.rung(door, 4, "within the budget")
		if d := b.send("bob", "question", mail.Draft{}).Recipients[0]; d.Wake != mail.WakeDeferred ||
			d.PutOff.String()[:16] != "2000-01-01T01:00" {
			b.Errorf("the sender of what is put off is told %+v", d)
		}
		b.pass(5 * time.Minute)
		b.rung(door, 4, "over it")
		b.notified(1, "over it", "woken 4 times within an hour without effect",
			"not woken again before 2000-01-01T01:00")
		if d := b.send("bob", "question", mail.Draft{Priority: "urgent"}).Recipients[0]; d.Wake != "exec" ||
			d.PutOff != 0 {
			b.Errorf("the sender of urgent mail is told %+v", d)
		}
		b.rung(door, 5, "urgent mail")
		b.mark("bob", mail.MarkRead)
		b.pass(moment)
		b.send("bob", "question", mail.Draft{Priority: "urgent"})
		b.pass(20 * time.Minute)
		b.rung(door, 9, "the cap of urgent mail, of which one ring was answered")
		b.restart()
		b.rung(door, 9, "after a restart")
		for _, typ := range []string{"status", "question"} {
			if d := b.send("bob", typ, mail.Draft{Priority: "urgent"}).Recipients[0]; d.PutOff == 0 {
				b.Errorf("the sender of urgent mail above the cap is told %+v", d)
			}
		}
		if d := b.send("bob", "status", mail.Draft{}).Recipients[0]; d.PutOff != 0 {
			b.Errorf("what wakes nobody is put off: %+v", d)
		}
		b.pass(time.Hour)
		if got := door.rung(); got <= 9 || got > 13 {
			b.Errorf("after an hour it was rung %d times, want a few more than 9", got)
		}
	}, mail.Presence{Name: "bob"})
}

func TestP8_Restart(t *testing.T) {
	door := &bell{kind: "exec", fails: errBell}
	inFixture(t, []Entry{{For: mail.ToOrchestrator, Wakers: []Waker{door}}}, func(b *fixture) {
		b.send("orchestrator", "task-done", mail.Draft{})
		b.pass(moment)
		door.set(nil)
		b.restart()
		b.rung(door, 1, "a ring that had failed")
		b.restart()
		b.rung(door, 1, "a ring that is outstanding")
		b.pass(2 * time.Minute)
		b.rung(door, 2, "when it was not answered")
		b.state("lead", mail.Working)
		b.pass(moment)
		b.restart()
		b.rung(door, 2, "killed while it works")
		b.state("lead", mail.Idle)
		b.rung(door, 3, "at turn end")
		b.pass(time.Hour)
		b.rung(door, 5, "five in vain")
		b.notified(1, "five in vain")
		b.restart()
		b.pass(time.Hour)
		b.rung(door, 5, "given up before the restart")
		b.notified(1, "and told before the restart")
		b.mark("lead", mail.MarkRead)
		b.restart()
		b.pass(time.Hour)
		b.rung(door, 5, "nothing is unread")

		b.send("orchestrator", "task-done", mail.Draft{})
		b.rung(door, 6, "new mail")
		b.state("lead", mail.Working)
		b.pass(moment)
		b.away(func() { b.state("lead", mail.Idle) })
		b.rung(door, 7, "the turn ended while no post office was there")
		b.away(func() { b.send("orchestrator", "question", mail.Draft{}) })
		b.rung(door, 7, "mail that came while no post office was there joins what is outstanding")
	}, orchestrator())
}

// An agent that keeps reading, but never everything, is rung again and again, and the user is not told.
func TestPartialReader(t *testing.T) {
	door := &bell{kind: "exec"}
	inFixture(t, []Entry{{For: "agent:bob", Wakers: []Waker{door}, Budget: 1000}}, func(b *fixture) {
		var ids []mail.ID
		for range 12 {
			ids = append(ids, b.send("bob", "question", mail.Draft{}).ID)
		}
		for _, id := range ids[1:] {
			b.pass(6 * time.Minute) // two rings
			b.mark("bob", mail.MarkRead, id)
		}
		if door.rung() < 2*len(ids)-2 {
			b.Errorf("rung %d times, want twice for each of %d reads", door.rung(), len(ids))
		}
		b.notified(0, "all along")
	}, mail.Presence{Name: "bob"})
}

// Mail for a role without a live holder wakes the holder that left, or a new one.
func TestHeldMail(t *testing.T) {
	door := &bell{kind: "exec"}
	entries := []Entry{{For: mail.ToOrchestrator, Wakers: []Waker{door}}, {For: "role:builder", Wakers: []Waker{door}}}
	inFixture(t, entries, func(b *fixture) {
		sent := b.send("orchestrator", "task-done", mail.Draft{})
		if d := sent.Recipients[0]; d.State != mail.Held || d.Wake != "exec" {
			b.Errorf("the sender is told %+v, want held and exec", d)
		}
		b.rung(door, 1, "no orchestrator is known")
		if got := door.last(); got.Agent != mail.Orchestrator || got.Role != "orchestrator" || got.Unread != 1 {
			b.Errorf("the ring is %+v", got)
		}
		b.restart()
		b.rung(door, 1, "it is outstanding after a restart too")
		b.register(orchestrator())
		b.mark("lead", mail.MarkRead, sent.ID)
		b.pass(time.Hour)
		b.rung(door, 1, "it came")

		b.state("lead", mail.Gone)
		b.send("orchestrator", "question", mail.Draft{})
		b.rung(door, 2, "the orchestrator has gone")
		if got := door.last(); got.Agent != "lead" || got.Role != "orchestrator" {
			b.Errorf("the ring is %+v, want one for lead", got)
		}
		b.state("lead", mail.Frozen)
		b.pass(time.Hour)
		b.rung(door, 2, "it is frozen")
		b.state("lead", mail.Working)
		b.mark("lead", mail.MarkRead)

		b.send("role:builder", "task-assigned", mail.Draft{})
		b.rung(door, 3, "nobody has the role")
		if got := door.last(); got.Agent != "" || got.Role != "builder" {
			b.Errorf("the ring is %+v, want one for any builder", got)
		}
		b.pass(time.Hour)
		b.notified(1, "nobody came", "any builder cannot be woken")
		if w := b.send("role:reviewer", "review-request", mail.Draft{}).Recipients[0].Wake; w != mail.WakeNone {
			b.Errorf("a role without a door: %q, want none", w)
		}
	})
}

// An agent whose session has ended is woken through its door, and its mail is not dead in the meantime.
func TestGoneAgent(t *testing.T) {
	door := &bell{kind: "exec"}
	inFixture(t, []Entry{{For: "agent:bob", Wakers: []Waker{door}}}, func(b *fixture) {
		for _, n := range []mail.Name{"bob", "eve"} {
			b.register(mail.Presence{Name: n})
			b.state(n, mail.Gone)
			d := b.send(string(n), "question", mail.Draft{}).Recipients[0]
			if want := (mail.Delivery{Address: mail.AgentAddress(n), Agent: n, State: mail.Queued,
				Wake: "exec"}); n == "bob" && d != want {
				b.Errorf("to bob: %+v, want %+v", d, want)
			}
			if n == "eve" && d.State != mail.Dead {
				b.Errorf("to eve, who has no door: %+v, want dead", d)
			}
		}
		b.rung(door, 1, "for bob")
		b.must(b.room.As(mail.User).Retire(b.Context(), "bob"))
		b.pass(time.Hour)
		b.rung(door, 1, "bob was retired")
	})
}

// An agent's own entry takes precedence over that of its role; an agent that waits is not rung.
func TestWhichDoor(t *testing.T) {
	own, role := &bell{kind: "exec"}, &bell{kind: "webhook"}
	entries := []Entry{{For: "agent:bob", Wakers: []Waker{own}}, {For: "role:builder", Wakers: []Waker{role}}}
	inFixture(t, entries, func(b *fixture) {
		b.send("bob", "question", mail.Draft{})
		b.send("eve", "question", mail.Draft{})
		b.rung(own, 1, "bob")
		b.rung(role, 1, "eve")
		b.mark("bob", mail.MarkRead)
		b.mark("eve", mail.MarkRead)
		go b.room.As("bob").Wait(b.Context(), mail.WaitQuery{})
		synctest.Wait()
		sent := b.send("bob", "question", mail.Draft{})
		if w := sent.Recipients[0].Wake; w != mail.WakeWaiting {
			b.Errorf("the sender is told %q, want waiting", w)
		}
		b.rung(own, 1, "it waited")
		b.pass(2 * time.Minute)
		b.rung(own, 2, "it waited and did not look")
	}, mail.Presence{Name: "bob", Roles: []string{"builder"}}, mail.Presence{Name: "eve", Roles: []string{"builder"}})
}

// Expired mail wakes no agent.
func TestExpiredMail(t *testing.T) {
	door := &bell{kind: "exec", fails: errBell}
	inFixture(t, []Entry{{For: "agent:bob", Wakers: []Waker{door}}}, func(b *fixture) {
		b.send("bob", "question", mail.Draft{TTLSeconds: 60})
		b.pass(10 * time.Minute)
		if b.waits() != 0 || len(b.notices()) != 0 {
			b.Errorf("%d outstanding, %d notices, want none", b.waits(), len(b.notices()))
		}
	}, mail.Presence{Name: "bob"})
}

// A notice that cannot be written is retried.
func TestNoticeIsNotLost(t *testing.T) {
	door := &bell{kind: "exec"}
	inFixture(t, []Entry{{For: "agent:bob", Wakers: []Waker{door}}}, func(b *fixture) {
		b.send("bob", "question", mail.Draft{})
		b.pass(10 * time.Minute)
		b.mute.Store(true)
		b.pass(time.Hour)
		b.notified(0, "it cannot be told")
		if b.waits() != 1 {
			b.Error("it was given up without a word")
		}
		b.mute.Store(false)
		b.pass(10 * time.Minute)
		b.notified(1, "it can be told", "bob cannot be woken")
	}, mail.Presence{Name: "bob"})
}

// A continuous stream of events does not keep the Ringer from looking.
func TestBusyRoom(t *testing.T) {
	door := &bell{kind: "exec"}
	inFixture(t, []Entry{{For: "agent:bob", Wakers: []Waker{door}}}, func(b *fixture) {
		b.pass(silence)
		b.send("bob", "question", mail.Draft{})
		for range 20 {
			b.send("bob", "status", mail.Draft{})
			b.pass(gather / 5)
		}
		if door.rung() != 1 {
			b.Errorf("rung %d times within %s of a busy room, want once", door.rung(), 4*gather)
		}
	}, mail.Presence{Name: "bob"})
}

// Many agents are all rung, but not all at the same time.
func TestManySleepers(t *testing.T) {
	door := &bell{kind: "exec", takes: time.Second}
	inFixture(t, []Entry{{For: "role:builder", Wakers: []Waker{door}}}, func(b *fixture) {
		const n = 3*maxRinging + 1
		for i := range n {
			name := mail.Name(fmt.Sprintf("b%02d", i))
			b.register(mail.Presence{Name: name, Roles: []string{"builder"}})
			b.send(string(name), "question", mail.Draft{})
		}
		b.pass(2 * time.Second)
		if got := door.rung(); got > 2*maxRinging {
			b.Errorf("%d rings within 2 s, want at most %d", got, 2*maxRinging)
		}
		b.pass(3 * time.Second)
		b.rung(door, n, "in the end")
	})
}

// TestP8_ClockSetBack: rings keep their time when the clock is set back, and so does the budget, even after a restart.
func TestP8_ClockSetBack(t *testing.T) {
	door := &bell{kind: "exec"}
	inFixture(t, []Entry{{For: "agent:bob", Budget: 4, Wakers: []Waker{door}}}, func(b *fixture) {
		b.send("bob", "question", mail.Draft{})
		b.rung(door, 1, "at once")
		b.pass(time.Minute)
		b.back.Add(int64(10 * time.Hour))
		b.pass(time.Minute + moment)
		b.rung(door, 2, "after two minutes by a clock that nobody sets")
		b.back.Add(int64(10 * time.Hour))
		b.restart()
		b.pass(2*time.Minute + moment)
		b.rung(door, 3, "by the next process, which reads of rings to come")
		b.pass(5 * time.Minute)
		b.rung(door, 4, "again")
		b.back.Add(int64(10 * time.Hour))
		b.send("bob", "question", mail.Draft{})
		b.pass(time.Hour - 10*time.Minute)
		b.rung(door, 4, "over the budget")
		b.pass(5 * time.Minute)
		b.rung(door, 5, "when the hour since the restart has passed")
	}, mail.Presence{Name: "bob"})
}
