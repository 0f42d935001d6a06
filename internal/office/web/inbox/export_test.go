package inbox

// What tests look at.
const (
	MaxInline = maxInline
	Inert     = inert
	LaidOut   = laidOut
)

// SnoozeUntil is for tests.
var SnoozeUntil = snoozeUntil
