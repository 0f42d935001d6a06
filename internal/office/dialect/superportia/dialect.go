package superportia

import (
	"pennypost/internal/mail"
	"pennypost/internal/office/dialect"
)

// Dialect returns the dialect.
func Dialect() dialect.Dialect {
	return dialect.Dialect{
		Name:        "superportia",
		About:       "mailboxes of agents by identity, as in SuperPortia's agent messaging",
		Identify:    identify,
		SharedNames: true,
		NamesItself: func(_ string, tags []string) bool { return tagValue(mail.Agent{Tags: tags}, placeTag) != "" },
		Endpoints: []dialect.Endpoint{{Path: "/dialect/superportia/mcp", Instructions: instructions,
			Tools: tools()}},
		Verbs: verbs(),
	}
}
