package httpapi

import (
	"pennypost/internal/mail"
	"pennypost/internal/wire"
)

func agents(c *call) (any, error) {
	roster, err := c.room.Agents(c.r.Context())
	return wire.Agents{Agents: roster}, err
}

func turn(c *call) (any, error) {
	t, err := body[mail.Turn](c)
	if err != nil {
		return nil, err
	}
	if local := c.api.opts.Local; local == nil || !local(c.r) {
		t.Access = nil // somebody far away must not have this machine's sockets written to
	}
	return c.room.Turn(c.r.Context(), t)
}

func register(c *call) (any, error) {
	p, err := body[mail.Presence](c)
	if err != nil {
		return nil, err
	}
	return c.room.Register(c.r.Context(), p)
}

func update(c *call) (any, error) {
	name, err := c.name()
	if err != nil {
		return nil, err
	}
	p, err := body[mail.Presence](c)
	if err != nil {
		return nil, err
	}
	if p.Name != "" && p.Name != name {
		return nil, mail.Errorf(mail.Invalid,
			"the path names the agent %q and the body %q; to give it another name, POST {\"to\": NAME} to …/rename",
			name, p.Name)
	}
	p.Name, p.Update = name, true
	return c.room.Register(c.r.Context(), p)
}

func retire(c *call) (any, error) {
	name, err := c.name()
	if err != nil {
		return nil, err
	}
	return nil, c.room.Retire(c.r.Context(), name)
}

func rename(c *call) (any, error) {
	name, err := c.name()
	if err != nil {
		return nil, err
	}
	to, err := body[wire.Rename](c)
	if err != nil {
		return nil, err
	}
	return c.room.Rename(c.r.Context(), name, to.To)
}

func token(c *call) (any, error) {
	name, err := c.name()
	if err != nil {
		return nil, err
	}
	t, err := c.room.Token(c.r.Context(), name)
	return wire.Token{Token: t}, err
}
