package httpapi

import (
	"net/http"
	"net/netip"

	"pennypost/internal/mail"
	"pennypost/internal/wire"
)

// Invites lets other machines in.
type Invites interface {
	// Invite makes a code that lets a machine in, once.
	Invite(wire.Invite) (wire.Invited, error)
	// Invites lists the machines that are in, and the codes that can be used.
	Invites() wire.Invites
	// Revoke takes back what a machine or a code was given. An unknown one is an error of code NotFound.
	Revoke(name string) error
	// Redeem uses a code up. before is what the machine that asks was let in for already; nil: nothing.
	Redeem(ask wire.Join, from netip.Addr, before *mail.Pass) (wire.Joined, error)
	// Leave makes the token with that pass void. Without a pass there is none to make void.
	Leave(*mail.Pass) error
}

func inviteRoutes() []route {
	return []route{
		{method: http.MethodPost, path: "/invites", id: "invite",
			about: "Make a code that lets another machine in, once. Only the user may, and not from another " +
				"machine.",
			userOnly: true, here: true, in: wire.Invite{}, out: wire.Invited{}, status: http.StatusCreated,
			handle: invite},
		{method: http.MethodGet, path: "/invites", id: "invites",
			about:    "The machines that were let in, and the codes that can be used. Only the user may ask.",
			userOnly: true, here: true, out: wire.Invites{}, status: http.StatusOK, handle: invites},
		{method: http.MethodDelete, path: "/invites/{name}", id: "revoke",
			about: "Take back what a machine was let in for: its token is void and what it has open ends. Or take " +
				"back a code, by its id. Only the user may.",
			userOnly: true, here: true, status: http.StatusNoContent, handle: revoke},
		{method: http.MethodPost, path: "/join", id: "join",
			about: "Use a code up, and answer the token of the machine that asks. Over TLS only; without a " +
				"credential, or with that machine's earlier token.",
			open: true, in: wire.Join{}, out: wire.Joined{}, status: http.StatusCreated, handle: join},
		{method: http.MethodDelete, path: "/join", id: "leave",
			about:  "Give the token of the machine that asks back.",
			status: http.StatusNoContent, handle: leave},
	}
}

func invite(c *call) (any, error) {
	ask, err := body[wire.Invite](c)
	if err != nil {
		return nil, err
	}
	list, err := c.invites()
	if err != nil {
		return nil, err
	}
	return list.Invite(ask)
}

func invites(c *call) (any, error) {
	list, err := c.invites()
	if err != nil {
		return nil, err
	}
	return list.Invites(), nil
}

func revoke(c *call) (any, error) {
	name, err := c.path("name")
	if err != nil {
		return nil, err
	}
	list, err := c.invites()
	if err != nil {
		return nil, err
	}
	return nil, list.Revoke(name)
}

func join(c *call) (any, error) {
	if c.r.TLS == nil {
		return nil, mail.Errorf(mail.Denied, "a machine joins over TLS only: use the https address")
	}
	list, err := c.invites()
	if err != nil {
		return nil, err
	}
	ask, err := body[wire.Join](c)
	if err != nil {
		return nil, err
	}
	from, _ := netip.ParseAddrPort(c.r.RemoteAddr)
	return list.Redeem(ask, from.Addr(), c.caller.Pass)
}

func leave(c *call) (any, error) {
	list, err := c.invites()
	if err != nil {
		return nil, err
	}
	return nil, list.Leave(c.caller.Pass)
}

func (c *call) invites() (Invites, error) {
	if c.api.opts.Invites == nil {
		return nil, mail.Errorf(mail.Unavailable, "no machine can be let in here")
	}
	return c.api.opts.Invites, nil
}
