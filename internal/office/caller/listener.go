package caller

import (
	"context"
	"time"

	"pennypost/internal/base/life"
	"pennypost/internal/mail"
	"pennypost/internal/office/rooms"
	"pennypost/internal/room/mailroom"
)

// Listen makes a process beside the caller of ctx wait at a door until it is rung; see door.Waiter.Wait. It is a sign
// of life of the caller's session.
func (o *Rooms) Listen(ctx context.Context, name mail.RoomName, caller mail.Name, at mail.Listener,
	silence time.Duration, hand func(*mail.Rung) error) error {
	v, err := o.roomAs(ctx, name, caller)
	if err != nil {
		return err
	}
	return o.listenAs(ctx, v, at, silence, hand)
}

// listenAs is Listen for a caller that the gate has identified.
func (o *Rooms) listenAs(ctx context.Context, v *Room, at mail.Listener, silence time.Duration,
	hand func(*mail.Rung) error) error {
	name, caller := v.name, v.ID.Name()
	if caller == mail.User || caller == mail.System {
		return mail.Errorf(mail.Denied, "only an agent can be rung; name it with --as NAME or PENNYPOST_AGENT")
	}
	if o.Far == nil {
		if err := o.Set.CheckRemoved(name, caller, true); err != nil {
			return err
		}
	}
	ctx, end := life.Begin(ctx)
	defer end()
	here, err := o.post(ctx, v, at.Session)
	if err != nil {
		return err
	}
	defer here.leave()
	if here.agent == "" {
		return hand(&mail.Rung{Over: true})
	}
	w := o.Set.Reach.Listeners.Enter(name, here.agent, at)
	here.look()
	err = w.Wait(ctx, silence, hand)
	if why := life.Err(ctx); why != nil {
		return why
	}
	return err
}

// post is the place where a process waits for rings of an agent; agent is "" if there are none to wait for.
type post struct {
	agent mail.Name
	look  func() // makes the agent's ringer see the listener
	leave func()
}

// post returns the post of a process of the caller.
func (o *Rooms) post(ctx context.Context, v *Room, session string) (post, error) {
	if o.Far != nil {
		agent, err := o.seatedFar(ctx, v, session)
		return post{agent, o.Set.Reach.Changed, o.Set.Reach.Changed}, err
	}
	e, err := o.Set.Borrow(ctx, v.name)
	if err != nil {
		return post{}, err
	}
	agent, err := o.seated(ctx, e, v, session)
	if err == nil && agent != "" {
		err = mailroom.Stand(ctx, e.Room.As(agent))
	}
	if err != nil {
		v.leave(e)
	}
	return post{agent, e.Ringer.Look, func() { v.leave(e) }}, err
}

// seated returns the agent for whose rings a process of the caller waits: the caller by its present name or, for a
// session started under that name, the session's agent, "" if the session is over. Another agent's session does not
// count.
func (o *Rooms) seated(ctx context.Context, e *rooms.Entry, v *Room, session string) (mail.Name, error) {
	if session != "" {
		seat := e.Room.Seat(v.ID.Name(), session)
		if seat == "" {
			return "", nil
		}
		v = o.RoomOf(v.name, v.ID.Calling(seat).InSession(session))
	}
	s, err := v.as(ctx, e)
	if err != nil {
		return "", err
	}
	a, err := s.Register(ctx, mail.Presence{Session: session, Update: true})
	return a.Name, err
}

// seatedFar is seated in a relay: whether a session is over is known here, its agent only in the post office.
func (o *Rooms) seatedFar(ctx context.Context, v *Room, session string) (mail.Name, error) {
	if session != "" {
		if _, over := o.Set.Reach.Sessions.Of(v.name, session); over {
			return "", nil
		}
		v = o.RoomOf(v.name, v.ID.InSession(session))
	}
	a, err := v.Register(ctx, mail.Presence{Session: session, Update: true})
	return a.Name, err
}
