package policy

import "time"

// ClaimRule is what becomes of an agent's write to what another one holds.
type ClaimRule string

// The rules.
const (
	ClaimsOff    ClaimRule = "off"    // nothing: writes claim nothing either
	ClaimsWarn   ClaimRule = "warn"   // it goes on, and both are told
	ClaimsRefuse ClaimRule = "refuse" // it is refused before it happens
)

// ClaimRules lists the rules.
func ClaimRules() []ClaimRule { return []ClaimRule{ClaimsOff, ClaimsWarn, ClaimsRefuse} }

// DefaultClaims is the rule of a room of which nothing else is said.
const DefaultClaims = ClaimsWarn

// DefaultQuiet is how long after a turn's end a file stays its writer's: who wrote it may be asked for one more
// change.
const DefaultQuiet = 2 * time.Minute
