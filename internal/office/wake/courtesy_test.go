package wake

import (
	"testing"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
)

// inSession reports a moment of bob's session.
func (b *fixture) inSession(t mail.Turn) mail.Briefing {
	b.Helper()
	t.Session, t.Client = "s1", "claude"
	brief, err := b.room.As("bob").Turn(b.Context(), t)
	b.must(err)
	return brief
}

// opened opens bob's session while a question waits, and hands the question to its client.
func (b *fixture) opened() mail.ID {
	b.Helper()
	id := b.send("bob", "question", mail.Draft{}).ID
	if brief := b.inSession(mail.Turn{Moment: mail.SessionStart}); len(brief.Items) != 1 {
		b.Fatalf("the session is told %+v", brief)
	}
	_, err := b.room.As("bob").Mark(b.Context(), mail.Marking{IDs: []mail.ID{id}, Mark: mail.MarkTold,
		Door: mail.HookDoor})
	b.must(err)
	return id
}

// Mail told to a session when it was opened is rung for if no turn begins, after a delay in which its person may begin
// one.
func TestP8_ToldAtOpening(t *testing.T) {
	door := &bell{kind: "socket"}
	entries := []Entry{{For: "agent:bob", Wakers: []Waker{door}}}
	later := policy.OpenedFor - 3*moment
	inFixture(t, entries, func(b *fixture) {
		b.mark("bob", mail.MarkRead) // marks nothing, but shows that the agent exists
		b.opened()
		b.pass(later)
		b.rung(door, 0, "while the person may begin")
		b.rung(door, 0, "a moment before")
		b.pass(moment)
		b.rung(door, 1, "when nobody has begun")
		brief := b.inSession(mail.Turn{Moment: mail.TurnStart, Ring: true})
		if brief.Stale || len(brief.Items) != 0 {
			b.Errorf("the turn that the ring began is told %+v, want nothing more", brief)
		}
		b.inSession(mail.Turn{Moment: mail.TurnEnd, Proof: true})
		b.pass(time.Hour)
		b.rung(door, 1, "when the model was given it")
		b.notified(0, "all along")
	}, mail.Presence{Name: "bob"})
	door = &bell{kind: "socket"}
	entries[0].Wakers[0] = door
	inFixture(t, entries, func(b *fixture) {
		b.opened()
		b.pass(later)
		b.inSession(mail.Turn{Moment: mail.TurnStart})
		b.inSession(mail.Turn{Moment: mail.TurnEnd, Proof: true})
		b.pass(time.Hour)
		b.rung(door, 0, "when a turn has begun")
	}, mail.Presence{Name: "bob"})
	door = &bell{kind: "socket"}
	entries[0].Wakers[0] = door
	inFixture(t, entries, func(b *fixture) {
		b.opened()
		b.send("bob", "question", mail.Draft{})
		b.rung(door, 1, "what came since is rung for at once")
	}, mail.Presence{Name: "bob"})
}

// While the person types into a newly opened session it is not rung, for two minutes at most.
func TestP8_TypedAtOpening(t *testing.T) {
	door := &bell{kind: "socket"}
	inFixture(t, []Entry{{For: "agent:bob", Wakers: []Waker{door}}}, func(b *fixture) {
		b.opened()
		for range 4 {
			b.pass(10 * time.Second)
			b.typed.Store(int64(mail.TimeOf(time.Now())))
		}
		b.pass(policy.TypedFor - 3*time.Second)
		b.rung(door, 0, "while the person types")
		b.pass(3 * time.Second)
		b.rung(door, 1, "when the person has stopped")
	}, mail.Presence{Name: "bob"})
	door = &bell{kind: "socket"}
	inFixture(t, []Entry{{For: "agent:bob", Wakers: []Waker{door}}}, func(b *fixture) {
		b.opened()
		for range 13 {
			b.pass(10 * time.Second)
			b.typed.Store(int64(mail.TimeOf(time.Now())))
		}
		b.rung(door, 1, "when it has typed to itself for two minutes")
	}, mail.Presence{Name: "bob"})
}

// An agent without a door is not forgotten because its client was handed mail: the person is told.
func TestP8_ToldAndNoDoor(t *testing.T) {
	inFixture(t, nil, func(b *fixture) {
		b.opened()
		b.pass(time.Minute)
		b.notified(0, "while the person may look")
		b.pass(10 * time.Minute)
		b.notified(1, "when nobody has", "bob cannot be woken")
	}, mail.Presence{Name: "bob"})
}

// An agent whose turn was interrupted is left alone for a minute, unless the mail is urgent; and its sender is told.
func TestP8_AfterBreak(t *testing.T) {
	for _, urgent := range []bool{false, true} {
		door := &bell{kind: "socket"}
		inFixture(t, []Entry{{For: "agent:bob", Wakers: []Waker{door}}}, func(b *fixture) {
			b.inSession(mail.Turn{Moment: mail.TurnStart})
			b.inSession(mail.Turn{Moment: mail.TurnEnd, Over: true})
			d := b.send("bob", "question", mail.Draft{}).Recipients[0]
			if d.Wake != mail.WakeBroken || d.PutOff == 0 {
				b.Errorf("the sender is told %+v", d)
			}
			b.pass(policy.BrokenFor / 2)
			b.rung(door, 0, "just after Esc")
			if urgent {
				if d := b.send("bob", "question", mail.Draft{Priority: "urgent"}).Recipients[0]; d.Wake != "socket" {
					b.Errorf("who sends urgent mail is told %+v", d)
				}
				b.rung(door, 1, "urgent mail")
				return
			}
			b.pass(policy.BrokenFor / 2)
			b.rung(door, 1, "a minute later")
		}, mail.Presence{Name: "bob"})
	}
}
