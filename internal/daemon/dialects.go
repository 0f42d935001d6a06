package daemon

import (
	"pennypost/internal/dialect"
	"pennypost/internal/dialect/agenties"
	"pennypost/internal/dialect/claudeteams"
	"pennypost/internal/dialect/haak"
	"pennypost/internal/dialect/openalice"
	"pennypost/internal/dialect/superportia"
)

// Dialects returns the foreign protocols that this post office speaks.
func Dialects() []dialect.Dialect {
	return []dialect.Dialect{agenties.Dialect(), haak.Dialect(), superportia.Dialect(), openalice.Dialect(), claudeteams.Dialect()}
}
