package policy

import "time"

// ClaimRule says what happens to an agent's write to a path that another agent holds.
type ClaimRule string

// The rules.
const (
	ClaimsOff    ClaimRule = "off"    // no effect; writes make no claims either
	ClaimsWarn   ClaimRule = "warn"   // the write proceeds, and both agents are told
	ClaimsRefuse ClaimRule = "refuse" // the write is refused before it happens
)

// ClaimRules lists the rules.
func ClaimRules() []ClaimRule { return []ClaimRule{ClaimsOff, ClaimsWarn, ClaimsRefuse} }

// DefaultClaims is the rule of a room without a rule of its own.
const DefaultClaims = ClaimsWarn

// DefaultQuiet is how long after the end of a turn a file remains claimed by its writer, who may be asked for one more
// change.
const DefaultQuiet = 2 * time.Minute
