package config

import "pennypost/internal/mail"

// A2A is a room's door for foreign programs that speak A2A.
type A2A struct {
	Enabled bool `toml:"enabled"`
	// Publish are the agents that a guest may write to by name; it reaches all others only by a role or a tag.
	Publish []mail.Name `toml:"publish"`
	// Private allows push notifications to addresses of this machine and of private networks.
	Private bool `toml:"push_to_private_addresses"`
}

func (a *A2A) check(section string) error {
	for _, n := range a.Publish {
		if name, err := mail.ParseName(string(n)); err != nil || name == mail.User {
			return bad(section+".a2a", "publish holds %q, which is not an agent's name", n)
		}
	}
	return nil
}

func (a *A2A) rows() []row {
	return []row{
		{name: "enabled", value: a.Enabled, about: "let A2A guests in, each with a token of its own"},
		{name: "publish", value: a.Publish, about: "agents that guests may address by name"},
		{name: "push_to_private_addresses", value: a.Private,
			about: "allow push notifications to this machine and its networks"},
	}
}
