package httpapi

import (
	"context"
	"net/http"

	"pennypost/internal/mail"
	"pennypost/internal/wire"
)

// Credentials are those that the person makes for scripts.
type Credentials interface {
	// Make makes one, whose token is shown once.
	Make(wire.NewCredential) (wire.MadeCredential, error)
	// All returns those that count, by name.
	All() []wire.Credential
	// Revoke takes one back. An unknown one is an error of code NotFound.
	Revoke(name string) error
}

// Confirmations have acts of weight confirmed by the person's passphrase.
type Confirmations interface {
	// Check refuses an act of weight that has to be confirmed first, with code Unconfirmed.
	Check(context.Context) error
	// Confirm takes the passphrase at the caller's terminal.
	Confirm(context.Context, wire.Confirmation) error
	// Set sets the passphrase.
	Set(context.Context, wire.NewPassphrase) error
}

func credentialRoutes() []route {
	return []route{
		{method: http.MethodPost, path: "/credentials", id: "addCredential",
			about:    "Make a credential for scripts. Its token is answered only here. Only the user may.",
			userOnly: true, here: true, in: wire.NewCredential{}, out: wire.MadeCredential{},
			status: http.StatusCreated, handle: addCredential},
		{method: http.MethodGet, path: "/credentials", id: "credentials",
			about:    "The credentials for scripts that count. Only the user may ask.",
			userOnly: true, here: true, out: wire.Credentials{}, status: http.StatusOK, handle: credentials},
		{method: http.MethodDelete, path: "/credentials/{name}", id: "revokeCredential",
			about:    "Take a credential back: it counts no more, and what it has open ends. Only the user may.",
			userOnly: true, here: true, status: http.StatusNoContent, handle: revokeCredential},
		{method: http.MethodPost, path: "/confirmation", id: "confirm",
			about: "Take the passphrase that the person has typed at the caller's terminal: acts of weight are let " +
				"through from there then. Over the Unix socket only. Only the user may.",
			userOnly: true, here: true, in: wire.Confirmation{}, status: http.StatusNoContent, handle: confirm},
		{method: http.MethodPut, path: "/passphrase", id: "setPassphrase",
			about: "Set the passphrase that [user] confirm asks for; whoever replaces one has to know it. Over the " +
				"Unix socket only. Only the user may.",
			userOnly: true, here: true, in: wire.NewPassphrase{}, status: http.StatusNoContent,
			handle: setPassphrase},
	}
}

func (c *call) credentials() (Credentials, error) {
	if c.api.opts.Credentials == nil {
		return nil, mail.Errorf(mail.Unavailable, "no credentials are made here: this machine uses the post office "+
			"of another, where they are made")
	}
	return c.api.opts.Credentials, nil
}

func addCredential(c *call) (any, error) {
	ask, err := body[wire.NewCredential](c)
	if err != nil {
		return nil, err
	}
	list, err := c.credentials()
	if err != nil {
		return nil, err
	}
	return list.Make(ask)
}

func credentials(c *call) (any, error) {
	list, err := c.credentials()
	if err != nil {
		return nil, err
	}
	return wire.Credentials{Credentials: list.All()}, nil
}

func revokeCredential(c *call) (any, error) {
	name, err := c.path("name")
	if err != nil {
		return nil, err
	}
	list, err := c.credentials()
	if err != nil {
		return nil, err
	}
	return nil, list.Revoke(name)
}

func confirm(c *call) (any, error) {
	ask, err := body[wire.Confirmation](c)
	if err == nil && c.api.opts.Confirmations == nil {
		err = mail.Errorf(mail.Unavailable, "nothing is to be confirmed here")
	}
	if err != nil {
		return nil, err
	}
	return nil, c.api.opts.Confirmations.Confirm(c.r.Context(), ask)
}

func setPassphrase(c *call) (any, error) {
	ask, err := body[wire.NewPassphrase](c)
	if err == nil && c.api.opts.Confirmations == nil {
		err = mail.Errorf(mail.Unavailable, "there is no passphrase here")
	}
	if err != nil {
		return nil, err
	}
	return nil, c.api.opts.Confirmations.Set(c.r.Context(), ask)
}

// needConfirmed refuses an act of weight that the person has to confirm first.
func (c *call) needConfirmed() error {
	if c.api.opts.Confirmations == nil {
		return nil
	}
	switch c.route.id {
	case wire.TokenCall.ID, wire.EraseCall.ID, wire.GrantCall.ID, "login", "invite", "addCredential":
		return c.api.opts.Confirmations.Check(c.r.Context())
	}
	return nil
}

// needRight refuses a credential for scripts what those do not: it sends, marks and reads.
func (c *call) needRight() error {
	reads := c.route.method == http.MethodGet && !c.route.here
	if c.caller.Means != mail.ByScript || reads || c.route.id == wire.SendCall.ID || c.route.id == wire.MarkCall.ID {
		return nil
	}
	return mail.Errorf(mail.Denied, "a credential for scripts sends, marks and reads, and does nothing else: nothing "+
		"was done. You may do this in a terminal of your own, and on the pages")
}
