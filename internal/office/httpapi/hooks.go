package httpapi

import (
	"cmp"
	"context"
	"io"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/wire"
)

// Hooks answer what agents' clients run at moments of a session.
type Hooks interface {
	// Answer returns what the hook's process is to leave behind. An error says why there is nothing to say.
	Answer(ctx context.Context, h *wire.Hook) (wire.HookAnswer, error)
	// Wait waits beside a session until it is rung, and gives what there is to leave behind to hand: once, and nil
	// after every silence.
	Wait(ctx context.Context, h *wire.Hook, silence time.Duration, hand func(*wire.HookAnswer) error) error
	// Taken notes that the client has taken the answer with this ticket.
	Taken(ctx context.Context, ticket string) error
}

func hookRoutes(o *Options) []route {
	rt := handled(&wire.HookRoute, wire.JSON, wire.HookAnswer{}, hook)
	rt.in = map[string]any{}
	return []route{rt, on(&wire.PlaceCall, place),
		on(&wire.HookTakenCall, func(c *call, ticket string) (none wire.None, err error) {
			if err := c.needLocal(); err != nil {
				return none, err
			}
			return none, o.Hooks.Taken(c.r.Context(), ticket)
		})}
}

// hookWait is how long a hook that waits is kept without a ring. It asks again then.
const hookWait = 50 * time.Second

func hook(c *call) (any, error) {
	h, err := c.hook()
	if err != nil {
		return nil, err
	}
	s := c.stream()
	if h.Event != wire.WaitEvent {
		a, err := c.api.opts.Hooks.Answer(c.r.Context(), h)
		if err != nil {
			a.Why = err.Error()
		}
		return nil, s.last(a)
	}
	over, err := await(c, s, hookWait, func(ctx context.Context, hand func(*wire.HookAnswer) error) error {
		return c.api.opts.Hooks.Wait(ctx, h, c.api.opts.KeepAlive, hand)
	})
	switch {
	case over:
		return nil, s.last(wire.HookAnswer{Wait: true})
	case err == nil, c.r.Context().Err() != nil:
		return nil, err
	}
	return nil, s.last(wire.HookAnswer{Wait: mail.CodeOf(err) == mail.Unavailable, Why: err.Error()})
}

// hook reads the hook that the request hands over.
func (c *call) hook() (*wire.Hook, error) {
	if err := c.needLocal(); err != nil {
		return nil, err
	}
	if err := c.contentType(wire.JSON); err != nil {
		return nil, err
	}
	h := &wire.Hook{}
	var err error
	if h.Client, err = c.path("client"); err != nil {
		return nil, err
	}
	if h.Event, err = c.path("event"); err != nil {
		return nil, err
	}
	if err := h.SetHeader(c.r.Header); err != nil {
		return nil, err
	}
	r, err := c.reader(wire.MaxHookInput)
	if err != nil {
		return nil, err
	}
	if h.Input, err = io.ReadAll(r); err != nil {
		return nil, c.unread(err, wire.MaxHookInput)
	}
	return h, nil
}

// place answers where a session is. A directory of another machine is remembered with the name of that machine, and
// what its programs may not enter is not there for them. Nobody far away has clients of this machine asked.
func place(c *call, p wire.Place) (at wire.Placed, err error) {
	if c.far() {
		p.Session, p.SessionHome = "", ""
	}
	if pass := c.caller.Pass; pass != nil {
		p.Home = string(pass.Machine) + ":" + p.Home
		if !pass.Enters(p.FileRoom) {
			p.FileRoom = ""
		}
		if !pass.Enters(cmp.Or(p.Room, p.Own)) {
			return at, mail.Errorf(mail.NotFound, "there is no room %s", cmp.Or(p.Room, p.Own))
		}
	}
	if err := checkPlace(&p); err != nil {
		return at, err
	}
	if c.api.opts.Place == nil {
		return wire.Placed{Room: cmp.Or(p.Room, p.Own), Agent: cmp.Or(p.Agent, p.Free)}, nil
	}
	return c.api.opts.Place(c.r.Context(), &p)
}

// checkPlace refuses what names no room, or nobody.
func checkPlace(p *wire.Place) error {
	for _, room := range []mail.RoomName{p.Room, p.FileRoom, p.Own} {
		if _, err := mail.ParseRoom(string(room)); room != "" && err != nil {
			return err
		}
	}
	for _, name := range []mail.Name{p.Agent, p.FileAgent, p.Free} {
		if _, err := mail.ParseName(string(name)); name != "" && err != nil {
			return err
		}
	}
	switch {
	case p.Room == "" && p.Own == "":
		return mail.Errorf(mail.Invalid, "say which room is meant: room, or own for that of the directory")
	case p.Free == "":
		return mail.Errorf(mail.Invalid, "say in free what the session is called if it may not have another name")
	}
	return nil
}

// needLocal refuses what does not come from a process of this machine, of which the system says who it is.
func (c *call) needLocal() error {
	if c.api.opts.Hooks != nil && c.api.opts.Local != nil && c.api.opts.Local(c.r) {
		return nil
	}
	return mail.Errorf(mail.Denied, "hooks are heard over the Unix socket only")
}
