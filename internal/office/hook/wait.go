package hook

import (
	"context"
	"errors"
	"fmt"

	"pennypost/internal/fence"
	"pennypost/internal/mail"
)

// wakeStatus is the exit status with which a waiting hook makes Claude Code wake the session
// (code.claude.com/docs/en/hooks, asyncRewake). Our extensions in other clients do the same.
const wakeStatus = 2

// Wait waits beside a session whose turn has ended until it is rung, and passes the output of the hook's process to
// hand, once. After every silence it passes nil. An answer without text ends the wait for good. A session has one
// waiter: each end of a turn begins another, which ends the one before. The wait continues through the turns of the
// session, during which no ring comes: a turn that a person interrupts runs no hook that could begin another.
func (c *Call) Wait(ctx context.Context, hand func(*Answer) error) error {
	client, ok := FindClient(c.Client)
	if !ok {
		return fmt.Errorf("unknown client %q", c.Client)
	}
	in, err := read(c.Input)
	if err != nil {
		return err
	}
	e := client.read(c.Event, in)
	// Other clients run Claude Code's hooks too, and would block on this one.
	if waiting, _ := FindClient(e.Client); !waiting.waits || e.Moment != mail.TurnEnd || e.Sub || e.Session.ID == "" {
		return fmt.Errorf("no wait at %s of %s", e.Name, e.Client)
	}
	c.know(&client, &e)
	box, err := c.Enter(ctx, &e)
	if err != nil {
		return err
	}
	return box.Ring(ctx, mail.Listener{Door: mail.RewakeDoor, Session: e.Session.ID}, func(r *mail.Rung) error {
		switch {
		case r == nil:
			return hand(nil)
		case r.Over:
			return hand(&Answer{})
		case r.Text == "":
			return errors.New("empty ring")
		}
		return hand(&Answer{Err: fence.Text(r.Text), Exit: wakeStatus})
	})
}
