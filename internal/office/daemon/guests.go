package daemon

import (
	"context"
	"net/netip"

	"pennypost/internal/base/selfsigned"
	"pennypost/internal/mail"
	"pennypost/internal/office/httpapi"
	"pennypost/internal/office/invite"
	"pennypost/internal/wire"
)

// guests are the other machines that use this post office.
type guests struct {
	*invite.List
	daemon *daemon
}

var _ httpapi.Invites = (*guests)(nil)

// Invite implements httpapi.Invites.
func (g *guests) Invite(ask wire.Invite) (wire.Invited, error) {
	d := g.daemon
	if f := d.office.Far; f != nil {
		return wire.Invited{}, mail.Errorf(mail.Denied,
			"this machine uses the post office at %s. To invite another machine, run pennypost invite there",
			f.Remote.URL)
	}
	if d.pages.machines == "" {
		return wire.Invited{}, mail.Errorf(mail.Conflict,
			"this post office does not listen for other machines. To invite one, add these two lines to %s, run "+
				"pennypost stop, and try again:\n\n[tls]\nlisten = \"0.0.0.0:8766\"",
			d.pages.config)
	}
	secret, made, err := g.List.Invite(ask)
	if err != nil {
		return wire.Invited{}, err
	}
	cfg := &d.opts.Config.TLS
	code := wire.Code{Secret: secret, Trust: selfsigned.Trust{Pin: selfsigned.PinOf(d.cert.Current().Leaf),
		Public: cfg.Cert != "" || cfg.URL != ""}}
	return wire.Invited{URL: d.pages.machines, Code: code.String(), ID: made.ID, Expires: made.Expires,
		Fingerprint: d.cert.Fingerprint()}, nil
}

// Invites implements httpapi.Invites.
func (g *guests) Invites() wire.Invites { return g.All() }

// machine admits a machine, for the gate.
func (g *guests) machine(ctx context.Context, token, remoteAddr string) (*mail.Pass, error) {
	from, _ := netip.ParseAddrPort(remoteAddr)
	return g.Admit(ctx, token, from.Addr())
}
