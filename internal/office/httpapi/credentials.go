package httpapi

import (
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

// needRight refuses a credential for scripts what those do not: it sends, marks and reads.
func (c *call) needRight() error {
	reads := c.route.method == http.MethodGet && !c.route.here
	if c.caller.Means != mail.ByScript || reads || c.route.id == wire.SendCall.ID || c.route.id == wire.MarkCall.ID {
		return nil
	}
	return mail.Errorf(mail.Denied, "a credential for scripts sends, marks and reads, and does nothing else: nothing "+
		"was done. You may do this in a terminal of your own, and on the pages")
}
