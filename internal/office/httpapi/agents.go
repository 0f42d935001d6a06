package httpapi

import (
	"net/http"

	"pennypost/internal/mail"
	"pennypost/internal/wire"
)

// hideAccess drops a session's access if the caller is far away, who must not make the post office write to sockets
// of this machine.
func hideAccess(c *call, t *mail.Turn) error {
	if c.far() {
		t.Access = nil
	}
	return nil
}

// hidePresenceAccess does the same for a connection.
func hidePresenceAccess(c *call, p *mail.Presence) error {
	if c.far() {
		p.Access = nil
	}
	return nil
}

// far reports whether the caller may be on another machine.
func (c *call) far() bool { return c.api.opts.Local == nil || !c.api.opts.Local(c.r) }

// updateCall belongs to no method of the service: clients register instead.
var updateCall = wire.Call[mail.Presence, mail.Agent]{Route: wire.Route{ID: "update", Method: http.MethodPatch,
	Path: wire.Room + "/agents/{name}", About: "Update an agent that is on the roster."}}

func update(c *call, p mail.Presence) (a mail.Agent, err error) {
	name, err := c.name()
	if err != nil {
		return a, err
	}
	if p.Name != "" && p.Name != name {
		return a, mail.Errorf(mail.Invalid,
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

// merged takes the name of the merged agent from the path.
func merged(c *call, m *wire.Merge) (err error) {
	m.From, err = c.name()
	return err
}

func attachRoute(o *Options) route {
	return without(o.Attach == nil, mail.Errorf(mail.Unavailable, "this post office cannot bring sessions to the "+
		"front"),
		on(&wire.AttachCall, func(c *call, from wire.Attach) (at wire.Attached, err error) {
			if from.Agent, err = c.name(); err != nil {
				return at, err
			}
			return o.Attach(c.r.Context(), c.roomName, from.Agent, from)
		}))[0]
}
