package daemon

import (
	"log/slog"

	"pennypost/internal/config"
	"pennypost/internal/office/caller"
	"pennypost/internal/office/dialect"
	"pennypost/internal/office/dialect/agenties"
	"pennypost/internal/office/dialect/claudeteams"
	"pennypost/internal/office/dialect/haak"
	"pennypost/internal/office/dialect/openalice"
	"pennypost/internal/office/dialect/superportia"
	"pennypost/internal/office/rooms"
)

// Dialects returns the foreign protocols that this post office speaks.
func Dialects() []dialect.Dialect {
	return []dialect.Dialect{agenties.Dialect(), haak.Dialect(), superportia.Dialect(), openalice.Dialect(),
		claudeteams.Dialect()}
}

// newOffice returns the rooms for callers, with all dialects.
func newOffice(cfg *config.Config, log *slog.Logger, m *rooms.Metrics) *caller.Rooms {
	return caller.New(cfg, log, m, Dialects())
}
