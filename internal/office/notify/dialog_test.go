package notify

import (
	"context"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pennypost/internal/config"
	"pennypost/internal/mail"
	"pennypost/internal/room/mailroom"
)

// ask opens a dialog of an agent's client.
func (b *fixture) ask(agent mail.Name, id mail.ID, kind mail.DialogKind, tool string) {
	b.Helper()
	_, err := b.room.As(agent).Register(b.Context(), mail.Presence{Name: agent, Session: "s-" + string(agent),
		State: mail.Working})
	b.must(err)
	b.dialog(agent, mail.DialogChange{Dialog: mail.Dialog{ID: id, Kind: kind, Tool: tool}})
}

func (b *fixture) dialog(agent mail.Name, c mail.DialogChange) {
	b.Helper()
	c.Agent, c.Session, c.Sum = agent, "s-"+string(agent), strings.Repeat("ab", 32)
	b.must(b.room.As(agent).Dialog(b.Context(), c))
	synctest.Wait()
}

// held sets the dialogs that this machine holds.
func (b *fixture) held(cards ...mail.Card) {
	b.notify.opts.Card = func(id mail.ID) (mail.Card, bool) {
		for _, c := range cards {
			if c.ID == id {
				return c, true
			}
		}
		return mail.Card{}, false
	}
}

func command(id mail.ID, text string) mail.Card {
	return mail.Card{Dialog: mail.Dialog{ID: id}, Ask: mail.Ask{Form: mail.FormCommand, Text: text,
		Offers: []mail.Offer{{Verdict: mail.SayAllow}, {Verdict: mail.SayDeny, Words: true}}}}
}

// TestDialogIsTold: a dialog is told like a question, and names the command; it opens the card, has no button, and
// is told once.
func TestDialogIsTold(t *testing.T) {
	inFixture(t, config.Telling{URL: "https://box.example"}, func(b *fixture) {
		b.notify.lines[0].answers = true
		b.held(command("d-one", "rm -rf build\n\x1b[2J\u202e&& ls"))
		b.ask("ann", "d-one", mail.AsksPermission, "Bash")
		b.pass(gather - time.Millisecond)
		b.told()
		b.pass(time.Millisecond)
		b.told("May ann run this command?")
		n := b.pad.notes[0]
		if n.Text != "rm -rf build ⟨U+001B⟩[2J⟨U+202E⟩&& ls\nIn room lab." || len(n.Buttons) != 0 ||
			n.URL != "https://box.example/@lab/?d=d-one" || !n.Letters[0].Dialog {
			t.Errorf("the note is %+v", n)
		}
		b.pass(time.Hour)
		b.stop()
		b.done.Wait()
		b.must(b.room.Close())
		b.start() // again
		b.pass(time.Hour)
		b.told("May ann run this command?")
	})
}

// TestDialogAnsweredMeanwhile: a dialog that was answered immediately, or is in doubt, is not told; nor is one that
// the person does not want to be told of.
func TestDialogAnsweredMeanwhile(t *testing.T) {
	inFixture(t, config.Telling{}, func(b *fixture) {
		b.ask("ann", "d-one", mail.AsksPermission, "Bash")
		b.dialog("ann", mail.DialogChange{Dialog: mail.Dialog{ID: "d-one", Kind: mail.AsksPermission},
			Outcome: mail.DialogAllowed})
		b.ask("ann", "d-two", mail.AsksPermission, "Bash")
		b.dialog("ann", mail.DialogChange{Dialog: mail.Dialog{ID: "d-two", Kind: mail.AsksPermission, Doubt: true}})
		b.pass(time.Hour)
		b.told()
		if b.notify.Busy() {
			t.Error("busy with what is over")
		}
	})
	inFixture(t, config.Telling{What: "urgent"}, func(b *fixture) {
		b.ask("ann", "d-one", mail.AsksPermission, "Bash")
		b.pass(time.Hour)
		b.told()
	})
}

// TestDialogWithoutText: a channel without texts gets no command; for a dialog on another machine the kind is told.
func TestDialogWithoutText(t *testing.T) {
	no := false
	inFixture(t, config.Telling{Text: &no}, func(b *fixture) {
		b.held(command("d-one", "echo secret"))
		b.ask("ann", "d-one", mail.AsksPermission, "Bash")
		b.pass(gather)
		b.told("May ann run this command?")
		if n := b.pad.notes[0]; strings.Contains(n.Text, "secret") || n.Letters[0].Preview != "" {
			t.Errorf("the note is %+v", n)
		}
		b.pass(apart)
		b.ask("bea", "d-two", mail.AsksPermission, "Write")
		b.pass(gather)
		b.told("May ann run this command?", "May bea use Write?")
	})
}

// TestDialogsInADigest: a digest names each dialog with its question, limited in length; quiet hours apply.
func TestDialogsInADigest(t *testing.T) {
	inFixture(t, config.Telling{Quiet: "00:00-12:00"}, func(b *fixture) {
		question := mail.Card{Dialog: mail.Dialog{ID: "d-two"}, Ask: mail.Ask{
			Questions: []mail.AskedQuestion{{Text: "Which\n\x07database?"}}}}
		b.held(command("d-one", "echo "+strings.Repeat("x", 10_000)), question)
		b.ask("ann", "d-one", mail.AsksPermission, "Bash")
		b.pass(time.Second)
		b.ask("bea", "d-two", mail.AsksQuestion, "AskUserQuestion")
		b.pass(time.Second)
		b.send("cat", mail.Question, "And?", mail.Draft{})
		b.pass(time.Minute)
		b.told()
		b.pass(13 * time.Hour)
		b.told("3 questions from ann, bea and cat")
		text := b.pad.notes[0].Text
		if !strings.Contains(text, "• May ann run this command? echo xxxx") || len(text) > 500 ||
			!strings.Contains(text, "• bea asks: Which ⟨U+0007⟩database?\n") {
			t.Errorf("the digest is %d bytes: %s", len(text), text)
		}
	})
}

// TestDialogAfterRestart: a dialog opened before the post office started, and not told, is told.
func TestDialogAfterRestart(t *testing.T) {
	inFixture(t, config.Telling{Quiet: "00:00-12:00"}, func(b *fixture) {
		b.ask("ann", "d-one", mail.AsksPermission, "Bash")
		b.pass(time.Minute)
		b.stop()
		b.done.Wait()
		b.must(b.room.Close())
		b.start()
		b.told()
		b.pass(13 * time.Hour)
		b.told("May ann use Bash?")
	})
}

// silent is a room whose person another machine tells.
type silent struct{ *mailroom.Room }

func (silent) Tells() bool { return false }

// TestDialogIsToldByOneMachine: of several machines with a room only one tells.
func TestDialogIsToldByOneMachine(t *testing.T) {
	inFixture(t, config.Telling{}, func(b *fixture) {
		b.notify.opts.Use = func(_ context.Context, _ mail.RoomName, use func(Room) error) error {
			return use(silent{b.room})
		}
		b.ask("ann", "d-one", mail.AsksPermission, "Bash")
		b.pass(time.Hour)
		b.told()
	})
}

func TestDialogPath(t *testing.T) {
	l := letterOfDialog(&mail.Card{Room: "a b", Dialog: mail.Dialog{ID: "d-one"}})
	u, err := url.Parse(l.path())
	if err != nil || u.Path != "/@a b/" || u.Query().Get("d") != "d-one" {
		t.Errorf("path = %q: %v", l.path(), err)
	}
}
