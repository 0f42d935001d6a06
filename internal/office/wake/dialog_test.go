package wake

import (
	"strings"
	"testing"
	"time"

	"pennypost/internal/mail"
)

// dialog makes bob's client open a dialog, put it in doubt or end it.
func (b *fixture) dialog(id mail.ID, doubt bool, how mail.DialogOutcome) {
	b.Helper()
	b.must(b.room.As("bob").Dialog(b.Context(), mail.DialogChange{Session: "s1", Outcome: how, Dialog: mail.Dialog{
		ID: id, Kind: mail.AsksPermission, Tool: "Bash", Sum: strings.Repeat("0f", 32), Doubt: doubt}}))
}

// An agent at a dialog is never rung, however long it takes and however urgent the mail, because the ring would type
// into the dialog; nor is the user told that it cannot be woken. When the last dialog is over, an idle agent is rung
// immediately.
func TestP8_AtADialog(t *testing.T) {
	const allowed = mail.DialogAllowed
	inDialog := func(what string, entries []Entry, run func(b *fixture)) {
		t.Run(what, func(t *testing.T) {
			inFixture(t, entries, func(b *fixture) {
				b.inSession(mail.Turn{Moment: mail.TurnStart})
				b.inSession(mail.Turn{Moment: mail.TurnEnd})
				run(b)
			}, mail.Presence{Name: "bob"})
		})
	}
	door := &bell{kind: "tmux"}
	entries := []Entry{{For: "agent:bob", Wakers: []Waker{door}}}
	asked := func(b *fixture, wake string, doubt bool) {
		b.Helper()
		d := b.send("bob", "question", mail.Draft{Priority: string(mail.Urgent)}).Recipients[0]
		if d.Wake != wake || (d.Asking != 0) != (wake == mail.WakeAsking || doubt) || d.Doubt != doubt {
			b.Errorf("the sender is told %+v, want %s", d, wake)
		}
	}
	inDialog("idle beside two dialogs", entries, func(b *fixture) {
		b.dialog("d-1", false, "")
		b.dialog("d-2", false, "")
		asked(b, mail.WakeAsking, false)
		b.pass(3 * time.Hour)
		b.dialog("d-1", false, allowed)
		b.pass(time.Hour)
		b.rung(door, 0, "while it is at a dialog")
		b.notified(0, "while it is at a dialog")
		b.dialog("d-2", false, mail.DialogEnded)
		b.pass(moment)
		b.rung(door, 1, "when the last is over")
	})
	*door = bell{kind: "tmux"}
	inDialog("mail before the dialog", entries, func(b *fixture) {
		asked(b, "tmux", false)
		b.pass(moment)
		b.rung(door, 1, "before the dialog")
		b.dialog("d-1", false, "")
		b.pass(3 * time.Hour)
		b.rung(door, 1, "while it is at a dialog")
		b.notified(0, "while it is at a dialog")
		b.dialog("d-1", false, allowed)
		b.pass(moment)
		b.rung(door, 2, "when it is over and the agent idle")
	})
	*door = bell{kind: "tmux"}
	inDialog("in doubt", entries, func(b *fixture) {
		b.dialog("d-1", false, "")
		b.dialog("d-2", false, "")
		b.dialog("d-1", true, "")
		asked(b, mail.WakeAsking, false)
		b.pass(time.Hour)
		b.rung(door, 0, "while one of two is certain")
		b.dialog("d-2", true, "")
		b.pass(moment)
		b.rung(door, 1, "when both may be over")
		asked(b, "tmux", true)
	})
	*door = bell{kind: "tmux"}
	inDialog("working", entries, func(b *fixture) {
		b.inSession(mail.Turn{Moment: mail.TurnStart})
		b.dialog("d-1", false, "")
		asked(b, mail.WakeAsking, false)
		b.dialog("d-1", false, allowed)
		b.pass(time.Hour)
		b.rung(door, 0, "while it works")
		b.inSession(mail.Turn{Moment: mail.TurnEnd, Over: true})
		b.pass(moment)
		b.rung(door, 1, "when its turn has ended")
	})
	*door = bell{kind: "tmux"}
	inDialog("without a door", nil, func(b *fixture) {
		b.dialog("d-1", false, "")
		asked(b, mail.WakeAsking, false)
		b.pass(time.Hour)
		b.notified(0, "while it is at a dialog")
		b.dialog("d-1", false, allowed)
		b.pass(10 * time.Minute)
		b.notified(1, "when nobody has looked since", "bob cannot be woken")
	})
	*door = bell{kind: "tmux"}
	inDialog("given up before", entries, func(b *fixture) {
		asked(b, "tmux", false)
		b.pass(time.Hour)
		b.rung(door, 5, "in vain")
		b.notified(1, "in vain", "bob")
		b.dialog("d-1", false, "")
		b.pass(moment)
		b.dialog("d-1", false, allowed)
		b.pass(10 * time.Minute)
		if n := door.rung(); n == 5 {
			b.Error("who was at a dialog since was in a turn, and is not rung again")
		}
	})
	*door = bell{kind: "tmux"}
	inDialog("its session ends", entries, func(b *fixture) {
		b.dialog("d-1", false, "")
		asked(b, mail.WakeAsking, false)
		b.inSession(mail.Turn{Moment: mail.SessionEnd})
		b.pass(moment)
		b.rung(door, 1, "when its session has ended")
	})
}
