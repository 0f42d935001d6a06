package httpapi

import (
	"cmp"
	"context"
	"io"
	"runtime/debug"
	"sync"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/wire"
)

// Hooks answer the hooks that agents' clients run at moments of a session.
type Hooks interface {
	// Answer returns the output of the hook's process. An error explains an empty or partial answer. waits, unless
	// it is nil, is called before a hook waits for the answer to its client's question.
	Answer(ctx context.Context, h *wire.Hook, waits func()) (wire.HookAnswer, error)
	// Wait waits alongside a session until it is rung, and passes the hook's output to hand: once, and nil after
	// every silence.
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

// hookWait is how long a waiting hook is kept without a ring. It then asks again.
const hookWait = 50 * time.Second

func hook(c *call) (any, error) {
	h, err := c.hook()
	if err != nil {
		return nil, err
	}
	s := c.stream()
	if wire.MayAsk(h.Event) {
		return nil, c.asks(s, h)
	}
	if h.Event != wire.WaitEvent {
		a, err := c.api.opts.Hooks.Answer(c.r.Context(), h, nil)
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

// askSign is how often a hook that may wait for the person gets a sign of life.
const askSign = time.Second

// askTime is how long it may take until a hook waits for the person, or has its answer: the client usually shows no
// dialog meanwhile.
const askTime = 800 * time.Millisecond

// asks answers a hook with which a client asks its person, which may take long.
func (c *call) asks(s *stream, h *wire.Hook) error {
	ctx, cancel := c.api.streaming(c.r)
	defer cancel()
	if err := s.alive(); err != nil {
		return err
	}
	waits, done := make(chan struct{}), make(chan wire.HookAnswer, 1)
	go func() { done <- c.asked(ctx, h, sync.OnceFunc(func() { close(waits) })) }()
	select {
	case a := <-done:
		return s.last(a)
	case <-waits:
	case <-time.After(askTime):
		return s.last(wire.HookAnswer{Why: "the post office is slow"})
	}
	signs := time.NewTicker(askSign)
	defer signs.Stop()
	for {
		select {
		case a := <-done:
			return s.last(a)
		case <-signs.C:
			if err := s.alive(); err != nil {
				return err
			}
		}
	}
}

// asked answers such a hook. A panic over a client's input ends only this call.
func (c *call) asked(ctx context.Context, h *wire.Hook, waits func()) (a wire.HookAnswer) {
	defer func() {
		if v := recover(); v != nil {
			c.api.opts.Log.Error("hook", "client", h.Client, "event", h.Event, "panic", v,
				"stack", string(debug.Stack()))
			a = wire.HookAnswer{Why: "the post office failed in this hook"}
		}
	}()
	a, err := c.api.opts.Hooks.Answer(ctx, h, waits)
	if err != nil {
		a.Why = err.Error()
	}
	return a
}

// hook reads the hook in the request.
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

// place answers where a session is. A directory of another machine is remembered with that machine's name, and a
// room that its programs may not enter does not exist for them. A caller far away gets no answers about clients of
// this machine.
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
			return at, mail.Errorf(mail.NotFound, "no room %s", cmp.Or(p.Room, p.Own))
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

// checkPlace refuses a malformed place, or one without a room or an agent.
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
		return mail.Errorf(mail.Invalid, "no room given: set room, or own for the room of the directory")
	case p.Free == "":
		return mail.Errorf(mail.Invalid, "set free to the name of the session if it may not have another name")
	}
	return nil
}

// needLocal refuses requests that are not from a process on this machine that the system identifies.
func (c *call) needLocal() error {
	if c.api.opts.Hooks != nil && c.api.opts.Local != nil && c.api.opts.Local(c.r) {
		return nil
	}
	return mail.Errorf(mail.Denied, "hooks are accepted over the Unix socket only")
}
