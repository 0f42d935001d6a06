package inbox

// Exported for tests.
const (
	MaxInline = maxInline
	Inert     = inert
	LaidOut   = laidOut
)

// SnoozeUntil is for tests.
var SnoozeUntil = snoozeUntil
