package wake

import (
	"testing"
	"time"

	"pennypost/internal/mail"
)

// turn reports a moment of an agent's session, as its hooks do.
func (b *fixture) turn(n mail.Name, m mail.Moment) mail.Briefing {
	b.Helper()
	brief, err := b.room.As(n).Turn(b.Context(), mail.Turn{Moment: m, Session: "s1", Client: "gemini"})
	b.must(err)
	return brief
}

// stopsOver tells mail to an agent that does not look at it, and ends its turn.
func (b *fixture) stopsOver(n mail.Name) {
	b.Helper()
	b.turn(n, mail.SessionStart)
	b.turn(n, mail.TurnStart)
	b.send(string(n), "question", mail.Draft{})
	for range mail.MaxContinues {
		if brief := b.turn(n, mail.TurnEnd); !brief.Continue {
			b.Fatalf("the turn does not go on: %+v", brief)
		}
	}
	if brief := b.turn(n, mail.TurnEnd); !brief.GaveUp {
		b.Fatalf("the turn has not ended over the mail: %+v", brief)
	}
}

// The end of a turn and the ringer both find unread mail of a sleeping agent. The user is told once.
func TestP8_OneNotice(t *testing.T) {
	t.Run("without a door", func(t *testing.T) {
		inFixture(t, nil, func(b *fixture) {
			b.stopsOver("ann")
			b.notified(1, "at the turn's end", "ann has stopped with unread mail")
			b.pass(2 * time.Hour)
			b.notified(1, "later")
			b.restart()
			b.pass(2 * time.Hour)
			b.notified(1, "after a restart")
			b.send("ann", "question", mail.Draft{})
			b.pass(2 * time.Hour)
			b.notified(2, "more mail has come", "2 messages wait for ann")
		})
	})
	t.Run("with one that fails", func(t *testing.T) {
		door := &bell{kind: "exec", fails: errBell}
		inFixture(t, []Entry{{For: "agent:ann", Wakers: []Waker{door}}}, func(b *fixture) {
			b.stopsOver("ann")
			b.notified(0, "at the turn's end: the door is rung now")
			b.pass(2 * time.Hour)
			b.notified(1, "later", "ann cannot be woken", "exec: out of order")
		})
	})
	t.Run("with one that nobody answers", func(t *testing.T) {
		door := &bell{kind: "exec"}
		inFixture(t, []Entry{{For: "agent:ann", Wakers: []Waker{door}}}, func(b *fixture) {
			b.stopsOver("ann")
			b.pass(2 * time.Hour)
			b.notified(1, "later", "exec: woke it, but it did not read its mail")
		})
	})
	t.Run("with one that is off", func(t *testing.T) {
		door := &bell{kind: "exec", fails: ErrOff}
		inFixture(t, []Entry{{For: "agent:ann", Wakers: []Waker{door}}}, func(b *fixture) {
			b.stopsOver("ann")
			b.pass(2 * time.Hour)
			b.notified(1, "later", "No usable door is left")
		})
	})
}

// An idle session without a known door has a while to look by itself. Then the user is told, once per message and at
// most once an hour.
func TestP8_NoDoor(t *testing.T) {
	inFixture(t, nil, func(b *fixture) {
		b.turn("ann", mail.SessionStart)
		b.register(mail.Presence{Name: "bob"}) // has no session: its state is not known
		b.send("ann", "question", mail.Draft{})
		b.send("bob", "question", mail.Draft{})
		b.send("ann", "status", mail.Draft{})
		b.pass(4 * time.Minute)
		b.notified(0, "at first")
		if b.waits() != 1 {
			b.Errorf("%d are waited for, want ann", b.waits())
		}
		b.pass(2 * time.Minute)
		b.notified(1, "after a while", "ann cannot be woken", "1 message waits", "No door can wake it")
		b.send("ann", "question", mail.Draft{})
		b.pass(30 * time.Minute)
		b.notified(1, "half an hour later, with more mail")
		b.pass(time.Hour)
		b.notified(2, "an hour later", "2 messages wait")
		b.turn("ann", mail.TurnStart)
		b.mark("ann", mail.MarkRead)
		b.turn("ann", mail.TurnEnd)
		b.pass(24 * time.Hour)
		b.notified(2, "all is read")
		if b.waits() != 0 {
			b.Errorf("%d are waited for in the end", b.waits())
		}
	})
}
