package hook

import (
	"context"
	"errors"
	"fmt"

	"pennypost/internal/fence"
	"pennypost/internal/mail"
)

// wakeStatus is the exit status of a hook that waits by which Claude Code wakes the session
// (code.claude.com/docs/en/hooks, asyncRewake), and so do our extensions in other clients.
const wakeStatus = 2

// Wait waits beside a session whose turn has ended until it is rung, and gives hand what the hook's
// process is to leave behind: once, and nil after every silence. An answer that says nothing ends the wait for good.
// One waits for a session: each end of a turn begins another, and ends the one before. It goes on through the turns of
// the session, during which nobody is rung: a person who breaks a turn off runs no hook that could begin another.
func (c *Call) Wait(ctx context.Context, hand func(*Answer) error) error {
	client, ok := FindClient(c.Client)
	if !ok {
		return fmt.Errorf("the client %q is not known", c.Client)
	}
	in, err := read(c.Input)
	if err != nil {
		return err
	}
	e := client.read(c.Event, in)
	// Others run Claude Code's hooks too, and would wait for this one.
	if waiting, _ := FindClient(e.Client); !waiting.waits || e.Moment != mail.TurnEnd || e.Sub || e.Session.ID == "" {
		return fmt.Errorf("nobody waits at %s of %s", e.Name, e.Client)
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
			return errors.New("somebody rang with nothing to say")
		}
		return hand(&Answer{Err: fence.Text(r.Text), Exit: wakeStatus})
	})
}
