package httpapi

import (
	"net/http"

	"pennypost/internal/mail"
	"pennypost/internal/wire"
)

// hideAccess keeps somebody far away from having this machine's sockets written to.
func hideAccess(c *call, t *mail.Turn) error {
	if c.far() {
		t.Access = nil
	}
	return nil
}

// hidePresenceAccess does so for a connection.
func hidePresenceAccess(c *call, p *mail.Presence) error {
	if c.far() {
		p.Access = nil
	}
	return nil
}

// far reports whether the caller is not known to be on this machine.
func (c *call) far() bool { return c.api.opts.Local == nil || !c.api.opts.Local(c.r) }

// updateRoute is of no call: clients register.
func updateRoute() route {
	rt := at(&wire.Route{ID: "update", Method: http.MethodPatch, Path: "/agents/{name}",
		About: "Update an agent that is on the roster."})
	rt.in, rt.out, rt.status, rt.handle = mail.Presence{}, mail.Agent{}, http.StatusOK, update
	return rt
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
	p.Name, p.Update, p.Access = name, true, nil
	return c.room.Register(c.r.Context(), p)
}

// renamed takes the old name from the path.
func renamed(c *call, r *wire.Rename) (err error) {
	r.From, err = c.name()
	return err
}

// attachRoute is of no call: what a session is shown in belongs to this machine, and not to the room.
func attachRoute() route {
	rt := at(&wire.Route{ID: "attach", Method: http.MethodPost, Path: "/agents/{name}/attach", UserOnly: true,
		Here: true,
		About: "Bring the agent's session to the front, where that can be done, and else answer with the command " +
			"that shows or resumes it. Only the user may."})
	rt.in, rt.out, rt.status, rt.handle = wire.Attach{}, wire.Attached{}, http.StatusOK, attach
	return rt
}

func attach(c *call) (any, error) {
	name, err := c.name()
	if err != nil {
		return nil, err
	}
	from, err := body[wire.Attach](c)
	if err != nil {
		return nil, err
	}
	if c.api.opts.Attach == nil {
		return nil, mail.Errorf(mail.Unavailable, "sessions cannot be brought to the front from here")
	}
	return c.api.opts.Attach(c.r.Context(), c.roomName, name, from)
}
