package config

// Events is what is told to programs of others over MCP (docs/mcp.md, Events).
type Events struct {
	// Webhooks lets holders of tokens have events sent to addresses.
	Webhooks bool `toml:"webhooks"`
	// Private lets these be of this machine and of private networks, and without TLS.
	Private bool `toml:"webhooks_to_private_addresses"`
}

func (e *Events) rows() []row {
	return []row{
		{name: "webhooks", value: e.Webhooks, about: "holders of tokens may have events sent to an https address"},
		{name: "webhooks_to_private_addresses", value: e.Private,
			about: "also to this machine and its networks, and without TLS"},
	}
}
