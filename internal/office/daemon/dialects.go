package daemon

import (
	"slices"

	"pennypost/internal/office/dialect"
	"pennypost/internal/office/dialect/agenties"
	"pennypost/internal/office/dialect/claudeteams"
	"pennypost/internal/office/dialect/haak"
	"pennypost/internal/office/dialect/openalice"
	"pennypost/internal/office/dialect/superportia"
)

// Dialects returns the foreign protocols that this post office speaks.
func Dialects() []dialect.Dialect {
	return []dialect.Dialect{agenties.Dialect(), haak.Dialect(), superportia.Dialect(), openalice.Dialect(),
		claudeteams.Dialect()}
}

// namesItself reports whether an agent belongs to a protocol whose sessions say themselves who they are.
func namesItself(client string, tags []string) bool {
	return slices.ContainsFunc(Dialects(), func(d dialect.Dialect) bool {
		return d.NamesItself != nil && d.NamesItself(client, tags)
	})
}
