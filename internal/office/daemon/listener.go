package daemon

import (
	"context"
	"time"

	"pennypost/internal/mail"
)

// listen has a process beside the caller wait at a door until it is rung; see wake.Waiter.Wait. It is a sign of life
// of the caller's session.
func (o *office) listen(ctx context.Context, name mail.RoomName, caller mail.Name, at mail.Listener,
	silence time.Duration, hand func(*mail.Rung) error) error {
	if caller == mail.User || caller == mail.System {
		return mail.Errorf(mail.Denied, "only agents are rung; say which with --as NAME or PENNYPOST_AGENT")
	}
	if err := o.checkRemoved(name, caller, true); err != nil {
		return err
	}
	e, err := o.borrow(ctx, name)
	if err != nil {
		return err
	}
	defer o.giveBack(e, name)
	agent, err := o.seated(ctx, e, name, caller, at.Session)
	switch {
	case err != nil:
		return err
	case agent == "":
		return hand(&mail.Rung{Over: true})
	}
	w := o.listeners.Enter(name, agent, at)
	e.ringer.Look()
	return w.Wait(ctx, silence, hand)
}

// seated returns the agent whose rings a process of the caller waits for: the caller by its present name or, of a
// session of that name, the agent in which it runs, "" if it runs no more. The session of somebody else does not
// count.
func (o *office) seated(
	ctx context.Context, e *entry, name mail.RoomName, caller mail.Name, session string,
) (mail.Name, error) {
	if session != "" {
		if caller = e.room.Seat(caller, session); caller == "" {
			return "", nil
		}
	}
	s, err := o.roomAs(ctx, name, caller).as(e)
	if err != nil {
		return "", err
	}
	a, err := s.Register(ctx, mail.Presence{Session: session, Update: true})
	return a.Name, err
}
