package superportia

import (
	"time"

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
		IDs:         mail.IDHex12,
		AgentLife:   lifeSeconds * time.Second,
		Endpoints: []dialect.Endpoint{{Path: "/dialect/superportia/mcp", Known: known,
			Instructions: instructions, Tools: tools()}},
		Verbs: verbs(),
	}
}
