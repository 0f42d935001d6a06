package httpapi

import (
	"cmp"
	"context"
	"io"
	"net/http"
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

func hookRoutes() []route {
	return []route{
		{method: http.MethodPost, path: "/hooks/{client}/{event}", id: "hook",
			about: "Hand over a hook that an agent's client runs, with what the client said as the body, and answer " +
				"what its process is to leave behind. White space may come first. " +
				"Over the Unix socket only.",
			in: map[string]any{}, out: wire.HookAnswer{}, stream: wire.JSON, status: http.StatusOK, handle: hook},
		{method: http.MethodPost, path: "/taken/{ticket}", id: "hookTaken",
			about:  "Confirm that the client has taken what a hook said: what it was told is marked then.",
			status: http.StatusNoContent, handle: hookTaken},
		{method: http.MethodPost, path: "/place", id: "place",
			about: "Answer in which room a client's session is, and as whom, as far as the user lets a repository's " +
				"file or a command line say so. With starts, the user is asked for the rest.",
			in: wire.Place{}, out: wire.Placed{}, status: http.StatusOK, handle: place},
	}
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
	ctx, cancel := c.api.streaming(c.r)
	defer cancel()
	ctx, cancel = context.WithTimeout(ctx, hookWait)
	defer cancel()
	err = c.api.opts.Hooks.Wait(ctx, h, c.api.opts.KeepAlive, func(a *wire.HookAnswer) error {
		if a != nil {
			return s.last(a)
		}
		return s.alive()
	})
	switch {
	case err == nil, c.r.Context().Err() != nil:
		return nil, err
	case ctx.Err() != nil: // the time is over, or the post office stops
		return nil, s.last(wire.HookAnswer{Wait: true})
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

func hookTaken(c *call) (any, error) {
	if err := c.needLocal(); err != nil {
		return nil, err
	}
	ticket, err := c.path("ticket")
	if err != nil {
		return nil, err
	}
	return nil, c.api.opts.Hooks.Taken(c.r.Context(), ticket)
}

// place answers where a session is. A directory of another machine is remembered with the name of that machine, and
// what its programs may not enter is not there for them. Nobody far away has clients of this machine asked.
func place(c *call) (any, error) {
	p, err := body[wire.Place](c)
	if err != nil {
		return nil, err
	}
	if c.far() {
		p.Session, p.SessionHome = "", ""
	}
	if pass := c.caller.Pass; pass != nil {
		p.Home = string(pass.Machine) + ":" + p.Home
		if !pass.Enters(p.FileRoom) {
			p.FileRoom = ""
		}
		if !pass.Enters(cmp.Or(p.Room, p.Own)) {
			return nil, mail.Errorf(mail.NotFound, "there is no room %s", cmp.Or(p.Room, p.Own))
		}
	}
	for _, room := range []mail.RoomName{p.Room, p.FileRoom, p.Own} {
		if room == "" {
			continue
		}
		if _, err := mail.ParseRoom(string(room)); err != nil {
			return nil, err
		}
	}
	if p.Room == "" && p.Own == "" {
		return nil, mail.Errorf(mail.Invalid, "say which room is meant: room, or own for that of the directory")
	}
	for _, name := range []mail.Name{p.Agent, p.FileAgent, p.Free} {
		if name == "" {
			continue
		}
		if _, err := mail.ParseName(string(name)); err != nil {
			return nil, err
		}
	}
	if p.Free == "" {
		return nil, mail.Errorf(mail.Invalid, "say in free what the session is called if it may not have another name")
	}
	if c.api.opts.Place == nil {
		return wire.Placed{Room: cmp.Or(p.Room, p.Own), Agent: cmp.Or(p.Agent, p.Free)}, nil
	}
	return c.api.opts.Place(c.r.Context(), &p)
}

// needLocal refuses what does not come from a process of this machine, of which the system says who it is.
func (c *call) needLocal() error {
	if c.api.opts.Hooks != nil && c.api.opts.Local != nil && c.api.opts.Local(c.r) {
		return nil
	}
	return mail.Errorf(mail.Denied, "hooks are heard over the Unix socket only")
}
