package daemon

import (
	"context"
	"time"

	"pennypost/internal/base/life"
	"pennypost/internal/mail"
	"pennypost/internal/room/mailroom"
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
	ctx, end := life.Begin(ctx)
	defer end()
	here, err := o.post(ctx, name, caller, at.Session)
	if err != nil {
		return err
	}
	defer here.leave()
	if here.agent == "" {
		return hand(&mail.Rung{Over: true})
	}
	w := o.listeners.Enter(name, here.agent, at)
	here.look()
	err = w.Wait(ctx, silence, hand)
	if why := life.Err(ctx); why != nil {
		return why
	}
	return err
}

// post is where a process waits for the rings of an agent; the agent is "" if there is nothing to wait for.
type post struct {
	agent mail.Name
	look  func() // has whoever rings the agent see that somebody waits
	leave func()
}

// post returns where a process of the caller waits.
func (o *office) post(ctx context.Context, name mail.RoomName, caller mail.Name, session string) (post, error) {
	if o.far != nil {
		agent, err := o.seatedFar(ctx, name, caller, session)
		return post{agent, o.changed, o.changed}, err
	}
	e, err := o.borrow(ctx, name)
	if err != nil {
		return post{}, err
	}
	agent, err := o.seated(ctx, e, name, caller, session)
	if err == nil && agent != "" {
		err = mailroom.Stand(ctx, e.room.As(agent))
	}
	if err != nil {
		o.giveBack(e, name)
	}
	return post{agent, e.ringer.Look, func() { o.giveBack(e, name) }}, err
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
	s, err := o.roomAs(ctx, name, caller).as(ctx, e)
	if err != nil {
		return "", err
	}
	a, err := s.Register(ctx, mail.Presence{Session: session, Update: true})
	return a.Name, err
}

// seatedFar is seated in a relay: that a session is over is known here, in which agent it runs is known far away.
func (o *office) seatedFar(ctx context.Context, name mail.RoomName, caller mail.Name, session string) (mail.Name,
	error) {
	if session != "" {
		if _, over := o.sessions.Of(name, session); over {
			return "", nil
		}
		ctx = context.WithValue(ctx, sessionKey{}, shell{session: session})
	}
	a, err := o.roomAs(ctx, name, caller).Register(ctx, mail.Presence{Session: session, Update: true})
	return a.Name, err
}
