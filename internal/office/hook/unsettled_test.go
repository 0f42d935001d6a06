package hook_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"pennypost/internal/mail"
	"pennypost/internal/office/hook"
	"pennypost/internal/office/hook/hooktest"
)

// mute has dialogs whose end no room can be told.
type mute struct {
	hook.Dialogs
	session string
}

func (m mute) Of(client, _ string) []hook.Held {
	return []hook.Held{{Client: client, Session: m.session, Agent: "ann"}}
}

func (mute) Note(*hook.Event) {}

func (mute) Settle(context.Context, hook.Service, *hook.Held, mail.DialogOutcome) error {
	return errors.New("the room is full")
}

// TestUnsettled: failing to tell a room the end of a dialog holds back neither mail nor a turn.
func TestUnsettled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFixture(t)
		h := &hooktest.Harness{Client: hooktest.Clients()[0], Session: "s1", Dir: "/srv/parser",
			Run: b.runnerWith("ann", "ann/s1", func(c *hooktest.Counter) { c.Dialogs = mute{session: "s1"} })}
		h.Start("startup")
		b.send("ann", "one")
		h.Prompt("go on")
		b.wantShown(h, "one")
	})
}
