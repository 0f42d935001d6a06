package config

// Events configures the events for foreign programs over MCP (docs/mcp.md, Events).
type Events struct {
	// Webhooks allows holders of tokens to have events sent to addresses.
	Webhooks bool `toml:"webhooks"`
	// Private allows addresses of this machine and of private networks, and without TLS.
	Private bool `toml:"webhooks_to_private_addresses"`
}

func (e *Events) rows() []row {
	return []row{
		{name: "webhooks", value: e.Webhooks, about: "let holders of tokens have events sent to an https address"},
		{name: "webhooks_to_private_addresses", value: e.Private,
			about: "also to this machine and its networks, and without TLS"},
	}
}
