package httpapi

import (
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
	// Revoke revokes the access of a machine, or a code. An unknown name is an error of code NotFound.
	Revoke(name string) error
	// Redeem uses a code up. before is the current pass of the machine that asks; nil: it has none.
	Redeem(ask wire.Join, from netip.Addr, before *mail.Pass) (wire.Joined, error)
	// Leave makes the token with that pass void. It does nothing without a pass.
	Leave(*mail.Pass) error
}

func inviteRoutes(o *Options) []route {
	return without(o.Invites == nil, mail.Errorf(mail.Unavailable, "this post office cannot invite machines"),
		on(&wire.InviteCall, func(_ *call, ask wire.Invite) (wire.Invited, error) {
			return o.Invites.Invite(ask)
		}),
		on(&wire.InvitesCall, func(*call, wire.None) (wire.Invites, error) {
			return o.Invites.Invites(), nil
		}),
		on(&wire.RevokeCall, func(_ *call, name string) (wire.None, error) {
			return wire.None{}, o.Invites.Revoke(name)
		}),
		on(&wire.JoinCall, join),
		on(&wire.LeaveCall, func(c *call, _ wire.None) (wire.None, error) {
			return wire.None{}, o.Invites.Leave(c.caller.Pass)
		}))
}

func join(c *call, ask wire.Join) (in wire.Joined, err error) {
	if c.r.TLS == nil {
		return in, mail.Errorf(mail.Denied, "a machine joins over TLS only: use the https address")
	}
	from, _ := netip.ParseAddrPort(c.r.RemoteAddr)
	return c.api.opts.Invites.Redeem(ask, from.Addr(), c.caller.Pass)
}
