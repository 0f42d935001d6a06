package daemon

import (
	"context"
	"net/http"
	"net/netip"
	"strings"

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
	if f := d.office.far; f != nil {
		return wire.Invited{}, mail.Errorf(mail.Denied,
			"this machine uses the post office at %s itself. To let another machine in, type pennypost invite there",
			f.remote.URL)
	}
	if d.pages.machines == "" {
		return wire.Invited{}, mail.Errorf(mail.Unavailable,
			"this post office listens for no other machine. To let some in, write these two lines into %s, end the "+
				"post office by pennypost stop, and ask again:\n\n[tls]\nlisten = \"0.0.0.0:8766\"",
			d.pages.config)
	}
	secret, made, err := g.List.Invite(ask)
	if err != nil {
		return wire.Invited{}, err
	}
	cfg := &d.opts.Config.TLS
	code := wire.Code{Secret: secret, Trust: selfsigned.Trust{Pin: selfsigned.PinOf(d.cert.current().Leaf),
		Public: cfg.Cert != "" || cfg.URL != ""}}
	return wire.Invited{URL: d.pages.machines, Code: code.String(), ID: made.ID, Expires: made.Expires,
		Fingerprint: d.cert.fingerprint()}, nil
}

// Invites implements httpapi.Invites.
func (g *guests) Invites() wire.Invites { return g.All() }

// passKey is under what the context of a request with a machine's token holds its *admission.
type passKey struct{}

// admission is what came of a machine's token.
type admission struct {
	pass *mail.Pass
	err  error
}

// passOf returns what the machine was let in for from which the call of ctx came; nil: it came from none.
func passOf(ctx context.Context) *mail.Pass {
	a, ok := ctx.Value(passKey{}).(*admission)
	if !ok {
		return nil
	}
	return a.pass
}

// notEntered says that a room is not there for a machine, in the same words whether there is one or not.
func notEntered(pass *mail.Pass, name mail.RoomName) error {
	return mail.Errorf(mail.NotFound, "there is no room %q for the machine %s. Those that it was let into are listed "+
		"by: pennypost rooms", name, pass.Machine)
}

// admit finds out which machine a request is from. What goes on when its token ends, ends with that.
func (g *guests) admit(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		if token = strings.TrimSpace(token); strings.EqualFold(scheme, "Bearer") &&
			strings.HasPrefix(token, wire.MachinePrefix) {
			from, _ := netip.ParseAddrPort(r.RemoteAddr)
			pass, err := g.Admit(r.Context(), token, from.Addr())
			r = r.WithContext(context.WithValue(r.Context(), passKey{}, &admission{pass, err}))
		}
		next.ServeHTTP(w, r)
	})
}

// guest returns as whom a program of another machine speaks, which that machine vouches for. named says that it has
// said so.
func guest(a *admission, name mail.Name, named bool) (mail.Caller, error) {
	switch {
	case a.err != nil:
		return mail.Caller{}, a.err
	case a.pass.Agent == "":
		return mail.Caller{Name: name, Pass: a.pass}, nil
	case named && name != a.pass.Agent:
		return mail.Caller{}, mail.Errorf(mail.Denied, "the machine %s was let in for the agent %s only, and cannot "+
			"speak for %s", a.pass.Machine, a.pass.Agent, name)
	}
	return mail.Caller{Name: a.pass.Agent, Pass: a.pass}, nil
}
