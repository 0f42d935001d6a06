package httpapi

import (
	"context"
	"net/http"
	"slices"

	"pennypost/internal/mail"
	"pennypost/internal/wire"
)

// Credentials are the person's credentials for scripts.
type Credentials interface {
	// Make makes a credential, whose token is shown once.
	Make(wire.NewCredential) (wire.MadeCredential, error)
	// All returns the valid credentials by name.
	All() []wire.Credential
	// Revoke revokes a credential. An unknown name is an error of code NotFound.
	Revoke(name string) error
}

// Confirmations confirm acts of weight by the person's passphrase.
type Confirmations interface {
	// Check refuses an act of weight that must be confirmed first, with code Unconfirmed.
	Check(context.Context) error
	// Confirm takes the passphrase at the caller's terminal.
	Confirm(context.Context, wire.Confirmation) error
	// Set sets the passphrase.
	Set(context.Context, wire.NewPassphrase) error
}

func credentialRoutes(o *Options) []route {
	return slices.Concat(
		without(o.Credentials == nil, mail.Errorf(mail.Unavailable, "credentials are made at the post office, "+
			"which is on another machine"),
			on(&wire.AddCredentialCall, func(_ *call, ask wire.NewCredential) (wire.MadeCredential, error) {
				return o.Credentials.Make(ask)
			}),
			on(&wire.CredentialsCall, func(*call, wire.None) (wire.Credentials, error) {
				return wire.Credentials{Credentials: o.Credentials.All()}, nil
			}),
			on(&wire.RevokeCredentialCall, func(_ *call, name string) (wire.None, error) {
				return wire.None{}, o.Credentials.Revoke(name)
			})),
		without(o.Confirmations == nil, mail.Errorf(mail.Unavailable, "this post office has no passphrase and asks "+
			"for no confirmation"),
			on(&wire.ConfirmCall, func(c *call, typed wire.Confirmation) (wire.None, error) {
				return wire.None{}, o.Confirmations.Confirm(c.r.Context(), typed)
			}),
			on(&wire.SetPassphraseCall, func(c *call, ask wire.NewPassphrase) (wire.None, error) {
				return wire.None{}, o.Confirmations.Set(c.r.Context(), ask)
			})),
	)
}

// needConfirmed refuses an act of weight that the person must confirm first.
func (c *call) needConfirmed() error {
	if c.api.opts.Confirmations == nil {
		return nil
	}
	switch c.route.ID {
	case wire.TokenCall.ID, wire.GuestTokenCall.ID, wire.EraseCall.ID, wire.GrantCall.ID,
		wire.LoginCall.ID, wire.InviteCall.ID, wire.AddCredentialCall.ID, wire.NotifyPairCall.ID:
		return c.api.opts.Confirmations.Check(c.r.Context())
	}
	return nil
}

// needRight refuses acts that a credential for scripts does not allow: it may send, mark and read mail.
func (c *call) needRight() error {
	reads := c.route.Method == http.MethodGet && !c.route.Here && c.route.ID != wire.DialogsCall.ID
	if c.caller.Means != mail.ByScript || reads || c.route.ID == wire.SendCall.ID || c.route.ID == wire.MarkCall.ID {
		return nil
	}
	return mail.Errorf(mail.Denied, "a credential for scripts can only send, mark and read mail. Nothing was done. "+
		"Use your own terminal or the pages")
}
