package superportia

import "pennypost/internal/dialect"

// Dialect returns the dialect.
func Dialect() dialect.Dialect {
	return dialect.Dialect{
		Name:        "superportia",
		About:       "mailboxes of agents by identity, as in SuperPortia's agent messaging",
		Identify:    identify,
		SharedNames: true,
		Endpoints:   []dialect.Endpoint{{Path: "/dialect/superportia/mcp", Instructions: instructions, Tools: tools()}},
		Verbs:       verbs(),
	}
}
